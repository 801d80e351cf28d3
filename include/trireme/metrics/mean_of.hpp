/// MeanOf: a loss as a metric, the weighted mean of its values.
#pragma once

#include <cstddef>
#include <type_traits>

#include <Kokkos_Macros.hpp>

#include "trireme/core/config.hpp"
#include "trireme/core/fixed_string.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/mean_state.hpp"

namespace trireme::metrics {

/// A loss as a metric: the mean of its values over all positions, in the loss's unit.
///
/// Prediction and target as the loss takes them: (rows, …, outputs), or class indices (rows, …). The prediction is the
/// model's output, after its last activation. Positions that the loss leaves out do not count. `Improves` is the
/// direction in which a monitor sees progress. With a target of another kind than the model's loss it does not compile:
/// "this metric takes another kind of target than the model's loss".
/// \tparam Loss a loss over one position; its options are given as `MeanOf<Loss>{.loss = {…}}`.
/// \tparam Named a class whose `name` is that in the logs: no string, since nvcc cannot compile kernels of types that
/// have one among their arguments.
/// \throws ValueError from compile, if an option of the loss is outside of its range.
template <class Loss, class Named = Loss, Direction Improves = Direction::down>
struct MeanOf {
  static constexpr FixedString name = Named::name;
  static constexpr Direction direction = Improves;
  static constexpr std::size_t state_size = MeanState::size;

  Loss loss{};

  void config(Config& c) const { c("loss", loss); }

  template <class Target, class OutputExtents>
  static constexpr bool fits = std::is_same_v<Target, typename Loss::target>;

  template <class Target, class OutputExtents>
  static consteval bool require_fit() {
    static_assert(fits<Target, OutputExtents>,
                  "trireme: this metric takes another kind of target than the model's loss: class indices and a "
                  "target for each output do not go together");
    if constexpr (requires { Loss::template require_fit<OutputExtents>(); })
      return Loss::template require_fit<OutputExtents>();
    return true;
  }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* target, std::size_t size, double weight,
                              double* state) const {
    if constexpr (requires { loss.counts(target); }) {
      if (!loss.counts(target)) return;
    }
    T const value = loss(prediction, target, size, T(0), static_cast<T*>(nullptr));
    MeanState::add(static_cast<double>(value), 1, weight, state);
  }

  double result(double const* state) const { return MeanState::mean(state); }
};

}  // namespace trireme::metrics
