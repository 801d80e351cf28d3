/// Passes over the training data that a model's fits have made, so that a further one meets new orders.
#pragma once

#include <cstddef>

namespace trireme {

/// A course of training is one call of `fit`, and further ones whose `initial_epoch` says that they go on from there.
/// Each epoch of a course has a pass over the data of its own, and no pass is that of an earlier course: a loop of
/// calls with one epoch each has the orders that one call with as many epochs has.
class DataPasses {
 public:
  /// The pass of epoch 0 in the course that a call of `fit` goes on with, or begins.
  std::size_t begin(std::size_t initial_epoch) {
    if (initial_epoch < epochs_) first_ = made_;
    return first_;
  }
  /// Notes an epoch that has ended. \param first  the pass of epoch 0: of a resumed run that which it was saved with
  void end_epoch(std::size_t epoch, std::size_t first, std::size_t pass) {
    epochs_ = epoch + 1;
    first_ = first;
    made_ = pass + 1;
  }

 private:
  std::size_t first_ = 0, epochs_ = 0, made_ = 0;
};

}  // namespace trireme
