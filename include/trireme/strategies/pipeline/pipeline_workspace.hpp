/// The memory for the micro-batches of a pipeline's stage.
#pragma once

#include <algorithm>
#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/strategies/pipeline/pipeline_schedule.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// First the buffers for one micro-batch at a time: the gradient of the stage's output, the model's output, and two
/// gradients of the stage's input, which are sent in turn. Then for each micro-batch in flight its input, if it is kept
/// here, and the memory of the pass.
template <class T, class Space>
class StageWorkspace {
 public:
  /// \param keeps_input  true if micro-batches have an input here, and are not read from the batch
  StageWorkspace(PipelineSchedule const& schedule, bool keeps_input) : schedule_(schedule), keeps_input_(keeps_input) {}

  /// Bytes for batches of up to `rows` rows. \param pass  the stage's SlicePass.
  template <class Pass>
  std::size_t bytes(Pass const& pass, std::size_t rows) const {
    return layout(pass, micro_rows(rows)).slot_begin(schedule_.in_flight());
  }

  /// Grows to the largest batch seen; never shrinks.
  template <class Pass>
  void reserve(Space const& space, Pass const& pass, std::size_t rows) {
    std::size_t const most = micro_rows(rows);
    if (most <= reserved_rows_) return;
    memory_ = uninitialized_view<Memory>(space, "trireme::workspace", bytes(pass, rows));
    layout_ = layout(pass, most);
    reserved_rows_ = most;
  }

  /// Gradient of the stage's output.
  T* output_gradient() const { return at(0); }
  /// Output of the model, in the last stage.
  T* model_output() const { return at(layout_.output); }
  /// The gradient of micro-batch m's input.
  T* input_gradient(std::size_t m) const { return at(2 * layout_.output + (m % 2) * layout_.input); }
  /// Micro-batch m's input, if inputs are kept here.
  T* input(std::size_t m) const { return at(slot_begin(m)); }
  /// The memory that the pass keeps for micro-batch m.
  std::byte* kept(std::size_t m) const { return memory_.data() + slot_begin(m) + layout_.input; }

 private:
  using Memory = Kokkos::View<std::byte*, typename Space::memory_space>;

  /// Bytes for one micro-batch.
  struct Layout {
    std::size_t input = 0, output = 0, kept = 0;
    std::size_t slot_begin(std::size_t slot) const { return 2 * output + 2 * input + slot * (input + kept); }
  };

  template <class Pass>
  Layout layout(Pass const& pass, std::size_t rows) const {
    return {keeps_input_ ? aligned_bytes(rows * pass.input_size() * sizeof(T)) : 0,
            aligned_bytes(rows * pass.output_size() * sizeof(T)), pass.workspace_bytes(rows)};
  }
  std::size_t micro_rows(std::size_t rows) const {
    return std::max<std::size_t>(1, (rows + schedule_.micro_batches - 1) / schedule_.micro_batches);
  }
  std::size_t slot_begin(std::size_t m) const { return layout_.slot_begin(m % schedule_.in_flight()); }
  T* at(std::size_t bytes) const { return reinterpret_cast<T*>(memory_.data() + bytes); }

  PipelineSchedule schedule_;
  bool keeps_input_;
  Layout layout_;
  Memory memory_;
  std::size_t reserved_rows_ = 0;
};

}  // namespace trireme
