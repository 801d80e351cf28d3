/// The losses as metrics, under Keras's names: `metrics::MeanAbsoluteError`. Metrics that are no losses, such as
/// `Accuracy`, have their names in both namespaces.
#pragma once

#include <cmath>
#include <cstddef>

#include <Kokkos_Macros.hpp>

#include "trireme/core/fixed_string.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/categorical_crossentropy.hpp"
#include "trireme/losses/categorical_hinge.hpp"
#include "trireme/losses/cosine_similarity.hpp"
#include "trireme/losses/hinge.hpp"
#include "trireme/losses/huber.hpp"
#include "trireme/losses/kl_divergence.hpp"
#include "trireme/losses/log_cosh.hpp"
#include "trireme/losses/mean_absolute_error.hpp"
#include "trireme/losses/mean_absolute_percentage_error.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/mean_squared_logarithmic_error.hpp"
#include "trireme/losses/poisson.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/losses/squared_hinge.hpp"
#include "trireme/metrics/mean_of.hpp"

namespace trireme::metrics {

namespace detail {
struct LogCoshName {
  static constexpr FixedString name = "logcosh";
};
}  // namespace detail

/// A loss as a metric, under Keras's name: the mean over all positions, in the unit of the loss of that name.
///
/// Prediction and target (rows, …, outputs), as the loss takes them; SparseCategoricalCrossentropy has class indices
/// (rows, …). The name in the logs is the loss's, and "logcosh" for LogCoshError. Options are those of the loss:
/// `{.loss = {…}}`. Lower is better, except that KLDivergence and Poisson declare no direction, as in Keras.
using MeanSquaredError = MeanOf<trireme::MeanSquaredError>;
using MeanAbsoluteError = MeanOf<trireme::MeanAbsoluteError>;
using MeanAbsolutePercentageError = MeanOf<trireme::MeanAbsolutePercentageError>;
using MeanSquaredLogarithmicError = MeanOf<trireme::MeanSquaredLogarithmicError>;
using LogCoshError = MeanOf<trireme::LogCosh, detail::LogCoshName>;
using Huber = MeanOf<trireme::Huber>;
using BinaryCrossentropy = MeanOf<trireme::BinaryCrossentropy>;
using CategoricalCrossentropy = MeanOf<trireme::CategoricalCrossentropy>;
using SparseCategoricalCrossentropy = MeanOf<trireme::SparseCategoricalCrossentropy>;
using Hinge = MeanOf<trireme::Hinge>;
using SquaredHinge = MeanOf<trireme::SquaredHinge>;
using CategoricalHinge = MeanOf<trireme::CategoricalHinge>;
using KLDivergence = MeanOf<trireme::KLDivergence, trireme::KLDivergence, Direction::none>;  // as in Keras
using Poisson = MeanOf<trireme::Poisson, trireme::Poisson, Direction::none>;

/// Root mean squared error: sqrt of the mean of (p - y)^2 over all positions and their outputs.
///
/// Prediction p and target y (rows, …, outputs); the value is in the unit of the target. The root is taken once, of the
/// mean over all batches and processes. The definition is that of Keras's RootMeanSquaredError.
struct RootMeanSquaredError : MeanSquaredError {
  static constexpr FixedString name = "root_mean_squared_error";

  double result(double const* state) const { return std::sqrt(MeanSquaredError::result(state)); }
};

/// Cosine similarity: the mean over all positions of (p · y) / (norm(p) norm(y)), in [-1, 1].
///
/// Prediction p and target y (rows, …, outputs), vectors along the last axis. Higher is better, while the loss is minus
/// the cosine. The definition is that of Keras's CosineSimilarity.
struct CosineSimilarity : MeanOf<trireme::CosineSimilarity, trireme::CosineSimilarity, Direction::up> {
  double result(double const* state) const { return -MeanOf::result(state); }
};

}  // namespace trireme::metrics
