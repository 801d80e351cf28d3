/// A model of physics, not of layers: the activity of a sample in which several substances decay,
///     y(t) = sum over k of a_k exp(-r_k t),
/// with amplitudes a and rates r that lie in a View of the application's.
#pragma once

#include <cstddef>

#include <trireme/trireme.hpp>

namespace decay {

namespace tr = trireme;

/// p: amplitudes, then rates.
struct Activity {
  std::size_t substances;
  double const* p;
  double const* t;
  double* y;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    y[i] = 0;
    for (std::size_t k = 0; k < substances; ++k) y[i] += p[k] * Kokkos::exp(-p[substances + k] * t[i]);
  }
};

/// One parameter's gradient a call, so that no two threads write to one place.
struct ActivityGradient {
  std::size_t substances, rows;
  double const* p;
  double const* t;
  double const* dy;
  double* gradient;
  KOKKOS_FUNCTION void operator()(std::size_t j) const {
    bool const rate = j >= substances;
    std::size_t const k = rate ? j - substances : j;
    gradient[j] = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      double const decayed = Kokkos::exp(-p[substances + k] * t[i]);
      gradient[j] += dy[i] * (rate ? -p[k] * t[i] * decayed : decayed);
    }
  }
};

template <class Space>
class Model : public tr::OwnModel<double, tr::Adam, tr::MeanSquaredError> {
 public:
  using View = Kokkos::View<double*, typename Space::memory_space>;

  Model(View parameters, tr::Adam optimizer)
      : OwnModel({.name = "decay",
                  .parameters = {{"amplitudes", parameters.extent(0) / 2}, {"rates", parameters.extent(0) / 2}}},
                 optimizer, tr::MeanSquaredError{}),
        parameters_(parameters) {}

  View parameter_view() const { return parameters_; }

  template <class Context>
  std::size_t workspace_bytes(std::size_t rows) const {
    return 2 * tr::aligned_bytes(rows * sizeof(double));
  }

  template <class Context>
  void train(Context& context, tr::Slice<double, double> const& slice, tr::PerOutput<1> const& scales, double const* p,
             double* gradient, std::byte* memory, double* totals, tr::StepKeys const&,
             tr::GradientSink<double>*) const {
    tr::Workspace workspace(memory);
    auto* const y = workspace.take<double>(slice.rows);
    auto* const dy = workspace.take<double>(slice.rows);
    predict(context, slice.rows, slice.x.block(), y, p, memory);
    score(context, slice, y, scales, dy, totals);
    context.for_rows("decay::gradient", parameters_.extent(0),
                     ActivityGradient{parameters_.extent(0) / 2, slice.rows, p, slice.x.block(), dy, gradient});
  }

  template <class Context>
  void test(Context& context, tr::Slice<double, double> const& slice, double const* p, std::byte* memory,
            double* totals) const {
    auto* const y = tr::Workspace(memory).take<double>(slice.rows);
    predict(context, slice.rows, slice.x.block(), y, p, memory);
    score(context, slice, y, {}, nullptr, totals);
  }

  template <class Context>
  void predict(Context& context, std::size_t rows, double const* t, double* y, double const* p, std::byte*) const {
    context.for_rows("decay::activity", rows, Activity{parameters_.extent(0) / 2, p, t, y});
  }

 private:
  View parameters_;
};

}  // namespace decay
