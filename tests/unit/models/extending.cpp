// The parts of docs/extending.md, as examples/extending has them.
#define BOOST_TEST_MODULE extending
#include "../../../examples/extending/parts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "../callbacks/scripted_run.hpp"
#include "../layers/gradient_check.hpp"
#include "support/kokkos_fixture.hpp"

using namespace trireme;
using boost::test_tools::tolerance;

BOOST_AUTO_TEST_CASE(layers_and_activations_have_the_gradient_of_their_forward) {
  test::check_gradients(extending::MeanOverTime{}, Extents<4, 3>{});
  test::check_gradients(extending::MeanOverTime{}, Extents<dynamic, 3>{{4, 3}});
  test::check_gradients(extending::LowRank<2>{}, Extents<4, 5>{});
  test::check_gradients(extending::MultiplicativeNoise{.deviation = 0.5}, Extents<2, 5>{});
  test::check_gradients(Dense<4, extending::Squareplus>{.activation = {.smoothness = 0.5}}, Extents<5>{});
  test::check_gradients(Activation<extending::TemperedSoftmax>{}, Extents<2, 5>{});
}

BOOST_AUTO_TEST_CASE(a_gradient_computed_by_all_threads_together_is_that_of_each_alone) {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  xt::xtensor<double, 2> x({16, 128});
  for (double& value : x) value = normal(random);
  std::vector<double> const y(16, 1.0);
  OneDeviceStrategy<> const strategy;
  std::vector<std::vector<double>> weights;
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    // Layers before it use the memory of its dy anew.
    auto model = compile<double>(
        strategy,
        Sequential{Input<128>{}, Dense<128, Tanh>{}, Dense<128, Tanh>{}, extending::LowRank<64>{}, Dense<1>{}},
        SGD{.learning_rate = 0.01}, MeanSquaredError{}, CompileOptions{.seed = 1, .parallelism = plan});
    fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{8}), {.epochs = 2, .verbose = false});
    weights.push_back(model.engine().weights().host_parameters());
  }
  BOOST_TEST(test::relative_error(weights[0], weights[1]) <= 1e-12);
}

BOOST_AUTO_TEST_CASE(noise_belongs_to_rows_of_the_global_batch) {
  test::LayerHarness<ThreadContext, extending::MultiplicativeNoise, Extents<3>> both({}, {}, 2, 17),
      second({}, {}, 1, 17);
  std::copy_n(both.x.begin() + 3, 3, second.x.begin());
  second.keys.first_row = both.keys.first_row + 1;
  auto const expected = both.forward(), found = second.forward();
  BOOST_TEST(std::vector(expected.begin() + 3, expected.end()) == found, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(states_are_subtracted_and_slices_add_up_to_the_batch_mean) {
  std::vector<double> const x{1, 10, 3, 20, 5, 60}, states{0.5, 4};
  std::vector<double> y(6), updates(arena_alignment), sum(2);
  ThreadContext context;
  for (std::size_t first : {0u, 1u}) {  // slices of one row and of two, of a global batch of three
    std::size_t const rows = first == 0 ? 1 : 2;
    detail::run_forward(context, extending::MovingCenter{}, Extents<2>{},
                        ForwardPass<double>{.rows = rows,
                                            .x = x.data() + 2 * first,
                                            .y = y.data() + 2 * first,
                                            .parameters = nullptr,
                                            .workspace = nullptr,
                                            .keys = {.first_row = first, .global_rows = 3},
                                            .training = true,
                                            .states = states.data(),
                                            .state_updates = updates.data()});
    for (std::size_t j = 0; j < 2; ++j) sum[j] += updates[j];
  }
  BOOST_TEST(y == (std::vector<double>{0.5, 6, 2.5, 16, 4.5, 56}), boost::test_tools::per_element());
  BOOST_TEST(sum == (std::vector<double>{3, 30}), tolerance(1e-15) << boost::test_tools::per_element());
}

namespace {

template <class Loss>
void check_loss(Loss const& loss) {
  std::array<double, 4> prediction{0.8, -1.3, 0.2, 9.1}, gradient{};
  std::array<double, 4> const truth{0.5, -1.0, 1.4, 0.3};
  double const scale = 0.375, h = 1e-5;
  auto const value = [&] { return loss(prediction.data(), truth.data(), 4, scale, static_cast<double*>(nullptr)); };
  BOOST_TEST(loss(prediction.data(), truth.data(), 4, scale, gradient.data()) == value());
  for (std::size_t i = 0; i < 4; ++i) {
    double const kept = prediction[i];
    prediction[i] = kept + h;
    double const above = value();
    prediction[i] = kept - h;
    double const below = value();
    prediction[i] = kept;
    BOOST_TEST(std::abs(gradient[i] - scale * (above - below) / (2 * h)) <= 1e-8);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(losses_have_the_gradient_of_their_value) {
  check_loss(extending::Tukey{.width = 3});
  check_loss(ElementwiseLoss<extending::Cauchy>{});
}

BOOST_AUTO_TEST_CASE(metrics_of_two_parts_are_those_of_the_whole) {
  std::array<double, 4> const prediction{1, 2, 3, 5}, truth{1.5, 2, 2, 5};
  extending::R2 const r2;
  std::array<double, 4> whole{}, part{}, rest{};
  r2.update(prediction.data(), truth.data(), 4, 1.0, whole.data());
  r2.update(prediction.data(), truth.data(), 1, 1.0, part.data());
  r2.update(prediction.data() + 1, truth.data() + 1, 3, 1.0, rest.data());
  for (std::size_t i = 0; i < 4; ++i) part[i] += rest[i];
  BOOST_TEST(r2.result(part.data()) == r2.result(whole.data()), tolerance(1e-15));
  BOOST_TEST(r2.result(whole.data()) == 1 - 1.25 / 7.6875, tolerance(1e-14));
  std::array<double, 2> state{};
  extending::Within{.tolerance = 0.5}.update(prediction.data(), truth.data(), 4, 1.0, state.data());
  BOOST_TEST(extending::Within{}.result(state.data()) == 0.75);
}

BOOST_AUTO_TEST_CASE(the_optimizer_finds_the_minimum_of_a_parabola) {
  extending::HeavyBall const optimizer{.learning_rate = 0.1, .momentum = 0.5};
  double w = 0, velocity = optimizer.initial(0);
  std::array<double*, 1> const slots{&velocity};
  for (std::uint64_t step = 0; step < 300; ++step)
    optimizer.step<double>(step + 1, optimizer.learning_rate(step))(0, &w, w - 3, slots.data());
  BOOST_TEST(w == 3, tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(the_rule_of_a_tensor_steps_by_the_rate) {
  auto const rule = extending::NormalizedDescent{}.step<double>(1, 0.5);
  std::array<double, 2> w{1, 2};
  std::array<double, 2> const gradient{-3, 4};
  double squares = 0;
  for (std::size_t i = 0; i < 2; ++i) rule.add(i, w.data(), gradient[i], nullptr, &squares);
  auto const step = rule.of_tensor(&squares);
  for (std::size_t i = 0; i < 2; ++i) step(i, w.data(), gradient[i], static_cast<double* const*>(nullptr));
  BOOST_TEST(w[0] == 1.3, tolerance(1e-15));
  BOOST_TEST(w[1] == 1.6, tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(a_callback_decides_on_logs_and_counts_epochs) {
  extending::StopOnGap callback{.factor = 2, .patience = 2};
  test::ScriptedRun run;
  std::vector<bool> stops;
  callback.on_train_begin(run);
  for (double const validation : {3.0, 1.0, 3.0, 5.0}) {
    run.epoch_logs.clear();
    run.epoch_logs.set("loss", test::uniform(1));
    run.epoch_logs.set("val_loss", test::uniform(validation));
    stops.push_back(callback.on_epoch_end(run).value() == Control::stop);
  }
  BOOST_TEST(stops == (std::vector<bool>{false, false, false, true}), boost::test_tools::per_element());
  BOOST_TEST(run.epoch_logs.find("gap")->value() == 5);
}

BOOST_AUTO_TEST_CASE(numbers_outside_of_their_range_are_refused) {
  Config c;
  BOOST_CHECK_THROW(c.object("the loss", extending::Tukey{.width = 0}), ValueError);
  BOOST_CHECK_THROW(c.object("the metric", extending::Within{.tolerance = -1}), ValueError);
  BOOST_CHECK_THROW(c.object("the layer", extending::MovingCenter{.momentum = 1.5}), ValueError);
  BOOST_CHECK_THROW(list_optimizer(c, extending::HeavyBall{.momentum = -1}), ValueError);
  BOOST_CHECK_THROW(c.object("the callback", extending::StopOnGap{.patience = 0}), ValueError);
}
