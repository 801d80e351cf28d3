/// A batch in the memory of the execution space; not copied if that is the host's.
#pragma once

#include <array>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/models/head.hpp"

namespace trireme {

/// Two alternating sets of buffers, so that a batch can be copied while the previous one is still worked on.
template <class T, class L, class Space>
class DeviceBatch {
 public:
  DeviceBatch(std::size_t input_size, std::size_t target_size) : input_size_(input_size), target_size_(target_size) {}

  Slice<T, L> upload(Space const& space, Batch<T, L> const& batch) {
    if constexpr (is_host_space<Space>) {
      return {batch.x, batch.y, batch.weight, batch.rows, batch.x_rows, batch.ticket, batch.next};
    } else {
      Buffers& b = buffers_[next_];
      next_ = 1 - next_;
      copy(space, b.x, batch.x, batch.rows * input_size_);
      if (batch.y) copy(space, b.y, batch.y, batch.rows * target_size_);
      if (batch.weight) copy(space, b.weight, batch.weight, batch.rows);
      space.fence(tool_label("trireme: batch copied before its host memory is used again"));
      return {b.x.data(), batch.y ? b.y.data() : nullptr, batch.weight ? b.weight.data() : nullptr, batch.rows};
    }
  }

 private:
  template <class V>
  using View = Kokkos::View<V*, typename Space::memory_space>;
  struct Buffers {
    View<T> x;
    View<L> y;
    View<double> weight;
  };

  template <class V>
  static void copy(Space const& space, View<V>& to, V const* from, std::size_t count) {
    if (to.extent(0) < count) to = uninitialized_view<View<V>>("trireme::batch", count);
    copy_view(space, space_view<Space>(to.data(), count), host_view(from, count));
  }

  std::size_t input_size_, target_size_;
  std::array<Buffers, 2> buffers_;
  std::size_t next_ = 0;
};

}  // namespace trireme
