/// Optimizers by the configuration of a reference case, in one execution context.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "parity/context_memory.hpp"
#include "parity/reference.hpp"
#include "parity/schedule_of.hpp"
#include "trireme/optimizers/adadelta.hpp"
#include "trireme/optimizers/adagrad.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/adamax.hpp"
#include "trireme/optimizers/adamw.hpp"
#include "trireme/optimizers/ftrl.hpp"
#include "trireme/optimizers/lamb.hpp"
#include "trireme/optimizers/lion.hpp"
#include "trireme/optimizers/nadam.hpp"
#include "trireme/optimizers/optimizer.hpp"
#include "trireme/optimizers/rmsprop.hpp"
#include "trireme/optimizers/sgd.hpp"

namespace trireme::test {

template <class Context, class T>
struct Variable {
  std::string steps_name;
  ContextView<Context, T> weights;
  std::vector<T> gradients;
  std::vector<ContextView<Context, T>> slots;
  std::vector<T> steps;  // the weights after every step

  std::vector<T> gradient(std::size_t step) const {
    auto const size = static_cast<std::ptrdiff_t>(weights.extent(0));
    auto const first = gradients.begin() + static_cast<std::ptrdiff_t>(step) * size;
    return {first, first + size};
  }
};

template <class T>
double squares(std::vector<T> const& values) {
  double sum = 0;
  for (T const value : values) sum += static_cast<double>(value) * static_cast<double>(value);
  return sum;
}

template <class T>
void scale_down(std::vector<T>& gradient, double limit, double norm) {
  for (T& g : gradient) g = static_cast<T>(static_cast<double>(g) * limit / std::max(norm, limit));
}

/// A plain reference of Keras's three ways to clip, before a step.
template <class T, class Optimizer>
void clip(Optimizer const& o, std::vector<std::vector<T>>& gradients) {
  double all = 0;
  for (auto const& gradient : gradients) all += squares(gradient);
  for (auto& gradient : gradients) {
    if (o.clipnorm > 0) scale_down(gradient, o.clipnorm, std::sqrt(squares(gradient)));
    if (o.global_clipnorm > 0) scale_down(gradient, o.global_clipnorm, std::sqrt(all));
    if (o.clipvalue > 0) {
      for (T& g : gradient) g = std::clamp(g, static_cast<T>(-o.clipvalue), static_cast<T>(o.clipvalue));
    }
  }
}

inline constexpr std::size_t most_slots = 4;

/// The rule for one element.
template <class T, class Rule>
struct StepAt {
  Rule rule;
  T* weights;
  T const* gradient;
  T* slots[most_slots];
  KOKKOS_FUNCTION void operator()(std::size_t i) const { rule(i, weights, gradient[i], slots); }
};
/// Sums over a tensor that the rule asks for.
template <class T, class Rule>
struct SumAt {
  static constexpr std::size_t width = Rule::tensor_sums;
  StepAt<T, Rule> step;
  KOKKOS_FUNCTION void operator()(std::size_t i, double* sums) const {
    step.rule.add(i, step.weights, step.gradient[i], step.slots, sums);
  }
};

/// One step of a variable of n elements by the rule.
template <class Context, class T, class Rule>
void step_of(Context& context, std::size_t n, StepAt<T, Rule> const& step) {
  if constexpr (DeclaresTensorSums<Rule>) {
    auto const sums = in_memory_of<Context>(std::vector<double>(Rule::tensor_sums));
    context.accumulate("trireme::tensor_sums_of_a_case", n, SumAt<T, Rule>{step}, sums.data());
    auto const rule = step.rule.of_tensor(to_host(sums).data());
    StepAt<T, std::remove_const_t<decltype(rule)>> next{rule, step.weights, step.gradient, {}};
    std::copy_n(step.slots, most_slots, next.slots);
    step_of(context, n, next);
  } else {
    context.for_rows("trireme::step_of_a_case", n, step);
  }
}

template <class Context, class T, class Optimizer>
void check_steps(ReferenceCase const& c, Optimizer const& o) {
  std::vector<Variable<Context, T>> variables;
  Context context;
  for (nlohmann::json const& v : c.description.at("variables")) {
    variables.push_back({v.at("steps"),
                         in_memory_of<Context>(c.array<T>(v.at("start")).values),
                         c.array<T>(v.at("gradients")).values,
                         {},
                         {}});
    std::size_t const size = variables.back().weights.extent(0);
    for (std::size_t s = 0; s < o.slots(); ++s) {
      BOOST_TEST(!o.slot_name(s).empty());
      variables.back().slots.push_back(in_memory_of<Context>(std::vector<T>(size, static_cast<T>(o.initial(s)))));
    }
  }
  std::size_t const steps = variables.at(0).gradients.size() / variables[0].weights.extent(0);
  for (std::size_t done = 0; done < steps; ++done) {
    std::vector<std::vector<T>> gradients;
    for (auto const& v : variables) gradients.push_back(v.gradient(done));
    clip(o, gradients);
    auto const rule = o.template step<T>(done + 1, o.learning_rate(done));
    for (std::size_t k = 0; k < variables.size(); ++k) {
      Variable<Context, T>& v = variables[k];
      auto const gradient = in_memory_of<Context>(gradients[k]);
      StepAt<T, std::remove_const_t<decltype(rule)>> kernel{rule, v.weights.data(), gradient.data(), {}};
      for (std::size_t s = 0; s < v.slots.size(); ++s) kernel.slots[s] = v.slots[s].data();
      step_of(context, v.weights.extent(0), kernel);
      auto const weights = to_host(v.weights);
      v.steps.insert(v.steps.end(), weights.begin(), weights.end());
    }
  }
  for (auto const& v : variables) c.compare<T>(v.steps_name, c.array<double>(v.steps_name).values, v.steps);
}

template <class Context, class T, class Optimizer>
void check_optimizer(ReferenceCase const& c, Optimizer o) {
  nlohmann::json const& config = c.description.at("config");
  if (c.description.contains("schedule")) {
    nlohmann::json const& schedule = c.description["schedule"];
    o.learning_rate = schedule_of(schedule.at("class"), schedule.at("config")).value();
  } else {
    o.learning_rate = option(config, "learning_rate", o.learning_rate(0));
  }
  o.weight_decay = option(config, "weight_decay", o.weight_decay);
  o.clipnorm = option(config, "clipnorm", 0.0);
  o.global_clipnorm = option(config, "global_clipnorm", 0.0);
  o.clipvalue = option(config, "clipvalue", 0.0);
  if constexpr (RunsPrograms<Context>)
    Context::template check_steps<T>(c, o);
  else
    check_steps<Context, T>(c, o);
}

/// The option that the library does not have, if the case needs one.
inline std::string missing_option(ReferenceCase const& c) {
  if (c.class_name() == "LossScaleOptimizer") return c.class_name();
  nlohmann::json const& config = c.description.at("config");
  if (option(config, "use_ema", false)) return "use_ema";
  for (char const* key : {"gradient_accumulation_steps", "loss_scale_factor"}) {
    if (config.contains(key) && !config[key].is_null()) return key;
  }
  return c.description.contains("exclude_from_weight_decay") ? "exclude_from_weight_decay" : "";
}

/// False if the library has no such optimizer.
template <class Context, class T>
bool run_optimizer(ReferenceCase const& c) {
  nlohmann::json const& config = c.description.at("config");
  std::string const name = c.class_name();
  auto const set = [&](auto& member, char const* key) { member = option(config, key, member); };
  if (name == "SGD") {
    SGD o;
    set(o.momentum, "momentum");
    set(o.nesterov, "nesterov");
    check_optimizer<Context, T>(c, o);
  } else if (name == "RMSprop") {
    RMSprop o;
    set(o.rho, "rho");
    set(o.momentum, "momentum");
    set(o.epsilon, "epsilon");
    set(o.centered, "centered");
    check_optimizer<Context, T>(c, o);
  } else if (name == "Adagrad") {
    Adagrad o;
    set(o.initial_accumulator_value, "initial_accumulator_value");
    set(o.epsilon, "epsilon");
    check_optimizer<Context, T>(c, o);
  } else if (name == "Adadelta") {
    Adadelta o;
    set(o.rho, "rho");
    set(o.epsilon, "epsilon");
    check_optimizer<Context, T>(c, o);
  } else if (name == "Lion") {
    Lion o;
    set(o.beta_1, "beta_1");
    set(o.beta_2, "beta_2");
    check_optimizer<Context, T>(c, o);
  } else if (name == "Ftrl") {
    Ftrl o;
    set(o.learning_rate_power, "learning_rate_power");
    set(o.initial_accumulator_value, "initial_accumulator_value");
    set(o.l1_regularization_strength, "l1_regularization_strength");
    set(o.l2_regularization_strength, "l2_regularization_strength");
    set(o.l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength");
    set(o.beta, "beta");
    check_optimizer<Context, T>(c, o);
  } else {
    auto const adam = [&](auto o) {
      set(o.beta_1, "beta_1");
      set(o.beta_2, "beta_2");
      set(o.epsilon, "epsilon");
      if constexpr (requires { o.amsgrad; }) set(o.amsgrad, "amsgrad");
      check_optimizer<Context, T>(c, o);
    };
    if (name == "Adam") {
      adam(Adam{});
    } else if (name == "AdamW") {
      adam(AdamW{});
    } else if (name == "Adamax") {
      adam(Adamax{});
    } else if (name == "Nadam") {
      adam(Nadam{});
    } else if (name == "Lamb") {
      adam(Lamb{});
    } else {
      return false;
    }
  }
  return true;
}

template <class Context>
void check_optimizers() {
  Tally tally({"Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Lion", "Nadam", "RMSprop", "SGD"});
  for (ReferenceCase const& c : reference_cases("optimizers")) {
    std::string const option = missing_option(c);
    if (!option.empty()) {
      tally.missing(c, option);
    } else if (run_optimizer<Context, double>(c) && run_optimizer<Context, float>(c)) {
      tally.ran(c);
    } else {
      tally.missing(c, c.class_name());
    }
  }
  tally.check();
}

}  // namespace trireme::test
