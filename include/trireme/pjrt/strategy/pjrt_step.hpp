/// StepInputs: a program's arguments besides the batch: its rows, the keys of random numbers, and the step's numbers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/models/head.hpp"
#include "trireme/pjrt/lowering/model.hpp"

namespace trireme::pjrt {

/// Writer of a step's words and numbers in the order of lowering::StepLayout.
template <class Model>
class StepInputs {
  using Layout = lowering::StepLayout;
  using Batch = trireme::Batch<typename Model::scalar, typename Model::label>;

 public:
  /// Inputs of the steps of a model, whose layers have the streams of random numbers.
  explicit StepInputs(Model const& model) : streams_(lowering::ModelPrograms<Model>(model, 1, 1).streams()) {}

  /// Writes the words of a test step, for a replica's rows.
  static void write_rows(std::uint32_t* to, Batch const& batch, RowRange const& rows) {
    std::uint64_t const first = batch.first_row + rows.begin;
    to[Layout::rows] = static_cast<std::uint32_t>(rows.end - rows.begin);
    to[Layout::first_row] = RandomStream::low(first);
    to[Layout::first_row + 1] = RandomStream::high(first);
    to[Layout::global_rows] = static_cast<std::uint32_t>(batch.global_rows);
  }
  /// Writes the words of a training step, the `iteration`-th from 0.
  void write_words(std::uint32_t* to, Batch const& batch, RowRange const& rows, Model const& model,
                   std::uint64_t iteration) const {
    write_rows(to, batch, rows);
    to += Layout::keys;
    for (auto const& stream : streams_) {
      auto const key = RowStream(model.seed(), stream.layer, iteration, 0, stream.purpose).stream.key;
      *to++ = key[0];
      *to++ = key[1];
    }
  }
  /// Writes a step's numbers. `positions`, `rows`: the counted positions, and the rows, of the global batch.
  static void write_numbers(double* to, PerOutput<Model::outputs> const& positions, std::size_t rows,
                            Model const& model, std::uint64_t iteration, double rate) {
    using Numbers = lowering::NumberLayout<Model::outputs>;
    std::ranges::copy(reciprocals<Model::outputs>(positions), to + Numbers::scale);
    to[Numbers::rows] = static_cast<double>(rows);
    auto const numbers =
        lowering::OptimizerLowering<typename Model::Optimizer>::numbers(model.optimizer(), iteration + 1, rate);
    std::copy(numbers.begin(), numbers.end(), to + Numbers::optimizer);
  }

 private:
  std::vector<lowering::StreamUse> streams_;
};

}  // namespace trireme::pjrt
