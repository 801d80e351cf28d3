// ranks: 2 3 4
// Ranks that are stopped at random, and all of them on one processor beside threads that never rest: weights and
// metrics keep their bits, and nothing hangs.
#define BOOST_TEST_MODULE starved_ranks
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/small_training.hpp"
#include "support/starvation.hpp"

#include <chrono>
#include <utility>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

/// The bits of all weights after two epochs, and the losses.
auto trained(Exchange exchange, Parallelism plan) {
  auto const samples = test::mlp_samples<float>(200);
  MultiWorkerMirroredStrategy<> const strategy(world(), {}, 0, exchange);
  auto model = compile(strategy,
                       Sequential{Input<test::mlp_inputs>{}, Dense<96, Tanh>{}, Dropout{.rate = 0.25f},
                                  Dense<64, Tanh>{}, Dense<test::classes>{}},
                       Adam{.learning_rate = 1e-2}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                       CompileOptions{.seed = 3, .parallelism = plan});
  auto const history =
      fit(strategy, model, samples.data().shuffle(200, 5).batch(GlobalBatch{9}), {.epochs = 2, .verbose = false});
  return std::pair{test::weight_bits(model), history["loss"]};
}

void check(Exchange exchange) {
  for (Parallelism const plan : {Parallelism::samples, Parallelism::intra_op}) {
    auto const expected = trained(exchange, plan);
    {
      test::RandomStops const stops(static_cast<unsigned>(world().rank()), std::chrono::milliseconds(1));
      BOOST_TEST((trained(exchange, plan) == expected));
    }
    test::OneProcessor const one(world().is_chief() ? 1 : 0);
    BOOST_TEST((trained(exchange, plan) == expected));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_that_share_memory) { check(Exchange::automatic); }
BOOST_AUTO_TEST_CASE(ranks_that_send_messages) { check(Exchange::messages); }
