/// Trains the same problem under two strategies and compares all that comes out.
#pragma once

#include <cstddef>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "pjrt/plugin.hpp"
#include "support/small_training.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"

namespace trireme::test {

/// How far float may be apart after 50 steps whose sums are in another order and whose functions round differently.
constexpr double program_tolerance = 1e-5;

struct Outcome {
  History history;
  Logs logs;
  xt::xarray<float> prediction;
};

/// fit with validation, evaluate and predict; `make(strategy)` compiles the model, which is returned.
template <class Strategy, class Make, class Train, class Tests>
auto run(Strategy const& strategy, Make const& make, Train const& train, Tests const& tests, std::size_t epochs) {
  auto model = make(strategy);
  Outcome outcome;
  outcome.history = fit(strategy, model, train, validation(tests), {.epochs = epochs, .verbose = false});
  outcome.logs = evaluate(strategy, model, tests);
  outcome.prediction = predict(strategy, model, tests);
  return std::pair(std::move(model), std::move(outcome));
}

template <class Run, class Reference>
void check_same_run(Run const& run, Reference const& reference, double limit = program_tolerance) {
  check_same_weights(run.first, reference.first, limit);
  check_same_history(run.second.history, reference.second.history, limit);
  check_same_logs(run.second.logs, reference.second.logs, limit);
  BOOST_TEST(distance(run.second.prediction, reference.second.prediction) <= limit);
}

}  // namespace trireme::test
