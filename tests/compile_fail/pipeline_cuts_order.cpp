// expect: trireme: the cuts of a PipelineStrategy are indices of layers in ascending order
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

void place(trireme::Communicator const& world) {
#ifdef TRIREME_MUST_FAIL
  trireme::PipelineStrategy<Kokkos::DefaultExecutionSpace, 2, 1> const strategy(world);
#else
  trireme::PipelineStrategy<Kokkos::DefaultExecutionSpace, 1, 2> const strategy(world);
#endif
  auto model = trireme::compile(
      strategy, trireme::Sequential{trireme::Input<1>{}, trireme::Dense<4>{}, trireme::Dense<4>{}, trireme::Dense<1>{}},
      trireme::SGD{}, trireme::MeanSquaredError{});
}
