/// Compile-time checks that the values that callbacks monitor will be logged.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace trireme {

namespace detail {

template <class Callback>
constexpr bool adds_log(std::string_view name) {
  if constexpr (requires { Callback::logs.begin(); })
    return std::find(Callback::logs.begin(), Callback::logs.end(), name) != Callback::logs.end();
  else
    return false;
}

/// True if an epoch will log `name`: the loss or a metric, with val_ only if there is validation data, or a value that
/// one of the callbacks declares.
template <class Model, bool Validates, class... Callbacks>
constexpr bool will_be_logged(std::string_view name) {
  constexpr std::string_view prefix = "val_";
  auto const& metrics = Model::log_names;
  bool const of_validation = Validates && name.substr(0, prefix.size()) == prefix;
  std::string_view const metric = of_validation ? name.substr(prefix.size()) : name;
  return std::find(metrics.begin(), metrics.end(), metric) != metrics.end() ||
         (false || ... || adds_log<std::remove_cvref_t<Callbacks>>(name));
}

}  // namespace detail

/// Compile-time check that the monitored value of a callback will be logged.
template <class Callback, class Model, bool Validates, class... Callbacks>
consteval bool require_monitor() {
  using C = std::remove_cvref_t<Callback>;
  if constexpr (requires { C::monitor; })
    static_assert(detail::will_be_logged<Model, Validates, Callbacks...>(C::monitor),
                  "trireme: a callback monitors a value that is neither the loss nor a metric of the model, nor (with "
                  "validation data) one of these after val_, nor declared in `logs` by a callback");
  return true;
}

/// Names of all values that an epoch will log.
template <class Model, bool Validates, class... Callbacks>
std::vector<std::string> log_names() {
  std::vector<std::string> names;
  for (std::string_view name : Model::log_names) names.push_back(std::string(name));
  if constexpr (Validates)
    for (std::string_view name : Model::log_names) names.push_back("val_" + std::string(name));
  [[maybe_unused]] auto const add = [&]<class C>(std::type_identity<C>) {
    if constexpr (requires { C::logs.begin(); })
      for (std::string_view name : C::logs) names.push_back(std::string(name));
  };
  (add(std::type_identity<Callbacks>{}), ...);
  return names;
}

}  // namespace trireme
