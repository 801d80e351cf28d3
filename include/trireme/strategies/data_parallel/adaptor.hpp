/// Adaptor: the base of strategies around another strategy.
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "trireme/core/config.hpp"

namespace trireme {

/// True if a strategy builds engines of another type than its own (`build_as`), for adaptors around it.
template <class Strategy>
inline constexpr bool builds_engines = requires { requires Strategy::builds_engines; };

/// True if a strategy's engines are several, of the devices of one process, which step together.
template <class Strategy>
inline constexpr bool joins_devices = requires { requires Strategy::joins_devices; };

namespace detail {

/// An engine with `Adapt` around it, or around those of its devices.
template <class Engine, template <class> class Adapt>
struct AdaptedEngine {
  using type = Adapt<Engine>;
};
template <class Engine, template <class> class Adapt>
  requires requires { typename Engine::template Adapted<Adapt>; }
struct AdaptedEngine<Engine, Adapt> {
  using type = typename Engine::template Adapted<Adapt>;
};

/// True if an engine, or that of each device, brings its processes together by a Synchronization.
template <class Engine>
inline constexpr bool has_synchronization = requires { typename Engine::Synchronization; };
template <class Engine>
  requires requires { typename Engine::DeviceEngine; }
inline constexpr bool has_synchronization<Engine> = has_synchronization<typename Engine::DeviceEngine>;

/// The strategy that builds engines of any type: `strategy` itself, or the one that it adapts.
template <class Strategy>
decltype(auto) building_strategy(Strategy const& strategy) {
  if constexpr (!builds_engines<Strategy> && requires { strategy.strategy(); })
    return building_strategy(strategy.strategy());
  else
    return (strategy);
}
template <class Strategy>
using BuildingStrategy = std::remove_cvref_t<decltype(building_strategy(std::declval<Strategy const&>()))>;

}  // namespace detail

/// Base of adaptors: it owns the strategy, and its processes are the strategy's.
template <class Strategy>
class Adaptor {
 public:
  using Space = typename Strategy::Space;

  /// Takes the arguments of the strategy's constructor. Collective if that is.
  template <class... Arguments>
    requires std::constructible_from<Strategy, Arguments const&...>
  explicit Adaptor(Arguments const&... arguments) : strategy_(arguments...) {}

  /// Strategy that is adapted.
  Strategy const& strategy() const { return strategy_; }
  void config(Config& c) const { c("strategy", strategy_); }
  decltype(auto) group() const { return strategy_.group(); }
  /// Communicator of the strategy, if it has one.
  decltype(auto) communicator() const
    requires requires(Strategy const& s) { s.communicator(); }
  {
    return strategy_.communicator();
  }

 private:
  Strategy strategy_;
};

}  // namespace trireme
