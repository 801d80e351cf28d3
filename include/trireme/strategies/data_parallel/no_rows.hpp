/// NoRows: the gradients of a partition that takes part in a step without rows.
#pragma once

#include <cstddef>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/gradient_sink.hpp"

namespace trireme {

/// Precedes the sink of a partition's gradients. A partition without rows leaves no gradients, but notifies the
/// sink at the same points as others: where processes sum over rows, sums of gradients come between those of rows,
/// in the same order on all.
template <class T, class Context>
class NoRows final : public GradientSink<T> {
 public:
  /// \param next  may be null, if only `finish` is called.
  NoRows(Context& context, T* gradients, std::size_t elements, GradientSink<T>* next)
      : context_(context), gradients_(gradients), end_(elements), next_(next) {}

  void ready(T const* from) override {
    clear_from(static_cast<std::size_t>(from - gradients_));
    next_->ready(from);
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
  GradientSink<T>* next_;
};

}  // namespace trireme
