// expect: trireme: predictor needs a process that holds the whole model
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

void predict(trireme::Communicator const& world) {
#ifdef TRIREME_MUST_FAIL
  constexpr std::size_t stage = 3;
#else
  constexpr std::size_t stage = 2;
#endif
  trireme::ShardedStrategy<Kokkos::DefaultExecutionSpace, stage> const strategy(world);
  auto model = trireme::compile(strategy, trireme::Sequential{trireme::Input<1>{}, trireme::Dense<1>{}}, trireme::SGD{},
                                trireme::MeanSquaredError{});
  model.predictor();
}
