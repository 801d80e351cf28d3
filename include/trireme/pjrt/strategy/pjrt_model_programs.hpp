/// ModelPrograms: the compiled programs of a model, each compiled at its first use.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "trireme/pjrt/lowering/model.hpp"
#include "trireme/pjrt/runtime/executable.hpp"
#include "trireme/pjrt/runtime/segmented_executable.hpp"
#include "trireme/pjrt/strategy/pjrt_program.hpp"

namespace trireme::pjrt {

/// Task of a program for a batch.
enum class BatchWork : std::size_t { train, gradients, test, predict };

template <class Model>
class ModelPrograms {
  using Lowered = lowering::ModelPrograms<Model>;

 public:
  using BatchProgram = pjrt::BatchProgram<typename Model::scalar, typename Model::label>;

  /// `cache`: a folder for compiled programs, or empty; `sum`: of numbers over the processes.
  ModelPrograms(std::shared_ptr<Client const> client, std::size_t replicas, lowering::Division division,
                std::string const& cache, ProcessSums sum)
      : client_(std::move(client)),
        replicas_(replicas),
        division_(std::move(division)),
        cache_(cache),
        sum_(std::move(sum)) {}

  /// Division of the weights among the devices of a replica.
  lowering::Division const& division() const { return division_; }

  /// The smallest program that holds `rows` rows of this process; compiles one if there is none.
  BatchProgram& for_batch(BatchWork work, Model const& model, std::size_t rows) {
    std::size_t const needed = std::max<std::size_t>(1, (rows + replicas_ - 1) / replicas_);
    auto& programs = for_batches_[static_cast<std::size_t>(work)];
    BatchProgram* best = nullptr;
    for (auto& program : programs)
      if (program->rows() >= needed && (!best || program->rows() < best->rows())) best = program.get();
    if (best) return *best;
    Lowered const lowered(model, needed, replicas_, division_);
    auto const& arguments = lowered.arguments();
    BatchExtents const extents{arguments.input_extents(), arguments.target_extents(), needed,
                               work == BatchWork::test ? lowering::StepLayout::keys : lowered.word_count(),
                               arguments.number_count};
    auto executable = std::make_unique<SegmentedExecutable>(client_, written(work, lowered), replicas_, cache_, sum_);
    count_ += executable->count();
    cached_ += executable->cached();
    programs.push_back(std::make_unique<BatchProgram>(client_, std::move(executable), extents));
    return *programs.back();
  }

  /// The program that applies gradients summed by MPI.
  Executable& apply(Model const& model) {
    if (!apply_) apply_ = compiled(Lowered(model, 1, replicas_, division_).apply());
    return *apply_;
  }
  /// The program that copies weights.
  Executable& copy(Model const& model) {
    if (!copy_) copy_ = compiled(Lowered(model, 1, replicas_, division_).copy());
    return *copy_;
  }

  /// Waits for the batches that are in flight.
  void wait_all() {
    for (auto& programs : for_batches_)
      for (auto& program : programs) program->wait_all();
  }

  /// Number of programs, and of those among them that came from the cache.
  std::size_t count() const { return count_; }
  /// Number of programs that came from the cache.
  std::size_t cached() const { return cached_; }

 private:
  static lowering::SegmentedProgram written(BatchWork work, Lowered const& lowered) {
    switch (work) {
      case BatchWork::train:
        return lowering::in_one_segment(lowered.train());
      case BatchWork::gradients:
        return lowered.gradients();
      case BatchWork::test:
        return lowering::in_one_segment(lowered.test());
      case BatchWork::predict:
        break;
    }
    return lowering::in_one_segment(lowered.predict());
  }

  std::unique_ptr<Executable> compiled(lowering::Program const& program) {
    auto executable = std::make_unique<Executable>(client_, program, replicas_, cache_);
    ++count_;
    cached_ += executable->from_cache() ? 1 : 0;
    return executable;
  }

  std::shared_ptr<Client const> client_;
  std::size_t replicas_;
  lowering::Division division_;
  ProgramCache cache_;
  ProcessSums sum_;
  std::array<std::vector<std::unique_ptr<BatchProgram>>, 4> for_batches_;
  std::unique_ptr<Executable> apply_, copy_;
  std::size_t count_ = 0, cached_ = 0;
};

}  // namespace trireme::pjrt
