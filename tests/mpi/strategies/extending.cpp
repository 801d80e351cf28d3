// ranks: 1 2 3   labels: law
// Law 1 for the strategy of docs/extending.md and for the layers there, which have states and random numbers.
#define BOOST_TEST_MODULE extending
#include "../../../examples/extending/parts.hpp"
#include "../../../examples/extending/strategy.hpp"

#include <vector>

#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

using namespace trireme;

namespace {

template <class Strategy, class Check>
void train(Strategy const& strategy, Parallelism plan, Check const& check) {
  auto const samples = test::make_samples<double>(21, {4, 3}, 2);
  std::vector<double> const y(samples.y.begin(), samples.y.end());
  auto model = compile<double>(
      strategy,
      Sequential{Input<4, 3>{}, extending::MovingCenter{.momentum = 0.8}, extending::MultiplicativeNoise{},
                 Dense<6, extending::Squareplus>{}, extending::LowRank<2>{}, extending::MeanOverTime{}, Dense<1>{}},
      extending::HeavyBall{.learning_rate = 0.05}, extending::Tukey{}, extending::R2{},
      CompileOptions{.seed = 3, .parallelism = plan});
  auto const data = data::from_tensor_slices(samples.x, y).shuffle(21, 1).batch(GlobalBatch{8});
  check(model, fit(strategy, model, data, {.epochs = 3, .verbose = false}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(ranks_train_as_one_device) {
  extending::OneMessageStrategy<> const strategy(test::environment().world());
  train(OneDeviceStrategy<>(), Parallelism::samples, [&](auto const& reference, History const& expected) {
    auto const check = [&](auto const& model, History const& history) {
      test::check_same_weights(model, reference, 1e-12);
      test::check_same_history(history, expected, 1e-12);
    };
    for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) train(strategy, plan, check);
    train(Accumulate<extending::OneMessageStrategy<>, 2>(strategy), Parallelism::automatic, check);
  });
}

BOOST_AUTO_TEST_CASE(local_steps_go_around_the_strategy_as_around_the_library_s_own) {
  Communicator const& world = test::environment().world();
  using Own = LocalSGD<extending::OneMessageStrategy<>, 2>;
  using Known = LocalSGD<MultiWorkerMirroredStrategy<>, 2>;
  train(Known(world), Parallelism::samples, [&](auto const& reference, History const& expected) {
    train(Own(world), Parallelism::samples, [&](auto const& model, History const& history) {
      test::check_same_weights(model, reference, 1e-12);
      test::check_same_history(history, expected, 1e-12);
    });
  });
}
