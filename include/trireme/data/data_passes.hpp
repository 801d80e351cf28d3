/// Passes over the training data that a model's fits have made, so that a further one meets new orders.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme {

/// A course of training is one call of `fit`, and further ones whose `initial_epoch` says that they go on from there.
/// Each epoch of a course has a pass over the data of its own, and no pass is that of an earlier course: a loop of
/// calls with one whole epoch each has the orders that one call with as many epochs has.
class DataPasses {
 public:
  /// One call of `fit`, until it ends.
  class Call {
   public:
    /// Goes on with a course, or begins one. Within a hook of another call of the model the passes are far behind those
    /// of that call, which its resumed run makes too.
    Call(DataPasses& passes, std::size_t initial_epoch)
        : passes_(passes),
          is_inner_(passes.calls_++ > 0),
          first_(is_inner_ ? passes.inner() : passes.begin(initial_epoch)) {}
    Call(Call const&) = delete;
    Call& operator=(Call const&) = delete;
    ~Call() { --passes_.calls_; }

    /// The pass of epoch 0.
    std::size_t first() const { return first_; }
    /// Notes an epoch whose batches have all been trained, also those of a resumed run in an earlier process.
    /// \param first  the pass of epoch 0: of a resumed run that which it was saved with
    void note_epoch(std::size_t epoch, std::size_t first, std::size_t pass) {
      if (is_inner_)
        passes_.inner_ = pass + 1;
      else
        passes_.note_epoch(epoch, first, pass);
    }

    /// Calls within hooks of this one, for a run that goes on with it.
    template <class Archive>
    void state(Archive& archive) {
      archive("inner", passes_.inner_);
    }

   private:
    DataPasses& passes_;
    bool is_inner_;
    std::size_t first_;
  };

  /// Weights have come from a file, of some epoch of the course: a call that begins with an epoch above 0 goes on in
  /// it.
  void loaded() { epochs_ = made_ > 0 ? 1 : 0; }

 private:
  std::size_t begin(std::size_t initial_epoch) {
    if (initial_epoch < epochs_) first_ = made_;
    return first_;
  }
  void note_epoch(std::size_t epoch, std::size_t first, std::size_t pass) {
    epochs_ = epoch + 1;
    first_ = first;
    made_ = std::max(made_, pass + 1);
  }
  std::size_t inner() const { return std::max(inner_, (made_ + 1) << 32); }

  std::size_t first_ = 0, epochs_ = 0, made_ = 0, inner_ = 0, calls_ = 0;
};

}  // namespace trireme
