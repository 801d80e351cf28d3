/// Progress: the epoch and batch at which training stands.
#pragma once

#include <cstddef>

namespace trireme {

/// Position of training between two steps, with the agreed decision to stop.
struct Progress {
  std::size_t epoch = 0;  ///< epochs that are complete
  std::size_t batch = 0;  ///< batches of the next one that have been trained
  bool stop = false;

  /// True if training goes on. An epoch that has begun is completed, with its validation, before training stops.
  bool goes_on(std::size_t epochs) const { return epoch < epochs && (!stop || batch > 0); }
  /// Requests the end of training if `decision` is true; a request is never taken back.
  void stop_if(bool decision) { stop = stop || decision; }
  /// Counts the epoch as complete; the next one begins with its first batch.
  void end_epoch() {
    ++epoch;
    batch = 0;
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("epoch", epoch);
    archive("batch", batch);
    archive("stop", stop);
  }
};

}  // namespace trireme
