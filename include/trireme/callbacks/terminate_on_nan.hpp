/// TerminateOnNaN: stops training when the loss is no longer a finite number.
#pragma once

#include <cmath>

#include "trireme/callbacks/control.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// Check of the running loss after each batch, with one small collective a batch and no vote.
struct TerminateOnNaN {
  template <class Run>
  Uniform<Control> on_train_batch_end(Run& run) const {
    return stop_if(run.loss(), [&](double loss) {
      if (std::isfinite(loss)) return false;
      run.warning(
          formatted("Epoch {}, batch {}: the loss is {}, so training ends", run.epoch() + 1, run.batch() + 1, loss));
      return true;
    });
  }
};

}  // namespace trireme
