// ranks: 1 2 3 4   labels: law
// Two models train at the same time on the parts of a split communicator.
#define BOOST_TEST_MODULE split_communicator
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(strategies_on_the_parts_of_a_split_communicator_do_not_meet) {
  auto const& world = test::environment().world();
  std::size_t const color = world.rank() % 2;
  Communicator const part = world.split(color);
  // Of different length, so that a collective over both would hang or mix them.
  auto const samples = test::mlp_samples<double>(color == 0 ? 23 : 41, 50 + color);
  auto const data = samples.data().batch(GlobalBatch{color == 0 ? 5u : 4u});
  FitOptions const options{.epochs = 2 + color, .verbose = false};
  auto const check = [&](auto const& strategy, auto const& then) {
    auto model =
        compile<double>(strategy, test::mlp(), SGD{.learning_rate = 0.1},
                        SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = color});
    auto const history = fit(strategy, model, data, options);
    then(model, history);
  };
  check(OneDeviceStrategy<>(), [&](auto const& reference, History const& expected) {
    check(MultiWorkerMirroredStrategy<>(part), [&](auto const& model, History const& history) {
      test::check_same_weights(model, reference);
      test::check_same_history(history, expected, 1e-13);
      test::check_equal_on_all(part, model);
    });
  });
  world.barrier();
}

BOOST_AUTO_TEST_CASE(a_strategy_keeps_working_after_its_communicator_is_gone) {
  auto const& world = test::environment().world();
  auto const samples = test::mlp_samples<double>(9);
  auto const strategy = [&] {
    Communicator const short_lived = world.duplicate();
    return MultiWorkerMirroredStrategy<>(short_lived);
  }();
  auto model = compile<double>(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.verbose = false});
  BOOST_TEST(model.engine().iteration() == 3u);
}
