// ranks: 1 2 3 4   labels: law
// Law 1 for a model that is not made of layers, whose parameters are the application's, and for parts of the user's
// own.
#define BOOST_TEST_MODULE own_model
#include "../../../examples/own_model/decay.hpp"
#include "../../../examples/own_parts/parts.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Decay = decay::Model<Space>;

Communicator const& world() { return test::environment().world(); }

/// Two substances. 21 samples in batches of 8: the last one has 5, uneven over most numbers of ranks.
struct Measured {
  std::vector<double> time, activity;
  explicit Measured(std::size_t n) : time(n), activity(n) {
    for (std::size_t i = 0; i < n; ++i) {
      time[i] = 8.0 * static_cast<double>(i) / static_cast<double>(n);
      activity[i] = 3.0 * std::exp(-time[i]) + 1.5 * std::exp(-0.1 * time[i]);
    }
  }
  auto data(std::size_t batch) const {
    return data::from_tensor_slices(time, activity).shuffle(time.size(), 1).batch(GlobalBatch{batch});
  }
};

Decay::View guess() {
  Decay::View const parameters("parameters", 4);
  double const first[] = {2, 2, 2, 0.3};
  std::copy_n(first, 4, parameters.data());
  return parameters;
}

/// The same without memory of the application's.
struct Homeless : Decay {
  using Decay::Decay;
  View parameter_view() const = delete;
  void initialize(std::span<double> parameters) const {
    double const first[] = {2, 2, 2, 0.3};
    std::copy_n(first, 4, parameters.data());
  }
};

template <class Strategy>
std::vector<double> trained(Strategy const& strategy, std::size_t batch, Parallelism plan) {
  Measured const measured(21);
  auto const parameters = guess();
  auto model = compile(strategy, Decay(parameters, Adam{.learning_rate = 0.02}), plan);
  auto const history =
      fit(strategy, model, measured.data(batch), validation(measured.data(4)), {.epochs = 12, .verbose = false});
  std::vector<double> result(parameters.data(), parameters.data() + 4);
  BOOST_TEST(result == model.engine().weights().host_parameters(), boost::test_tools::per_element());
  for (auto const& name : {"loss", "val_loss"}) result.push_back(history[name].back());
  return result;
}

void check_same(std::vector<double> const& a, std::vector<double> const& b) {
  for (std::size_t i = 0; i < a.size(); ++i) BOOST_TEST(a[i] == b[i], boost::test_tools::tolerance(1e-12));
}

}  // namespace

BOOST_AUTO_TEST_CASE(its_gradient_is_that_of_its_loss) {
  OneDeviceStrategy<> const one;
  Measured const measured(21);
  auto const loss = [&](std::vector<double> const& p) {
    double sum = 0;
    for (std::size_t i = 0; i < 21; ++i) {
      double const y = p[0] * std::exp(-p[2] * measured.time[i]) + p[1] * std::exp(-p[3] * measured.time[i]);
      sum += (y - measured.activity[i]) * (y - measured.activity[i]);
    }
    return sum;
  };
  Decay const model(guess(), Adam{});
  std::vector<double> const p{2, 2, 2, 0.3};
  std::vector<double> gradient(4), totals(2);
  alignas(64) std::byte memory[1024];
  ThreadContext context;
  model.train(context, Slice<double, double>{measured.time.data(), measured.activity.data(), nullptr, 21}, {1.0},
              p.data(), gradient.data(), memory, totals.data(), {}, nullptr);
  BOOST_TEST(totals[0] == loss(p), boost::test_tools::tolerance(1e-13));
  for (std::size_t i = 0; i < 4; ++i) {
    auto above = p, below = p;
    above[i] += 1e-5, below[i] -= 1e-5;
    BOOST_TEST(gradient[i] == (loss(above) - loss(below)) / 2e-5, boost::test_tools::tolerance(1e-8));
  }
}

BOOST_AUTO_TEST_CASE(it_trains_on_ranks_as_on_one_device_in_the_memory_of_the_application) {
  for (std::size_t batch : {8u, 2u}) {
    auto const expected = trained(OneDeviceStrategy<>(), batch, Parallelism::intra_op);
    BOOST_TEST(expected[0] != 2.0);
    check_same(trained(ShardedStrategy<Space, 1>(world()), batch, Parallelism::intra_op), expected);
    check_same(trained(ShardedStrategy<Space, 2>(world()), batch, Parallelism::intra_op), expected);
    for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
      check_same(trained(MirroredStrategy<>(3), batch, plan), expected);
      for (Exchange exchange : {Exchange::automatic, Exchange::messages})
        check_same(trained(MultiWorkerMirroredStrategy<>(world(), {}, 0, exchange), batch, plan), expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(its_parameters_lie_in_shards) {
  Measured const measured(21);
  auto const fitted = [&](auto const& strategy) {
    auto model = compile(strategy, Homeless(guess(), Adam{.learning_rate = 0.02}), Parallelism::intra_op);
    auto const history =
        fit(strategy, model, measured.data(8), validation(measured.data(4)), {.epochs = 12, .verbose = false});
    auto result = model.engine().weights().host_parameters();
    for (auto const& name : {"loss", "val_loss"}) result.push_back(history[name].back());
    return result;
  };
  auto const expected = fitted(OneDeviceStrategy<>());
  BOOST_TEST(expected[0] != 2.0);
  check_same(fitted(ShardedStrategy<Space, 3>(world())), expected);
}

BOOST_AUTO_TEST_CASE(a_view_of_another_size_is_an_error_on_all_ranks) {
  MultiWorkerMirroredStrategy<> const strategy(world());
  struct Wrong : Decay {
    using Decay::Decay;
    Decay::View parameter_view() const { return Decay::View("too_small", 3); }
  };
  BOOST_CHECK_EXCEPTION(compile(strategy, Wrong(guess(), Adam{})), ShapeError, [](ShapeError const& error) {
    return std::string(error.what()).find("'too_small' holds 3 numbers, but the model has 4") != std::string::npos;
  });
}

BOOST_AUTO_TEST_CASE(own_parts_train_on_ranks_as_on_one_device) {
  Measured const measured(21);
  auto const train = [&](auto const& strategy, Parallelism plan, auto const& check) {
    auto model =
        compile<double>(strategy, Sequential{Input<1>{}, Dense<6, Elementwise<own::Mish>>{}, own::Shift{}, Dense<1>{}},
                        own::SignDescent{.learning_rate = 0.01},
                        ElementwiseLoss{[](auto p, auto t) { return log(1 + (p - t) * (p - t)); }}, own::Coverage{},
                        CompileOptions{.seed = 3, .parallelism = plan});
    auto const history = fit(strategy, model, measured.data(8), {.epochs = 8, .verbose = false});
    check(model, history);
  };
  train(OneDeviceStrategy<>(), Parallelism::samples, [&](auto const& reference, History const& expected) {
    for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
      train(MultiWorkerMirroredStrategy<>(world()), plan, [&](auto const& model, History const& history) {
        test::check_same_weights(model, reference, 1e-12);
        test::check_same_history(history, expected, 1e-12);
        test::check_equal_on_all(world(), model);
      });
  });
}
