// expect: trireme: PipelineStrategy cuts a Sequential or a Graph between its layers, in one precision
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;

#ifdef TRIREME_MUST_FAIL
using Precision = Mixed<BFloat16>;
#else
using Precision = float;
#endif

void place(Communicator const& world) {
  auto model = compile<Precision>(PipelineStrategy<>(world), Sequential{Input<1>{}, Dense<4>{}, Dense<1>{}}, SGD{},
                                  MeanSquaredError{});
}
