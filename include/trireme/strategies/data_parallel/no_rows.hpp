/// NoRows: the gradients of a partition that takes part in a step without rows.
#pragma once

#include <cstddef>

#include "trireme/layers/call.hpp"
#include "trireme/layers/copy.hpp"

namespace trireme {

/// Stands before the listener of a partition's gradients. What a partition without rows leaves are no gradients, but
/// the listener has to be told when it is elsewhere: where rows are added up over processes, sums of gradients come
/// between those of rows, everywhere alike.
template <class T, class Context>
class NoRows final : public GradientListener {
 public:
  /// \param next  may be null, if only `finish` is called.
  NoRows(Context& context, T* gradients, std::size_t elements, GradientListener* next)
      : context_(context), gradients_(gradients), end_(elements), next_(next) {}

  void gradients_ready(void const* from) override {
    clear_from(static_cast<std::size_t>(static_cast<T const*>(from) - gradients_));
    next_->gradients_ready(from);
  }

  /// Clears what is left.
  void finish() {
    clear_from(0);
    if (next_) next_->no_rows();
  }

 private:
  void clear_from(std::size_t begin) {
    context_.for_each("trireme::no_rows", end_ - begin, kernels::Clear<T>{gradients_ + begin});
    end_ = begin;
  }

  Context& context_;
  T* gradients_;
  std::size_t end_;
  GradientListener* next_;
};

}  // namespace trireme
