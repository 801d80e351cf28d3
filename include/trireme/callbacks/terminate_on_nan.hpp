/// TerminateOnNaN: stops training when the loss is no longer a finite number.
#pragma once

#include <cmath>

#include "trireme/callbacks/control.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

/// End of training when the running mean of the epoch's loss is NaN or infinite, checked after each batch with one
/// small collective and no vote. A warning says so, or with `raise_error` an Error of all processes. Where each process
/// acquires batches of its own, the first one that sees such a loss ends the epoch, and at its end all processes end
/// training. Source: Keras `TerminateOnNaN`.
struct TerminateOnNaN {
  using logs_alike = void;  ///< what it logs is the same on all processes

  bool raise_error = false;  ///< `fit` throws, without `on_train_end`: what BackupAndRestore has saved stays

  void config(Config& c) const { c("raise_error", raise_error); }

  template <class Run>
  Uniform<Control> on_train_batch_end(Run& run) const {
    return stop_if(run.loss(), [&](double loss) {
      if (std::isfinite(loss)) return false;
      if (acquires_batches(run)) return true;  // the other processes learn of it at the end of the epoch
      if (raise_error)
        raise_uniform(Error(formatted("TerminateOnNaN: the loss is {} in epoch {} after batch {}", loss,
                                      run.epoch() + 1, run.batch() + 1)));
      run.warning(
          formatted("Epoch {}, batch {}: the loss is {}, so training ends", run.epoch() + 1, run.batch() + 1, loss));
      return true;
    });
  }

  template <class Run>
  Uniform<Control> on_epoch_end(Run& run) const {
    if (!acquires_batches(run)) return always<Control::proceed>();
    return stop_if(*run.logs().find("loss"), [&](double loss) {
      if (std::isfinite(loss)) return false;
      if (raise_error)
        raise_uniform(Error(formatted("TerminateOnNaN: the loss is {} in epoch {}", loss, run.epoch() + 1)));
      run.warning(formatted("Epoch {}: the loss is {}, so training ends", run.epoch() + 1, loss));
      return true;
    });
  }

 private:
  template <class Run>
  static bool acquires_batches(Run& run) {
    if constexpr (requires { run.model(); })
      return run.model().engine().acquires_batches();
    else
      return false;
  }
};

}  // namespace trireme
