// expect: trireme: a cut of a PipelineStrategy lies behind the model's last layer
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

void place(trireme::Communicator const& world) {
#ifdef TRIREME_MUST_FAIL
  trireme::PipelineStrategy<Kokkos::DefaultExecutionSpace, 1, 3> const strategy(world);
#else
  trireme::PipelineStrategy<Kokkos::DefaultExecutionSpace, 1, 2> const strategy(world);
#endif
  auto model = trireme::compile(
      strategy, trireme::Sequential{trireme::Input<1>{}, trireme::Dense<4>{}, trireme::Dense<4>{}, trireme::Dense<1>{}},
      trireme::SGD{}, trireme::MeanSquaredError{});
}
