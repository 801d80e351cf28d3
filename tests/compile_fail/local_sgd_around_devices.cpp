// expect: trireme: LocalSGD goes around a strategy of several processes
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"

using namespace trireme;

/// As MirroredStrategy of a device is, which not every machine can compile.
struct Mirrored : MirroredStrategy<> {
  using MirroredStrategy<>::MirroredStrategy;
#ifdef TRIREME_MUST_FAIL
  static constexpr bool joins_devices = true;
#endif
};

void place() {
  compile(LocalSGD<Mirrored, 4>(std::size_t{2}), Sequential{Input<1>{}, Dense<1>{}}, SGD{}, MeanSquaredError{});
}
