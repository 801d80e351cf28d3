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

  BatchProgram(std::shared_ptr<Client const> client, std::unique_ptr<SegmentedExecutable> executable,
               BatchExtents const& extents)
      : client_(std::move(client)), executable_(std::move(executable)), rows_(extents.rows) {
    std::size_t const replicas = executable_->replicas();
    TensorType const weight = lowering::tensor_type<double>({rows_});
    std::vector<double> const ones(rows_, 1.0);
    for (std::size_t r = 0; r < replicas; ++r) ones_.push_back(copy_to_device(*client_, r, weight, ones.data()));
    for (Stage& stage : stages_)
      for (std::size_t r = 0; r < replicas; ++r) {
        stage.batches.emplace_back(extents.input, extents.target, rows_, extents.words);
        stage.numbers.emplace_back(lowering::tensor_type<double>({extents.numbers}));
        stage.done.emplace_back();
      }
  }

  SegmentedExecutable& executable() { return *executable_; }
  std::size_t rows() const { return rows_; }

  /// Arguments of a batch that a program takes besides x: targets with weights and words, and numbers.
  struct Takes {
    bool targets = true, numbers = false;
  };
  /// Runs one batch through all replicas. `give(replica)` sets the model's own arguments and returns their number;
  /// `words(to, rows of the replica)` and `numbers(to)` write the step's.
  template <class Give, class Words, class Numbers>
  void run(Batch<T, L> const& batch, Takes const& takes, Give const& give, Words const& words, Numbers const& numbers) {
    Stage& stage = stages_[next_];
    next_ = (next_ + 1) % in_flight;
    stage.wait();
    std::size_t const replicas = executable_->replicas();
    for (std::size_t r = 0; r < replicas; ++r) {
      RowRange const rows = row_range(batch.rows, r, replicas);
      auto& staged = stage.batches[r];
      std::size_t index = give(r);
      executable_->set(r, index++, staged.put_x(*client_, r, batch, rows));
      if (!takes.targets) continue;
      executable_->set(r, index++, staged.put_y(*client_, r, batch, rows));
      executable_->set(r, index++, batch.weight ? staged.put_weight(*client_, r, batch, rows) : ones_[r]);
      executable_->set(r, index++, staged.put_words(*client_, r, [&](std::uint32_t* to) { words(to, rows); }));
      if (!takes.numbers) continue;
      numbers(stage.numbers[r].template write<double>());
      executable_->set(r, index++, stage.numbers[r].lend(*client_, r));
    }
    executable_->run();
    for (std::size_t r = 0; r < replicas; ++r) stage.done[r] = executable_->take_event(r);
  }

  /// Waits for all batches in flight.
  void wait_all() {
    for (Stage& stage : stages_) stage.wait();
  }

 private:
  struct Stage {
    std::vector<ReplicaBatch<T, L>> batches;
    std::vector<Lent> numbers;
    std::vector<Event> done;
    void wait() {
      for (Event& event : done) event.await();
    }
  };

  std::shared_ptr<Client const> client_;
  std::unique_ptr<SegmentedExecutable> executable_;
  std::size_t rows_;
  std::vector<Buffer> ones_;
  std::array<Stage, in_flight> stages_;
  std::size_t next_ = 0;
};

}  // namespace trireme::pjrt
