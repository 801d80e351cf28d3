/// NoRows: the gradients of a partition that takes part in a step without rows.
#pragma once

#include <cstddef>

#include "trireme/layers/call.hpp"
#include "trireme/layers/copy.hpp"

namespace trireme {

/// Precedes the listener of a partition's gradients. A partition without rows leaves no gradients, but notifies the
/// listener at the same points as others: where processes sum over rows, sums of gradients come between those of rows,
/// in the same order on all.
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

  /// Clears the remaining gradients.
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
