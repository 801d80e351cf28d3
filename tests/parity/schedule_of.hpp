/// The schedule that a configuration of Keras describes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "parity/reference.hpp"
#include "trireme/schedules/cosine_decay.hpp"
#include "trireme/schedules/cosine_decay_restarts.hpp"
#include "trireme/schedules/exponential_decay.hpp"
#include "trireme/schedules/inverse_time_decay.hpp"
#include "trireme/schedules/piecewise_constant_decay.hpp"
#include "trireme/schedules/polynomial_decay.hpp"
#include "trireme/schedules/rate.hpp"

namespace trireme::test {

/// Nothing if the library has no such schedule.
inline std::optional<Rate> schedule_of(std::string const& name, nlohmann::json const& config) {
  auto const number = [&](char const* key, double otherwise) { return option(config, key, otherwise); };
  if (name == "PiecewiseConstantDecay") {
    return PiecewiseConstantDecay(config.at("boundaries").get<std::vector<std::uint64_t>>(),
                                  config.at("values").get<std::vector<double>>());
  }
  double const initial = config.at("initial_learning_rate");
  if (name == "CosineDecayRestarts") {
    CosineDecayRestarts schedule{.initial_learning_rate = initial, .first_decay_steps = config.at("first_decay_steps")};
    schedule.t_mul = number("t_mul", schedule.t_mul);
    schedule.m_mul = number("m_mul", schedule.m_mul);
    schedule.alpha = number("alpha", schedule.alpha);
    return schedule;
  }
  double const steps = config.at("decay_steps");
  bool const staircase = option(config, "staircase", false);
  if (name == "CosineDecay") {
    CosineDecay schedule{.initial_learning_rate = initial, .decay_steps = steps};
    schedule.alpha = number("alpha", schedule.alpha);
    if (config.contains("warmup_target") && !config["warmup_target"].is_null())
      schedule.warmup_target = config["warmup_target"].get<double>();
    schedule.warmup_steps = number("warmup_steps", schedule.warmup_steps);
    return schedule;
  }
  if (name == "ExponentialDecay") return ExponentialDecay{initial, steps, config.at("decay_rate"), staircase};
  if (name == "InverseTimeDecay") return InverseTimeDecay{initial, steps, config.at("decay_rate"), staircase};
  if (name == "PolynomialDecay") {
    PolynomialDecay schedule{.initial_learning_rate = initial, .decay_steps = steps};
    schedule.end_learning_rate = number("end_learning_rate", schedule.end_learning_rate);
    schedule.power = number("power", schedule.power);
    schedule.cycle = option(config, "cycle", false);
    return schedule;
  }
  return std::nullopt;
}

}  // namespace trireme::test
