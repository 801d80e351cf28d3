/// The random stream of a layer's rows: within its kernel, or in a device's memory where steps are recorded.
#pragma once

#include <cstdint>

#include <Kokkos_Macros.hpp>

#include "trireme/core/streams.hpp"
#include "trireme/layers/call.hpp"

namespace trireme::detail {

/// A RowStream in memory.
struct StoredStream {
  RowStream const* stream;
  KOKKOS_FUNCTION PhiloxCounter block(std::uint64_t row, std::uint64_t group) const {
    return stream->block(row, group);
  }
  KOKKOS_FUNCTION double normal(std::uint64_t row, std::uint64_t element) const { return stream->normal(row, element); }
};

/// Calls draw(stream) with the stream of a layer, a RowStream or a StoredStream, for its kernel to hold.
template <class Context, class Draw>
void with_row_stream(Context const&, StepKeys const& keys, Purpose purpose, Draw const& draw) {
  StreamName const name{keys.seed, purpose, keys.layer, keys.micro_step};
  if (StepStreams* const streams = keys.step.streams()) {
    if constexpr (requires { requires Context::records_steps; }) {
      if (RowStream const* const stored = streams->find(name)) return draw(StoredStream{stored});
    } else {
      streams->note_read();  // the kernel will hold the stream of this step
    }
  }
  draw(name.in_step(keys.step.unnoted()));
}

}  // namespace trireme::detail
