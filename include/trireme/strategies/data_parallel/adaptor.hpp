/// What strategies around another strategy have in common.
#pragma once

#include <concepts>

#include "trireme/core/config.hpp"

namespace trireme {

/// Base of adaptors: it owns the strategy, and its processes are the strategy's.
template <class Strategy>
class Adaptor {
 public:
  using Space = typename Strategy::Space;

  /// Takes what the strategy itself is made from. Collective as that is.
  template <class... Arguments>
  requires std::constructible_from<Strategy, Arguments const&...>
  explicit Adaptor(Arguments const&... arguments) : strategy_(arguments...) {}

  Strategy const& strategy() const { return strategy_; }
  void config(Config& c) const { c("strategy", strategy_); }
  decltype(auto) group() const { return strategy_.group(); }
  decltype(auto) communicator() const requires requires(Strategy const& s) { s.communicator(); }
  { return strategy_.communicator(); }

 protected:
  Strategy strategy_;
};

}  // namespace trireme
