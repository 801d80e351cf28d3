/// PhaseTotals: the calls that are summing a model's loss and metrics.
#pragma once

#include <array>
#include <cstddef>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// Held by a compiled model, whose engine has one set of totals a phase. A call within a hook that sums into the set of
/// the call around it would reset that, and leave its own samples in it.
class PhaseTotals {
 public:
  /// Throws unless no call is summing the phase's totals. For collective calls, of which all processes make the same.
  /// \throws ValueError
  void require_free(Phase phase, char const* call) const {
    if (char const* const around = calls_[static_cast<std::size_t>(phase)])
      raise_uniform(ValueError(formatted(
          "'{}' was called within '{}' of the same model, whose loss and metrics it would change; call it in a hook "
          "after the last batch, such as on_epoch_end or on_test_end, or for another model",
          call, around)));
  }

  /// Until it ends, the call sums the phase's totals.
  class Scope {
   public:
    /// Begins in `call`, whose name lasts.
    Scope(PhaseTotals& totals, Phase phase, char const* call)
        : call_(totals.calls_[static_cast<std::size_t>(phase)]), around_(std::exchange(call_, call)) {}
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;
    ~Scope() { end(); }
    /// Ends before the scope does: the totals are complete.
    void end() { call_ = around_; }

   private:
    char const*& call_;
    char const* around_;
  };

 private:
  std::array<char const*, 2> calls_{};  ///< by phase; null: none
};

}  // namespace trireme
