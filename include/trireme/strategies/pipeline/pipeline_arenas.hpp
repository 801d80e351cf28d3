/// The arenas of a stage of a pipeline: weights, gradients, and sums of these over micro-batches.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "trireme/backend/execution/views.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/models/slices.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// The weights of a SlicePass over the slices of one stage, and their gradients, summed up over micro-batches.
template <class T, class Space>
class StageArenas {
 public:
  /// \param slices  those of the stage.
  /// \param held  its parameters, states and frozen weights.
  /// \param micro_batches  if there are several, each but the first needs gradients of its own.
  StageArenas(Space const& space, std::span<SliceRange const> slices, std::size_t first_slice, T const* held,
              std::size_t micro_batches)
      : slices_(slices.begin(), slices.end()),
        first_slice_(first_slice),
        elements_(slices.back().end - slices.front().begin),
        states_(slices.back().states_end - slices.front().states_begin),
        held_(held),
        sums_(make_view<Arena<T, Space>>(space, "trireme::gradients", size())) {
    if (micro_batches > 1) micro_ = make_view<Arena<T, Space>>(space, "trireme::micro_batch_gradients", size());
  }

  /// Elements of the sums: gradients, then the updates that the states move towards.
  std::size_t size() const { return elements_ + states_; }
  /// Sums of the gradients over micro-batches.
  T* gradient_sums() const { return sums_.data(); }
  /// Sums of the updates that the states move towards.
  T* update_sums() const { return sums_.data() + elements_; }

  /// Runs a pass of micro-batch m, and adds up its results; without rows there are none.
  template <class Context, class Pass>
  void forward(Context& context, std::size_t m, bool has_rows, Pass const& pass) {
    into_ = m == 0 ? sums_.data() : micro_.data();
    pass();
    add(context, m, has_rows, elements_, states_);
  }
  template <class Context, class Pass>
  void backward(Context& context, std::size_t m, bool has_rows, Pass const& pass) {
    into_ = m == 0 ? sums_.data() : micro_.data();
    pass();
    add(context, m, has_rows, 0, elements_);
  }

  // For the pass.
  T const* forward(std::size_t i) const { return held_ + offset(i); }
  T const* backward(std::size_t i) const { return held_ + offset(i); }
  /// Memory for the gradients of slice i.
  T* gradients(std::size_t i) const { return into_ + offset(i); }
  void finished(std::size_t) const {}
  T const* states() const { return held_ + elements_; }
  T const* frozen() const { return held_ + elements_ + states_; }
  /// Memory for the updates of the states.
  T* updates() const { return into_ + elements_; }

 private:
  std::size_t offset(std::size_t i) const { return slices_[i - first_slice_].begin - slices_.front().begin; }

  template <class Context>
  void add(Context& context, std::size_t m, bool has_rows, std::size_t begin, std::size_t count) const {
    if (m == 0 && !has_rows)
      context.for_each("trireme::no_rows", count, kernels::Clear<T>{sums_.data() + begin});
    else if (m > 0 && has_rows)
      context.for_each("trireme::add_micro_batch", count,
                       kernels::AddTo<T>{micro_.data() + begin, sums_.data() + begin});
  }

  std::vector<SliceRange> slices_;
  std::size_t first_slice_, elements_, states_;
  T const* held_;
  Arena<T, Space> sums_, micro_;
  T* into_ = nullptr;
};

}  // namespace trireme
