/// BackupAndRestore: saves the whole run regularly, so that a killed job can be resumed.
#pragma once

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/callbacks/claimed_file.hpp"
#include "trireme/callbacks/output_files.hpp"
#include "trireme/callbacks/placement.hpp"
#include "trireme/callbacks/save_freq.hpp"
#include "trireme/callbacks/signal_watch.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/io/file_claim.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/mpi/fault/status_record.hpp"

namespace trireme {

/// Checkpoint of the whole run: a `fit` that finds that of a killed one resumes at the saved position, in the middle of
/// an epoch too, and ends with the same weights and history to the bit. Source: Keras `BackupAndRestore`.
///
///     tr::fit(strategy, model, train, {.epochs = 100}, tr::BackupAndRestore{.path = "run.h5", .save_freq = 500});
///
/// The file holds weights, optimizer, metrics, the state of all callbacks and the position in the data. It is whole at
/// whatever moment the program ends. The file before it is kept as `<path>.previous`, for the case that the newest is
/// damaged. Resuming takes the same program on the same data, and as many processes and threads. With
/// `.placement = Placement::any` other numbers of processes, replicas and threads resume the run too: under
/// VirtualReplicas to the bit, under other strategies to rounding, and a message says which. When training is complete,
/// with `on_train_end` of all callbacks, the files are removed, so that the next run starts anew. Saving and resuming
/// are collective.
///
/// While `fit` runs no other run can have the same path, on any machine, for `BackupAndRestore` or `ModelCheckpoint`:
/// that is an error in one sentence, of the second one. `<path>.lock` says who has it. A killed run has nothing any
/// more, and where the file system has no locks there is no check.
///
/// With `.signals = {SIGUSR1, SIGUSR2}`, a batch system's warning to one process or all of them saves the run after the
/// batch, and `fit` throws Interrupted on all processes; whoever sent the signal, nothing is lost. That takes one vote
/// of the processes a batch. Where each process acquires batches of its own, the run is saved after the epoch. MPICH
/// handles SIGUSR1 as news of a failed rank, so send SIGUSR2 to ranks that its launcher has not started.
///
/// Designated initializers name the members in this order.
///
/// Compile-time errors: a strategy whose engine cannot be resumed.
/// \throws ValueError from `fit`, on all processes, if `path` is empty, a signal cannot be handled, or `save_freq`
/// counts batches where each process acquires batches of its own.
/// \throws FileError from `fit`, on all processes, if the file cannot be written, or holds a run of another model,
/// other data or another placement, naming the difference, or weights alone, or if another run has it; nothing is
/// trained then.
/// \throws Interrupted from `fit`, on all processes, after a signal.
struct BackupAndRestore {
  using logs_alike = void;  ///< what it logs is the same on all processes

  std::string path{};                    ///< .h5, or .npz without HDF5; used by this `fit` alone
  SaveFreq save_freq = SaveFreq::epoch;  ///< batches from save to save, or each epoch
  bool delete_checkpoint = true;         ///< false: a complete run that is started again ends at once
  bool verbose = false;
  Placement placement = Placement::same;  ///< any: other numbers of processes and threads may resume
  std::vector<int> signals{};             ///< save the run and leave it; the program's own handlers are called too

  void config(Config& c) const {
    c("path", path);
    c("save_freq", save_freq);
    c("delete_checkpoint", delete_checkpoint);
    c("signals", signals, intervals::positive_count);
    c.require(std::ranges::all_of(signals, detail::SignalWatch::may_return),
              "takes .signals that a batch system sends, such as SIGUSR1 or SIGTERM, not those of faults, SIGKILL or "
              "SIGSTOP");
  }

  // State.
  std::size_t batches_since_save = 0;
  std::vector<std::weak_ptr<detail::SignalWatch const>> watches{};  // of the run
  std::weak_ptr<detail::FileClaim const> claim{};                   // of the run

  template <class Run>
  std::vector<OutputFile> output_files(Run const&) const {
    if (path.empty()) fail("BackupAndRestore needs a .path");
    std::vector<OutputFile> files{
        {.writer = "BackupAndRestore", .path = path, .format = checkpoint_file_format, .made_below = ""}};
    for (char const* ending : {CheckpointFile::previous_ending, CheckpointFile::newest_ending})
      files.push_back({.writer = "BackupAndRestore", .path = path + ending, .made_below = ""});
    detail::list_lock(files, "BackupAndRestore", path);
    return files;
  }

  template <class Run>
  void on_train_begin(Run& run) {
    batches_since_save = 0;
    if (save_freq.batches > 0 && run.model().engine().acquires_batches())
      fail(
          "BackupAndRestore saves at the end of epochs alone where each process acquires batches of its own; leave out "
          ".save_freq");
    run.on_chief([](auto const&, std::string const& file) { CheckpointFile(file).make_folder(); }, path);
    claim = detail::claim_file(run, path);
    run.on_chief([](auto const&, std::string const& file) { CheckpointFile(file).prepare(); }, path);
    watches.clear();
    for (int const signal : signals) {
      auto watch = std::make_shared<detail::SignalWatch const>(signal);
      watches.push_back(watch);
      run.hold(std::move(watch));
    }
  }

  template <class Run>
  void on_train_resume(Run& run) {
    if (!run.resume(path, placement) || !verbose) return;
    if (run.progress().goes_on(run.epochs()))
      run.message(formatted("Going on with epoch {} after {} of its batches, from {}", run.epoch() + 1,
                            run.progress().batch, path));
    else
      run.message(formatted("Nothing is left to train: the run in {} is complete, after epoch {}", path, run.epoch()));
  }

  template <class Run>
  void on_save_point(Run& run) {
    bool const epoch_ended = run.progress().batch == 0;
    bool const due = epoch_ended
                         ? save_freq.batches == 0 || (!delete_checkpoint && !run.progress().goes_on(run.epochs()))
                         : save_freq.batches > 0 && ++batches_since_save >= save_freq.batches;
    bool const leave = interrupted(run, epoch_ended);
    if (!due && !leave) return;
    batches_since_save = 0;
    detail::require_held(run, claim);
    run.save(path);
    if (leave)
      raise_uniform(
          Interrupted(formatted("a signal interrupted training in epoch {} after {} of its batches; {} holds "
                                "the run, and the same program goes on from there",
                                run.epoch() + 1, run.progress().batch, path)));
  }

  // Later than on_train_end: an error of a callback there, such as a full disk, leaves a run that can be resumed.
  template <class Run>
  void on_train_complete(Run& run) {
    if (!delete_checkpoint) return;
    std::string warning;
    run.on_chief([](auto const&, BackupAndRestore const* backup, std::string* found) { *found = backup->remove(); },
                 this, &warning);
    if (!warning.empty()) run.warning(warning);
    detail::noted_checkpoints().forget(path);
  }

 private:
  /// True if a process has received one of the signals and there is something left to train.
  template <class Run>
  bool interrupted(Run& run, bool epoch_ended) const {
    if (signals.empty() || (!epoch_ended && run.model().engine().acquires_batches())) return false;
    bool const received = std::ranges::any_of(watches, [](auto const& watch) { return watch.lock()->received(); });
    return run.agree(received).value() && run.progress().goes_on(run.epochs());
  }

  /// Removes the files, unless they are another run's by now. \return a warning, or nothing
  std::string remove() const {
    if (auto const held = claim.lock(); held && !held->is_held())
      return formatted("warning: BackupAndRestore: {} was taken over by another run, and stays", path);
    CheckpointFile(path).remove();
    return {};
  }

  [[noreturn]] static void fail(char const* what) {
    raise_uniform(ValueError(what));  // options are the same on every process
  }
};

}  // namespace trireme
