/// BatchProgram: a compiled program of a model, with the batches that are in flight through it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/pjrt/runtime/segmented_executable.hpp"
#include "trireme/pjrt/strategy/pjrt_batch.hpp"

namespace trireme::pjrt {

/// Extents of a program's arguments for a batch, besides the model's own.
struct BatchExtents {
  std::vector<std::size_t> input, target;
  std::size_t rows, words, numbers;
};

/// Program for batches of up to `rows` rows for each replica. At most `in_flight` of them run at once; one more waits
/// for the first.
template <class T, class L>
class BatchProgram {
 public:
  static constexpr std::size_t in_flight = 3;

  /// Program with the arrays of its arguments, for batches of these extents.
  BatchProgram(std::shared_ptr<Client const> client, std::unique_ptr<SegmentedExecutable> executable,
               BatchExtents const& extents)
      : client_(std::move(client)), executable_(std::move(executable)), rows_(extents.rows) {
    TensorType const weight = lowering::tensor_type<double>({rows_});
    std::vector<double> const ones(rows_, 1.0);
    for (std::size_t d = 0; d < executable_->devices(); ++d)
      ones_.push_back(copy_to_device(*client_, d, weight, ones.data()));
    for (Stage& stage : stages_) {
      for (std::size_t r = 0; r < replicas(); ++r) {
        stage.batches.emplace_back(extents.input, extents.target, rows_, extents.words);
        stage.numbers.emplace_back(lowering::tensor_type<double>({extents.numbers}));
      }
      stage.done.resize(executable_->devices());
    }
  }

  /// Compiled program.
  SegmentedExecutable& executable() { return *executable_; }
  /// Rows at most, for each replica.
  std::size_t rows() const { return rows_; }

  /// Arguments of a batch that a program takes besides x: targets with weights and words, and numbers.
  struct Takes {
    bool targets = true, numbers = false;
  };
  /// Runs one batch through all replicas. `give(device)` sets the model's own arguments and returns their number;
  /// `words(to, rows of the replica)` and `numbers(to)` write the step's.
  template <class Give, class Words, class Numbers>
  void run(Batch<T, L> const& batch, Takes const& takes, Give const& give, Words const& words, Numbers const& numbers) {
    Stage& stage = stages_[next_];
    next_ = (next_ + 1) % in_flight;
    stage.wait();
    for (std::size_t r = 0; r < replicas(); ++r) {
      RowRange const rows = row_range(batch.rows, r, replicas());
      DeviceRange const own{r * executable_->shards(), executable_->shards()};
      auto& staged = stage.batches[r];
      std::size_t index = 0;
      for (std::size_t d = own.first; d < own.first + own.count; ++d) index = give(d);
      auto const set = [&](std::vector<Upload> const& lent) {
        for (std::size_t i = 0; i < own.count; ++i) executable_->set(own.first + i, index, lent[i].buffer);
        ++index;
      };
      set(staged.put_x(*client_, own, batch, rows));
      if (!takes.targets) continue;
      set(staged.put_y(*client_, own, batch, rows));
      if (batch.weight) {
        set(staged.put_weight(*client_, own, batch, rows));
      } else {
        for (std::size_t d = own.first; d < own.first + own.count; ++d) executable_->set(d, index, ones_[d]);
        ++index;
      }
      set(staged.put_words(*client_, own, [&](std::uint32_t* to) { words(to, rows); }));
      if (!takes.numbers) continue;
      numbers(stage.numbers[r].template write<double>());
      set(stage.numbers[r].lend(*client_, own));
    }
    executable_->run();
    for (std::size_t d = 0; d < stage.done.size(); ++d) stage.done[d] = executable_->take_event(d);
  }

  /// Waits for all batches in flight.
  void wait_all() {
    for (Stage& stage : stages_) stage.wait();
  }

 private:
  struct Stage {
    std::vector<ReplicaBatch<T, L>> batches;  ///< by replica, as the numbers
    std::vector<Lent> numbers;
    std::vector<Event> done;  ///< by device
    void wait() {
      for (Event& event : done) event.await();
    }
  };

  std::size_t replicas() const { return executable_->devices() / executable_->shards(); }

  std::shared_ptr<Client const> client_;
  std::unique_ptr<SegmentedExecutable> executable_;
  std::size_t rows_;
  std::vector<Buffer> ones_;
  std::array<Stage, in_flight> stages_;
  std::size_t next_ = 0;
};

}  // namespace trireme::pjrt
