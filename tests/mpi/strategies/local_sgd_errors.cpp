// ranks: 1 2 3 4
// After errors that end a call of LocalSGD in another step on each rank, all ranks train on together.
#define BOOST_TEST_MODULE local_sgd_errors
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/message_of.hpp"
#include "support/refusing_layer.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

using Whole = MultiWorkerMirroredStrategy<>;
constexpr std::size_t period = 8;  // more steps than any rank is ahead of another

Communicator const& world() { return test::environment().world(); }

LocalSGD<Whole, period, SGD> strategy() { return {Whole(world()), SGD{.learning_rate = 0.7, .momentum = 0.5}}; }
LocalSGD<Whole, period> means() { return LocalSGD<Whole, period>(world()); }

auto model_of(auto const& strategy, auto const& optimizer) {
  return compile<double>(strategy,
                         Sequential{Input<test::mlp_inputs>{}, Dense<5, Tanh>{}, Dropout{.rate = 0.25f},
                                    test::Refusing{}, Dense<test::classes>{}},
                         optimizer, SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 4});
}

/// Those of an epoch that ends within a period, in which a rank that were a step ahead would have taken a mean.
constexpr std::size_t epoch = period - 1;
test::Samples<double> samples() { return test::mlp_samples<double>(2 * world().size() * epoch); }

/// Throws before step `step` of a call, and calls `last` before.
struct Throws {
  std::size_t step;
  std::function<void()> last = [] {};
  mutable std::size_t begun = 0;
  template <class Run>
  void on_train_batch_begin(Run const&) const {
    if (begun++ < step) return;
    last();
    throw std::runtime_error("the hook went off");
  }
};

void train(auto const& strategy, auto& model, test::Samples<double> const& samples, auto const&... callbacks) {
  fit(strategy, model, samples.data().batch(GlobalBatch{2 * world().size()}), {.epochs = 1, .verbose = false},
      callbacks...);
}

/// A call that each rank leaves after another number of steps: the first rank after none.
/// \return the mean over the ranks of the weights that each had when it threw
std::vector<double> leave_apart(auto const& strategy, auto& model, test::Samples<double> const& samples) {
  std::vector<double> mean;
  Throws const callback{world().rank(), [&] { mean = model.engine().weights().host_parameters(); }};
  BOOST_TEST(test::message_of<std::runtime_error>([&] { train(strategy, model, samples, callback); }) ==
             "the hook went off");
  world().allreduce_sum(mean);
  for (double& value : mean) value /= static_cast<double>(world().size());
  return mean;
}

void check_steps(auto const& model, std::uint64_t steps) {
  std::uint64_t const iteration = model.engine().iteration();
  BOOST_TEST(iteration == steps);
  BOOST_TEST(world().allreduce_min(iteration).value() == world().allreduce_max(iteration).value());
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_that_left_a_call_in_different_steps_have_their_mean_and_count_the_same_steps) {
  auto const data = samples();
  auto model = model_of(means(), Adam{.learning_rate = 0.03});
  std::vector<double> const expected = leave_apart(means(), model, data);
  check_steps(model, world().size() - 1);
  BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected) <= 1e-13);
}

BOOST_AUTO_TEST_CASE(means_are_taken_in_the_same_steps_after_ranks_left_a_call_in_different_ones) {
  auto const data = samples();
  auto model = model_of(strategy(), Adam{.learning_rate = 0.03});
  for (std::size_t step = 0; step < 2 * period; ++step) {
    if (step % 3 == 0) leave_apart(strategy(), model, data);
    model.train_on_batch(data.x, data.y);
  }
  leave_apart(strategy(), model, data);
  std::uint64_t const before = world().allreduce_max(model.engine().iteration()).value();
  train(strategy(), model, data);
  check_steps(model, before + epoch);
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(steps_of_a_period_agree_also_where_the_optimizers_steps_were_set) {
  auto const data = samples();
  auto model = model_of(strategy(), Adam{.learning_rate = 0.03});
  leave_apart(strategy(), model, data);
  model.engine().optimizer().set_iteration(20);
  train(strategy(), model, data);
  check_steps(model, 20 + epoch);
  test::check_equal_on_all(world(), model);
}

BOOST_AUTO_TEST_CASE(weights_restored_after_an_error_are_those_with_which_the_next_call_begins) {
  auto const data = samples();
  auto model = model_of(strategy(), Adam{.learning_rate = 0.03});
  for (int call = 0; call < 2; ++call) train(strategy(), model, data);  // the outer optimizer has a momentum
  auto const kept = model.engine().weights().snapshot();
  leave_apart(strategy(), model, data);
  model.engine().weights().restore(kept);
  std::vector<double> const expected = model.engine().weights().host_parameters();
  model.engine().optimizer().set_learning_rate(0);
  model.train_on_batch(data.x, data.y);
  BOOST_TEST(test::distance(model.engine().weights().host_parameters(), expected) <= 1e-13);
}

BOOST_AUTO_TEST_CASE(a_period_that_began_on_some_ranks_has_one_anchor) {
  auto const data = samples();
  auto model = model_of(strategy(), Adam{.learning_rate = 0.03});
  train(strategy(), model, data);
  // All have taken the same number of steps, but the last rank has begun one more.
  bool const last = world().rank() + 1 == world().size();
  if (last) test::refuses = test::Refuses::backward;
  BOOST_CHECK_THROW(train(strategy(), model, data, Throws{last ? 1u : 0u}), std::exception);
  test::refuses = test::Refuses::never;
  auto kernel = model.weights_view("dense/kernel");
  std::fill(kernel.begin(), kernel.end(), 2);
  train(strategy(), model, data);
  test::check_equal_on_all(world(), model);
}
