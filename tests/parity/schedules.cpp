// Every schedule gives Keras's learning rates.
#define BOOST_TEST_MODULE parity_schedules
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <vector>

#include "parity/reference.hpp"
#include "parity/schedule_of.hpp"

using namespace trireme::test;

BOOST_AUTO_TEST_CASE(schedules_have_keras_values) {
  Tally tally({"CosineDecay", "CosineDecayRestarts", "ExponentialDecay", "InverseTimeDecay", "PiecewiseConstantDecay",
               "PolynomialDecay"});
  for (ReferenceCase const& c : reference_cases("schedules")) {
    auto const rate = schedule_of(c.class_name(), c.description.at("config"));
    if (!rate) {
      tally.missing(c, c.class_name());
      continue;
    }
    std::vector<double> got;
    for (std::int32_t const step : c.array<std::int32_t>("steps").values)
      got.push_back((*rate)(static_cast<std::uint64_t>(step)));
    c.compare<double>("values", c.array<double>("values").values, got);
    tally.ran(c);
  }
  tally.check();
}
