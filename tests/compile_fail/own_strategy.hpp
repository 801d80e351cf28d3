// A strategy of one's own, complete but for what a macro WITHOUT_... leaves out.
#pragma once

#include <optional>

#include "trireme/compiled_model.hpp"
#include "trireme/mpi/single_process.hpp"

struct AnyModel {
  using scalar = float;
  using label = float;
  trireme::ModelDescription const& description() const;
};

struct OwnEngine {
#ifndef WITHOUT_TYPES
  using Model = AnyModel;
  using T = float;
  using L = float;
#endif
  using Rows = trireme::Batch<float, float>;
#ifndef WITHOUT_MODEL
  AnyModel const& model() const;
#endif
#ifndef WITHOUT_GROUP_OF_ENGINE
  trireme::SingleProcess const& group() const;
#endif
#ifndef WITHOUT_DATA_SHARD
  trireme::DataShard data_shard(trireme::Phase) const;
#endif
#ifndef WITHOUT_ACQUIRE
  bool acquires_batches() const;
  std::optional<std::size_t> acquire(std::size_t next);
  void release();
#endif
#ifndef WITHOUT_TRAIN_STEP
  void train_step(Rows const& batch);
#endif
#ifndef WITHOUT_TEST_STEP
  void test_step(Rows const& batch);
#endif
#ifndef WITHOUT_PREDICT_STEP
  void predict_step(Rows const& batch, float* out);
#endif
#ifndef WITHOUT_RESET_METRICS
  void reset_metrics(trireme::Phase);
#endif
#ifndef WITHOUT_METRICS
  trireme::Uniform<double> metrics(trireme::Phase);
#endif
#ifndef WITHOUT_RESOLVE
  template <class StopRequests>
  bool resolve(StopRequests const& requests);
#endif
#ifndef WITHOUT_FINISH_EPOCH
  trireme::Uniform<bool> finish_epoch();
#endif
#ifndef WITHOUT_VERIFY_REPLICAS
  void verify_replicas() const;
#endif
};

struct OwnStrategy {
#ifndef WITHOUT_SPACE
  using Space = Kokkos::DefaultExecutionSpace;
#endif
#ifndef WITHOUT_GROUP
  trireme::SingleProcess const& group() const;
#endif
#ifndef WITHOUT_ENGINE
  template <class Model>
  using Engine = OwnEngine;
#endif
#ifndef WITHOUT_BUILD
  template <class Model>
  OwnEngine build(Model, trireme::Parallelism) const;
#endif
};

void place(OwnStrategy const& strategy) {
  [[maybe_unused]] trireme::CompiledModel<OwnStrategy, AnyModel> model(strategy, AnyModel(),
                                                                       trireme::Parallelism::automatic);
}
