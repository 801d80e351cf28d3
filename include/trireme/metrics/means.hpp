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

/// A loss as a metric: the mean over all samples, under Keras's name.
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

/// The root of the mean squared error over all of the data.
struct RootMeanSquaredError : MeanSquaredError {
  static constexpr FixedString name = "root_mean_squared_error";

  double result(double const* state) const { return std::sqrt(MeanSquaredError::result(state)); }
};

/// The cosine itself, while the loss is minus the cosine.
struct CosineSimilarity : MeanOf<trireme::CosineSimilarity, trireme::CosineSimilarity, Direction::up> {
  double result(double const* state) const { return -MeanOf::result(state); }
};

}  // namespace trireme::metrics
