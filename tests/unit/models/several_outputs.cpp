// Models of several inputs and outputs: what is logged and predicted, by hand; what does not fit; nothing is allocated.
#define BOOST_TEST_MODULE several_outputs
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"
#include "support/steady_steps.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/losses/categorical_crossentropy.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/metrics/means.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using test::message_of;

namespace {

constexpr std::size_t samples = 13, steps = 2;

/// A vector and a small image a sample; a number and a class for each of two steps as targets.
struct Data {
  test::Samples<double> first = test::make_samples<double>(samples, {3}, 3),
                        second = test::make_samples<double>(samples, {2, 3, 1}, 3, 2);
  xt::xarray<float> number = xt::xarray<float>::from_shape({samples});
  xt::xarray<std::int64_t> kind = xt::xarray<std::int64_t>::from_shape({samples, steps});

  Data() {
    for (std::size_t i = 0; i < samples; ++i) {
      number.data()[i] = static_cast<float>(first.x.data()[3 * i]);
      for (std::size_t t = 0; t < steps; ++t)
        kind.data()[steps * i + t] = (first.y[i] + static_cast<std::int64_t>(t) * second.y[i]) % 3;
    }
  }
  auto x() const { return std::tie(first.x, second.x); }
  auto y() const { return std::tie(number, kind); }
  auto slices() const { return data::from_tensor_slices(x(), y()); }
};

auto architecture() {
  return Sequential{Inputs{Input<3>{}, Input<2, 3, 1>{}},
                    Parallel{Dense<4, Tanh>{}, Sequential{Flatten{}, Dense<4, Tanh>{}}},
                    Each{Sequential{Dense<4, Tanh>{}, Dropout{.rate = 0.25f}}}, Concatenate{},
                    Fork{Dense<1>{}, Sequential{Dense<steps * 3>{}, Reshape<steps, 3>{}}}};
}

/// Class 0 is left out of the second loss.
auto losses() {
  return Outputs{
      output<"number">(MeanSquaredError{}, LossWeight{0.25}, metrics::MeanAbsoluteError{}),
      output<"kind">(SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 0}, LossWeight{2}, Accuracy{})};
}

template <class T = double, class Strategy>
auto compiled(Strategy const& strategy, Parallelism plan = Parallelism::automatic) {
  return compile<T>(strategy, architecture(), SGD{.learning_rate = 0.1}, losses(),
                    CompileOptions{.seed = 3, .parallelism = plan});
}

/// What has to be logged, from predictions.
template <class Predictions>
std::array<double, 5> by_hand(Data const& data, Predictions const& predicted) {
  double squares = 0, distances = 0, entropy = 0, right = 0;
  std::size_t counted = 0;
  auto const& [number, kind] = predicted;
  for (std::size_t i = 0; i < samples; ++i) {
    double const error = static_cast<double>(number(i, 0)) - static_cast<double>(data.number(i));
    squares += error * error;
    distances += std::abs(error);
    for (std::size_t t = 0; t < steps; ++t) {
      auto const label = static_cast<std::size_t>(data.kind(i, t));
      double sum = 0;
      std::size_t best = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        sum += std::exp(static_cast<double>(kind(i, t, c)));
        if (kind(i, t, c) > kind(i, t, best)) best = c;
      }
      right += best == label ? 1 : 0;
      if (label == 0) continue;
      entropy += std::log(sum) - static_cast<double>(kind(i, t, label));
      ++counted;
    }
  }
  double const mse = squares / samples, mean = entropy / static_cast<double>(counted);
  return {0.25 * mse + 2 * mean, mse, mean, distances / samples, right / (samples * steps)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_output_has_a_mean_over_its_own_count) {
  Data const data;
  auto const batches = data.slices().batch(GlobalBatch{5});
  auto const check = [&](auto const& strategy, Parallelism plan) {
    auto model = compiled(strategy, plan);
    auto const logs = evaluate(strategy, model, batches);
    BOOST_TEST(logs.names() == "loss, number_loss, kind_loss, number_mean_absolute_error, kind_accuracy");
    auto const expected = by_hand(data, predict(strategy, model, batches));
    for (std::size_t i = 0; i < expected.size(); ++i)
      test::check_close((logs.begin() + i)->value.value(), expected[i], 1e-14, (logs.begin() + i)->name);
  };
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    check(OneDeviceStrategy<>(), plan);
    check(MirroredStrategy<>(3), plan);
  }
}

BOOST_AUTO_TEST_CASE(gradients_are_of_the_means_over_the_positions_that_count) {
  Data const data;
  OneDeviceStrategy<> const strategy;
  double const rate = 0.5;
  auto model = compile<double>(
      strategy, Sequential{Input<3>{}, Fork{Dense<1>{}, Sequential{Dense<steps * 3>{}, Reshape<steps, 3>{}}}},
      SGD{.learning_rate = rate}, losses());
  auto const [number, kind] =
      predict(strategy, model, data::from_tensor_slices(data.first.x).batch(GlobalBatch{samples}));
  double number_gradient = 0;
  std::array<double, 3 * steps> kind_gradient{};
  std::size_t counted = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    number_gradient += 0.25 * 2 * (number(i, 0) - static_cast<double>(data.number(i))) / samples;
    for (std::size_t t = 0; t < steps; ++t) {
      auto const label = static_cast<std::size_t>(data.kind(i, t));
      if (label == 0) continue;
      ++counted;
      double sum = 0;
      for (std::size_t c = 0; c < 3; ++c) sum += std::exp(kind(i, t, c));
      for (std::size_t c = 0; c < 3; ++c)
        kind_gradient[3 * t + c] += 2 * (std::exp(kind(i, t, c)) / sum - (c == label ? 1 : 0));
    }
  }
  model.train_on_batch(data.first.x, data.y());
  test::check_close(model.weights("dense/bias")(0), -rate * number_gradient, 1e-14, "number");
  for (std::size_t j = 0; j < kind_gradient.size(); ++j)
    test::check_close(model.weights("dense_1/bias")(j), -rate * kind_gradient[j] / static_cast<double>(counted), 1e-14,
                      "kind");
}

BOOST_AUTO_TEST_CASE(every_output_is_learnt_and_can_be_monitored) {
  Data const data;
  OneDeviceStrategy<> const strategy;
  auto model = compiled<float>(strategy);
  auto const before = evaluate(strategy, model, data.slices().batch(GlobalBatch{5}));
  auto const history = fit(strategy, model, data.slices().shuffle(samples, 1).batch(GlobalBatch{5}),
                           validation(data.slices().batch(GlobalBatch{4})), {.epochs = 60, .verbose = false},
                           EarlyStopping<"val_kind_accuracy">{.patience = 100});
  for (char const* name : {"number_loss", "kind_loss"})
    BOOST_TEST(history[std::string("val_") + name].back() < 0.7 * before.find(name)->value());
}

BOOST_AUTO_TEST_CASE(replicas_train_as_one_device) {
  Data const data;
  auto const trained = [&](auto const& strategy, Parallelism plan, auto const& check) {
    auto model = compiled(strategy, plan);
    auto const history =
        fit(strategy, model, data.slices().shuffle(samples, 1).batch(GlobalBatch{5}), {.epochs = 4, .verbose = false});
    check(model, history);
  };
  trained(OneDeviceStrategy<>(), Parallelism::intra_op, [&](auto const& reference, History const& expected) {
    for (std::size_t replicas = 1; replicas <= 4; ++replicas)
      for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
        trained(MirroredStrategy<>(replicas), plan, [&](auto const& model, History const& history) {
          test::check_same_weights(model, reference);
          test::check_same_history(history, expected, test::tolerance<double>);
        });
  });
}

BOOST_AUTO_TEST_CASE(rows_of_a_generator_and_of_infer_hold_inputs_and_outputs_one_after_the_other) {
  Data const data;
  OneDeviceStrategy<> const strategy;
  auto model = compiled(strategy);
  auto const [number, kind] = predict(strategy, model, data::from_tensor_slices(data.x()).batch(GlobalBatch{4}));
  auto const make = [&] {
    return [&, i = std::size_t{0}](std::span<double> x, std::span<double> y) mutable {
      if (i == samples) return false;
      std::copy_n(data.first.x.data() + 3 * i, 3, x.begin());
      std::copy_n(data.second.x.data() + 6 * i, 6, x.begin() + 3);
      y[0] = static_cast<double>(data.number(i));
      for (std::size_t t = 0; t < steps; ++t) y[1 + t] = static_cast<double>(data.kind(i, t));
      ++i;
      return true;
    };
  };
  auto const generated = data::from_generator<double, double>({9}, {1 + steps}, make);
  test::check_same_logs(evaluate(strategy, model, generated.batch(GlobalBatch{4})),
                        evaluate(strategy, model, data.slices().batch(GlobalBatch{4})), 0);

  using View = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  View const in("in", samples, 9), out("out", samples, 1 + 3 * steps);
  for (std::size_t i = 0; i < samples; ++i) {
    std::copy_n(data.first.x.data() + 3 * i, 3, &in(i, 0));
    std::copy_n(data.second.x.data() + 6 * i, 6, &in(i, 3));
  }
  model.infer(in, out);
  for (std::size_t i = 0; i < samples; ++i) {
    test::check_close(out(i, 0), number(i, 0), 1e-14, "number");
    for (std::size_t j = 0; j < 3 * steps; ++j)
      test::check_close(out(i, 1 + j), kind.data()[i * 3 * steps + j], 1e-14, "kind");
  }
}

BOOST_AUTO_TEST_CASE(train_on_batch_takes_tuples) {
  Data const data;
  OneDeviceStrategy<> const strategy;
  auto model = compiled(strategy), reference = compiled(strategy);
  auto const logs = model.train_on_batch(data.x(), data.y());
  auto const history =
      fit(strategy, reference, data.slices().batch(GlobalBatch{samples}), {.epochs = 1, .verbose = false});
  test::check_same_weights(model, reference, 0);
  for (auto const& entry : logs) BOOST_TEST(entry.value.value() == history[entry.name].back());
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_is_an_error_that_names_the_parts) {
  Data const data;
  OneDeviceStrategy<> const strategy;
  auto model = compiled(strategy);
  auto const says = [&](auto const& x, auto const& y) {
    return message_of<ShapeError>(
        [&] { evaluate(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{4})); });
  };
  BOOST_TEST(says(std::tie(data.second.x, data.first.x), data.y()) ==
             "samples of the test data have the extents (2, 3, 1) and (3,), but the model takes (3,) and (2, 3, 1)");
  BOOST_TEST(says(data.first.x, data.y()) ==
             "samples of the test data have the extents (3,), but the model takes (3,) and (2, 3, 1)");
  BOOST_TEST(says(data.x(), data.number) ==
             "targets of the test data have the extents (), but the model takes (1,) and (2,)");
  BOOST_TEST(says(data.x(), std::tie(data.number, data.number)) ==
             "targets of the test data have the extents () and (), but the model takes (1,) and (2,)");
  BOOST_TEST(message_of<ShapeError>([&] {
               data::from_tensor_slices(std::tuple{data.first.x, std::vector<float>(12)}, data.y());
             }) == "the arrays of a tuple (a tensor, a tensor) hold different numbers of samples: 13, 12");

  BOOST_TEST(message_of<ShapeError>([&] { model.train_on_batch(data.x(), std::tie(data.kind, data.number)); }) ==
             "targets of the batch have the extents (2,) and (), but the model takes (1,) and (2,)");

  auto one = compile<double>(strategy, Sequential{Input<9>{}, Dense<1>{}}, SGD{}, MeanSquaredError{});
  BOOST_TEST(message_of<ShapeError>([&] {
               evaluate(strategy, one, data::from_tensor_slices(data.x(), data.number).batch(GlobalBatch{4}));
             }) == "samples of the test data have the extents (3,) and (2, 3, 1), but the model takes (9,)");

  Data wrong;
  wrong.kind(7, 1) = 3;
  std::string const label =
      message_of<ValueError>([&] { evaluate(strategy, model, wrong.slices().batch(GlobalBatch{4})); });
  BOOST_TEST(label == "label 3 at index 7 of the test data is outside of [0, 3)");
  BOOST_TEST(message_of<ValueError>([&] { model.train_on_batch(wrong.x(), wrong.y()); }) ==
             "label 3 at index 7 of the batch is outside of [0, 3)");
  auto const mapped = wrong.slices().map<double, double>({9}, {1 + steps}, [](auto x, auto y, auto to_x, auto to_y) {
    std::copy(x.begin(), x.end(), to_x.begin());
    std::copy(y.begin(), y.end(), to_y.begin());
  });
  BOOST_TEST(message_of<ValueError>([&] { evaluate(strategy, model, mapped.batch(GlobalBatch{4})); }) ==
             "label 3 of sample 7 of an epoch of the test data is outside of [0, 3)");

  BOOST_TEST(message_of<ValueError>([&] {
               fit(strategy, model, data.slices().batch(GlobalBatch{4}), {.class_weight = {1, 2}, .verbose = false});
             }) == "class_weight is for models of one output; give sample weights instead");
}

BOOST_AUTO_TEST_CASE(class_weight_of_one_output_is_that_of_its_loss_alone) {
  OneDeviceStrategy<> const strategy;
  auto const trained = [&](auto const& network, auto const& x, auto const& y, auto const& loss) {
    auto model = compile<double>(strategy, network, SGD{}, loss, CompileOptions{.seed = 3});
    return fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{4}),
               {.class_weight = {1, 2}, .verbose = false})["loss"];
  };
  auto const same = [&](auto const& network, auto const& x, auto const& y, auto const& loss) {
    BOOST_TEST(trained(network, x, y, Outputs{output<"kind">(loss)}) == trained(network, x, y, loss),
               boost::test_tools::per_element());
  };
  xt::xtensor<double, 2> const x = xt::ones<double>({8, 3});
  std::vector<std::int32_t> const labels{0, 1, 1, 0, 1, 0, 0, 1};
  xt::xtensor<double, 2> rows = xt::zeros<double>({8, 2});
  for (std::size_t i = 0; i < 8; ++i) rows(i, static_cast<std::size_t>(labels[i])) = 1;
  Sequential const network{Input<3>{}, Dense<2>{}};
  same(network, x, labels, SparseCategoricalCrossentropy{.from_logits = true});
  same(network, x, rows, CategoricalCrossentropy{.from_logits = true});

  // Several positions, each a row of its own, as for the loss alone.
  xt::xtensor<double, 3> const sequences = xt::ones<double>({8, 2, 3}), positions = xt::ones<double>({8, 2, 2});
  xt::xtensor<std::int32_t, 2> const several = xt::ones<std::int32_t>({8, 2});
  Sequential const each{Input<2, 3>{}, Dense<2>{}};
  auto const says = [&](auto const& y, auto const& loss) {
    return message_of<ValueError>([&] { trained(each, sequences, y, Outputs{output<"kind">(loss)}); });
  };
  std::string const refused = "class_weight needs one label a sample; give sample weights instead";
  BOOST_TEST(says(positions, CategoricalCrossentropy{.from_logits = true}) == refused);
  BOOST_TEST(says(several, SparseCategoricalCrossentropy{.from_logits = true}) == refused);
}

BOOST_AUTO_TEST_CASE(class_indices_beside_dense_targets_have_to_be_exact) {
  auto const head = [](std::size_t classes) {
    using Extents2 = Parts<Extents<1>, Extents<dynamic>>;
    auto const outputs =
        Outputs{output<"a">(MeanSquaredError{}), output<"b">(SparseCategoricalCrossentropy{.from_logits = true})};
    return detail::Head<float, Extents2, std::decay_t<decltype(outputs)>>(Extents2{{{}, {{classes}}}}, outputs);
  };
  BOOST_TEST(head(1u << 24).target_size() == 2u);
  BOOST_TEST(message_of<ValueError>([&] { head((1u << 24) + 1); }) ==
             "class indices of output 'b' go up to 16777216: beside dense targets they are kept in the model's scalar, "
             "which is exact up to 16777216");
}

BOOST_AUTO_TEST_CASE(rows_hold_all_numbers_of_their_parts_exactly) {
  static_assert(std::is_same_v<decltype(data::detail::row_scalar<float, float>()), float>);
  static_assert(std::is_same_v<decltype(data::detail::row_scalar<float, std::uint8_t>()), float>);
  static_assert(std::is_same_v<decltype(data::detail::row_scalar<std::int32_t, float>()), double>);
  static_assert(std::is_same_v<decltype(data::detail::row_scalar<float, double>()), double>);
  static_assert(std::is_same_v<decltype(data::detail::row_scalar<std::uint8_t, std::int32_t>()), std::int32_t>);
  std::vector<float> const a{1.5f, 2.5f};
  std::vector<std::int32_t> const b{16777217, -3};
  auto const rows = data::sample_rows(std::tie(a, b));
  std::vector<double> const expected{1.5, 16777217, 2.5, -3};
  BOOST_TEST(std::vector<double>(rows.tensor.data, rows.tensor.data + 4) == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_step_allocates_nothing) {
  Data const data;
  auto const batches = data.slices().shuffle(samples, 1).batch(GlobalBatch{3});
  auto const run = [&](auto const& strategy, Parallelism plan) {
    auto model = compiled<float>(strategy, plan);
    test::warm_threads();
    test::SteadySteps counts;
    fit(strategy, model, batches, validation(batches), {.epochs = 5, .verbose = false}, counts);
    return counts.counts;
  };
  auto const check = [&](auto const& strategy) {
    for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
      for (auto const& count : run(strategy, plan)) {
        BOOST_TEST(count.counted > 0u);
        BOOST_TEST(count.allocated.news == 0u);
        BOOST_TEST(count.allocated.mallocs == 0u);
      }
      test::ViewHooks const hooks;
      for (auto const& count : run(strategy, plan)) BOOST_TEST(count.allocated.views == 0u);
    }
  };
  check(OneDeviceStrategy<>());
  check(MirroredStrategy<>(3));
}
