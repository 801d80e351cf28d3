// expect: trireme: a model without optimizer and loss needs a strategy whose processes hold whole models
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

void place(trireme::Communicator const& world) {
  trireme::ShardedStrategy<> const strategy(world);
  trireme::Sequential const layers{trireme::Input<1>{}, trireme::Dense<1>{}};
#ifdef TRIREME_MUST_FAIL
  trireme::compile(strategy, layers);
#else
  trireme::compile(strategy, layers, trireme::SGD{}, trireme::MeanSquaredError{});
#endif
}
