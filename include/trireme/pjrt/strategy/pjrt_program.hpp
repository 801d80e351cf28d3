/// A compiled program of a model together with the batches that are on their way through it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "trireme/backend/execution/plan.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/pjrt/runtime/executable.hpp"
#include "trireme/pjrt/strategy/pjrt_batch.hpp"

namespace trireme::pjrt {

/// What a program is given for a batch, besides what the model holds.
struct BatchExtents {
  std::vector<std::size_t> input, target;
  std::size_t rows, words, numbers;
};

/// Takes batches of up to `rows` rows for each replica. A few of them may be in flight; one more waits for the first.
template <class T, class L>
class BatchProgram {
 public:
  static constexpr std::size_t in_flight = 3;

  BatchProgram(std::shared_ptr<Client const> client, std::unique_ptr<Executable> executable,
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

  Executable& executable() { return *executable_; }
  std::size_t rows() const { return rows_; }

  /// One batch through all replicas. `give(replica)` sets the model's own arguments and returns how many they are,
  /// `words(to, rows of the replica)` and `numbers(to)` write the step's; `what` says which of them the program takes.
  struct Takes {
    bool targets = true, numbers = false;
  };
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

  /// Waits for all that is in flight.
  void drain() {
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
  std::unique_ptr<Executable> executable_;
  std::size_t rows_;
  std::vector<Buffer> ones_;
  std::array<Stage, in_flight> stages_;
  std::size_t next_ = 0;
};

}  // namespace trireme::pjrt
