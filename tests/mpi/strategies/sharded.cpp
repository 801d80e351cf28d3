// ranks: 1 2 3 4   labels: law
// Law 1: ranks that hold shards train as one device does on the same global batches.
#define BOOST_TEST_MODULE sharded
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/compile.hpp"
#include "trireme/core/text.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

template <std::size_t N>
using Number = std::integral_constant<std::size_t, N>;
using Stages = std::tuple<Number<1>, Number<2>, Number<3>>;

template <class T, class Strategy, class Architecture, class Optimizer>
auto compiled(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer,
              SparseCategoricalCrossentropy const& loss) {
  return compile<T>(strategy, architecture, optimizer, loss, Accuracy{}, test::Margin{},
                    CompileOptions{.seed = 11, .parallelism = Parallelism::intra_op});
}

template <class T, std::size_t Stage, class Architecture, class Optimizer, class Data>
void check_ranks(Architecture const& architecture, Optimizer const& optimizer, Data const& data, FitOptions options,
                 SparseCategoricalCrossentropy const& loss = {.from_logits = true}) {
  options.verbose = false;
  auto const validate = test::mlp_samples<T>(9, 2);
  auto const tests = validation(validate.data().batch(GlobalBatch{4}));
  OneDeviceStrategy<> const one;
  auto reference = compiled<T>(one, architecture, optimizer, loss);
  auto const expected = fit(one, reference, data, tests, options);
  BOOST_TEST(reference.engine().iteration() >= 20u);
  ShardedStrategy<Kokkos::DefaultExecutionSpace, Stage> const strategy(world());
  auto model = compiled<T>(strategy, architecture, optimizer, loss);
  auto const history = fit(strategy, model, data, tests, options);
  test::check_same_weights(model, reference);
  test::check_same_history(history, expected, test::tolerance<T>);
  test::check_equal_on_all(world(), model);
  test::check_same_logs(evaluate(strategy, model, tests.data), evaluate(one, reference, tests.data),
                        test::tolerance<T>);
  BOOST_TEST(test::distance(predict(strategy, model, tests.data), predict(one, reference, tests.data)) <=
             test::tolerance<T>);
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(shards_train_as_one_device, Stage, Stages) {
  auto const train = test::mlp_samples<double>(61);
  check_ranks<double, Stage::value>(test::mlp(), SGD{.learning_rate = 0.1, .momentum = 0.9},
                                    train.data().shuffle(61, 7).batch(GlobalBatch{7}), {.epochs = 3});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_without_rows_add_nothing_and_still_take_the_step, Stage, Stages) {
  auto const train = test::mlp_samples<double>(21);  // 11 batches, the last of one sample
  check_ranks<double, Stage::value>(test::mlp(), SGD{.learning_rate = 0.1, .momentum = 0.5},
                                    train.data().batch(GlobalBatch{2}), {.epochs = 2});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(ranks_beyond_the_number_of_lines_own_nothing, Stage, Stages) {
  auto const train = test::mlp_samples<double>(41);  // the last kernel and its bias are one line of 8 doubles each
  check_ranks<double, Stage::value>(
      Sequential{Input<test::mlp_inputs>{}, Flatten{}, Dense<1, Tanh>{}, Dense<test::classes>{}},
      SGD{.learning_rate = 0.1, .momentum = 0.5}, train.data().batch(GlobalBatch{4}), {.epochs = 2});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(norms_that_are_clipped_are_those_of_whole_gradients, Stage, Stages) {
  auto const train = test::mlp_samples<double>(61);
  auto const data = train.data().batch(GlobalBatch{7});
  check_ranks<double, Stage::value>(test::mlp(), SGD{.learning_rate = 0.1, .global_clipnorm = 0.1}, data,
                                    {.epochs = 3});
  check_ranks<double, Stage::value>(test::mlp(), SGD{.learning_rate = 0.1, .clipnorm = 0.05}, data, {.epochs = 3});
  check_ranks<double, Stage::value>(test::mlp(), SGD{.learning_rate = 0.1, .clipvalue = 0.01}, data, {.epochs = 3});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(positions_of_the_ignored_class_leave_the_global_count, Stage, Stages) {
  auto train = test::mlp_samples<double>(41);
  train.y[4] = train.y[5] = train.y[6] = train.y[7] = 2;  // a whole batch of them
  check_ranks<double, Stage::value>(test::mlp(), SGD{.learning_rate = 0.1}, train.data().batch(GlobalBatch{4}),
                                    {.epochs = 2}, {.from_logits = true, .ignore_class = 2});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(shards_train_as_one_device_in_single_precision_with_adam, Stage, Stages) {
  auto const train = test::mlp_samples<float>(61);
  check_ranks<float, Stage::value>(test::mlp(), Adam{.learning_rate = 1e-2},
                                   train.data().shuffle(61, 7).batch(GlobalBatch{7}), {.epochs = 3});
}

// Reading is a collective call where processes hold shards.
BOOST_AUTO_TEST_CASE(another_parameter_read_on_one_rank_is_an_error_on_all) {
  ShardedStrategy<Kokkos::DefaultExecutionSpace, 3> const strategy(world());
  auto model = compiled<double>(strategy, test::mlp(), SGD{}, {.from_logits = true});
  auto const names = model.weight_names();
  bool const is_last = world().rank() + 1 == world().size();
  auto const read = [&](std::string const& own) { model.weights(is_last ? own : names.front()); };
  BOOST_CHECK_EXCEPTION(read("absent"), ValueError, [](ValueError const& error) {
    return error.uniform() &&
           std::string(error.what()).find("the model has no parameter 'absent'") != std::string::npos;
  });
  if (world().size() == 1) return;
  std::string const wanted = formatted("weights: rank {} has the parameter {} where rank 0 has {}", world().size() - 1,
                                       names.back(), names.front());
  BOOST_CHECK_EXCEPTION(read(names.back()), ValueError,
                        [&](ValueError const& error) { return error.uniform() && error.what() == wanted; });
}
