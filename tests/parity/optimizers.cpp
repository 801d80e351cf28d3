// Every optimizer takes Keras's steps, in float and double. The configurations hold what differs from the defaults.
#define BOOST_TEST_MODULE parity_optimizers
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

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

namespace tr = trireme;
using namespace trireme::test;
using nlohmann::json;

namespace {

template <class T>
struct Variable {
  std::string steps_name;
  std::vector<T> weights, gradients;
  std::vector<std::vector<T>> slots;
  std::vector<T> steps;  // the weights after every step

  std::vector<T> gradient(std::size_t step) const {
    auto const size = static_cast<std::ptrdiff_t>(weights.size());
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

/// What the caller of a step does before it: a plain reference of Keras's three ways to clip.
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

/// One step of a variable by the rule.
template <class T, class Rule>
void step(Rule const& rule, std::vector<T>& weights, std::vector<T> const& gradient, std::vector<T*> const& slots) {
  if constexpr (tr::DeclaresTensorSums<Rule>) {
    std::array<double, Rule::tensor_sums> sums{};
    for (std::size_t i = 0; i < weights.size(); ++i)
      rule.add(i, weights.data(), gradient[i], slots.data(), sums.data());
    step(rule.of_tensor(sums.data()), weights, gradient, slots);
  } else {
    for (std::size_t i = 0; i < weights.size(); ++i) rule(i, weights.data(), gradient[i], slots.data());
  }
}

template <class T, class Optimizer>
void check(ReferenceCase const& c, Optimizer o) {
  json const& config = c.description.at("config");
  if (c.description.contains("schedule")) {
    json const& schedule = c.description["schedule"];
    o.learning_rate = schedule_of(schedule.at("class"), schedule.at("config")).value();
  } else {
    o.learning_rate = option(config, "learning_rate", o.learning_rate(0));
  }
  o.weight_decay = option(config, "weight_decay", o.weight_decay);
  o.clipnorm = option(config, "clipnorm", 0.0);
  o.global_clipnorm = option(config, "global_clipnorm", 0.0);
  o.clipvalue = option(config, "clipvalue", 0.0);

  std::vector<Variable<T>> variables;
  for (json const& v : c.description.at("variables")) {
    variables.push_back(
        {v.at("steps"), c.array<T>(v.at("start")).values, c.array<T>(v.at("gradients")).values, {}, {}});
    std::size_t const size = variables.back().weights.size();
    for (std::size_t s = 0; s < o.slots(); ++s) {
      BOOST_TEST(!o.slot_name(s).empty());
      variables.back().slots.emplace_back(size, static_cast<T>(o.initial(s)));
    }
  }
  std::size_t const steps = variables.at(0).gradients.size() / variables[0].weights.size();
  for (std::size_t done = 0; done < steps; ++done) {
    std::vector<std::vector<T>> gradients;
    for (auto const& v : variables) gradients.push_back(v.gradient(done));
    clip(o, gradients);
    auto const rule = o.template step<T>(done + 1, o.learning_rate(done));
    for (std::size_t k = 0; k < variables.size(); ++k) {
      Variable<T>& v = variables[k];
      std::vector<T*> slots;
      for (auto& slot : v.slots) slots.push_back(slot.data());
      step(rule, v.weights, gradients[k], slots);
      v.steps.insert(v.steps.end(), v.weights.begin(), v.weights.end());
    }
  }
  for (auto const& v : variables) c.compare<T>(v.steps_name, c.array<double>(v.steps_name).values, v.steps);
}

/// The option that the library does not have, if the case needs one.
std::string missing_option(ReferenceCase const& c) {
  if (c.class_name() == "LossScaleOptimizer") return c.class_name();
  json const& config = c.description.at("config");
  if (option(config, "use_ema", false)) return "use_ema";
  for (char const* key : {"gradient_accumulation_steps", "loss_scale_factor"}) {
    if (config.contains(key) && !config[key].is_null()) return key;
  }
  return c.description.contains("exclude_from_weight_decay") ? "exclude_from_weight_decay" : "";
}

/// False if the library has no such optimizer.
template <class T>
bool run(ReferenceCase const& c) {
  json const& config = c.description.at("config");
  std::string const name = c.class_name();
  auto const set = [&](auto& member, char const* key) { member = option(config, key, member); };
  if (name == "SGD") {
    tr::SGD o;
    set(o.momentum, "momentum");
    set(o.nesterov, "nesterov");
    check<T>(c, o);
  } else if (name == "RMSprop") {
    tr::RMSprop o;
    set(o.rho, "rho");
    set(o.momentum, "momentum");
    set(o.epsilon, "epsilon");
    set(o.centered, "centered");
    check<T>(c, o);
  } else if (name == "Adagrad") {
    tr::Adagrad o;
    set(o.initial_accumulator_value, "initial_accumulator_value");
    set(o.epsilon, "epsilon");
    check<T>(c, o);
  } else if (name == "Adadelta") {
    tr::Adadelta o;
    set(o.rho, "rho");
    set(o.epsilon, "epsilon");
    check<T>(c, o);
  } else if (name == "Lion") {
    tr::Lion o;
    set(o.beta_1, "beta_1");
    set(o.beta_2, "beta_2");
    check<T>(c, o);
  } else if (name == "Ftrl") {
    tr::Ftrl o;
    set(o.learning_rate_power, "learning_rate_power");
    set(o.initial_accumulator_value, "initial_accumulator_value");
    set(o.l1_regularization_strength, "l1_regularization_strength");
    set(o.l2_regularization_strength, "l2_regularization_strength");
    set(o.l2_shrinkage_regularization_strength, "l2_shrinkage_regularization_strength");
    set(o.beta, "beta");
    check<T>(c, o);
  } else {
    auto const adam = [&](auto o) {
      set(o.beta_1, "beta_1");
      set(o.beta_2, "beta_2");
      set(o.epsilon, "epsilon");
      if constexpr (requires { o.amsgrad; }) set(o.amsgrad, "amsgrad");
      check<T>(c, o);
    };
    if (name == "Adam") {
      adam(tr::Adam{});
    } else if (name == "AdamW") {
      adam(tr::AdamW{});
    } else if (name == "Adamax") {
      adam(tr::Adamax{});
    } else if (name == "Nadam") {
      adam(tr::Nadam{});
    } else if (name == "Lamb") {
      adam(tr::Lamb{});
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

BOOST_AUTO_TEST_CASE(optimizers_take_keras_steps) {
  Tally tally({"Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Lion", "Nadam", "RMSprop", "SGD"});
  for (ReferenceCase const& c : reference_cases("optimizers")) {
    std::string const option = missing_option(c);
    if (!option.empty()) {
      tally.missing(c, option);
    } else if (run<double>(c) && run<float>(c)) {
      tally.ran(c);
    } else {
      tally.missing(c, c.class_name());
    }
  }
  tally.check();
}
