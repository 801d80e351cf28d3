// ranks: 1 2 3 4   labels: law
// Law 1, as in support/law_table.hpp, for optimizers that limit gradients: by norms over all of them or over a tensor,
// of which a process may hold a part, and by values. Regularizers add to the gradients before.
#define BOOST_TEST_MODULE law_clipping
#include "support/law_table.hpp"

#include <cstddef>
#include <string>

#include <Kokkos_Core.hpp>

#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using namespace trireme::test::law;

namespace {

/// Limits that nearly all gradients of the perceptron exceed.
struct GlobalNorm : Mlp {
  static constexpr char const* name = "MLP, global_clipnorm";
  static auto optimizer() { return SGD{.learning_rate = 0.2, .momentum = 0.9, .global_clipnorm = 0.05}; }
};
struct TensorNorm : Mlp {
  static constexpr char const* name = "MLP, clipnorm";
  static auto optimizer() { return SGD{.learning_rate = 0.2, .momentum = 0.9, .clipnorm = 0.02}; }
};
struct EachValue : Mlp {
  static constexpr char const* name = "MLP, clipvalue";
  static auto optimizer() { return SGD{.learning_rate = 0.2, .momentum = 0.9, .clipvalue = 0.003}; }
};

void check(std::string const& name, auto const& strategy) {
  check_row<GlobalNorm, TensorNorm, EachValue>(name, strategy);
}

template <std::size_t Stage>
using Sharded = ShardedStrategy<Kokkos::DefaultExecutionSpace, Stage>;

}  // namespace

BOOST_AUTO_TEST_CASE(limits_change_what_is_trained) {
  auto const plain = reference<Mlp>(7).weights.at("dense/kernel");
  for (auto const* clipped : {&reference<GlobalNorm>(7), &reference<TensorNorm>(7), &reference<EachValue>(7)})
    BOOST_TEST(test::distance(clipped->weights.at("dense/kernel"), plain) > 1e-3);
}

BOOST_AUTO_TEST_CASE(replicas) {
  check("MultiWorkerMirrored", MultiWorkerMirroredStrategy<>(world()));
  check("Accumulate", Accumulate<MultiWorkerMirroredStrategy<>, 2>(world()));
}

BOOST_AUTO_TEST_CASE(shards) {
  check("Sharded of stage 1", Sharded<1>(world()));
  check("Sharded of stage 3", Sharded<3>(world()));
}

BOOST_AUTO_TEST_CASE(stages) {
  check("Pipeline", PipelineStrategy<>(world(), {.micro_batches = 2, .stages = world().size()}));
}

BOOST_AUTO_TEST_CASE(servers) {
  check("ParameterServer", ParameterServerStrategy<>(world(), {.staleness = 0}));
  if (world().size() > 2)
    check("ParameterServer with two servers", ParameterServerStrategy<>(world(), {.servers = 2, .staleness = 0}));
}
