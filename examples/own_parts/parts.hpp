/// A layer, a loss, a metric, an optimizer and a callback of the user's own: structs with the members that are asked
/// for, no base class, no registration.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <trireme/trireme.hpp>

namespace own {

namespace tr = trireme;

/// y = x + shift, with a trained shift for each feature.
struct Shift {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class In>
  constexpr auto parameters(In const& in) const {
    return std::array{tr::ParameterShape{"shift", {in.back()}}};
  }
  tr::Initializer initializer(std::size_t) const { return tr::Zeros{}; }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, tr::Forward<T> const& f) const {
    tr::kernels::copy(context, f.rows * in.size(), f.x, f.y);
    context.for_each("shift", f.rows * in.size() / in.back(), in.back(),
                     tr::kernels::AddBias<T>{f.parameters[0], f.y, in.back()});
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, tr::Backward<T> const& b) const {
    b.gradients[0].column_sums(context, "shift_gradient", b.rows * in.size() / in.back(), b.dy);
    if (b.dx) tr::kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

/// Being too low costs `quantile`, being too high the rest: the prediction becomes that quantile.
struct Pinball {
  static constexpr tr::FixedString name = "pinball";
  using target = tr::DenseTarget;
  double quantile = 0.9;

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t n, T scale, T* gradient) const {
    T const q = static_cast<T>(quantile), share = T(1) / static_cast<T>(n);
    T sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      T const error = truth[i] - prediction[i], slope = error > 0 ? q : q - 1;
      sum += slope * error;
      if (gradient) gradient[i] = -scale * share * slope;
    }
    return sum * share;
  }
};

/// Share of the targets that lie below the prediction: sums and counts, which ranks add up.
struct Coverage {
  static constexpr tr::FixedString name = "coverage";
  static constexpr tr::Direction direction = tr::Direction::up;
  static constexpr std::size_t state_size = 2;

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* truth, std::size_t n, double, double* state) const {
    for (std::size_t i = 0; i < n; ++i) state[0] += truth[i] <= prediction[i] ? 1 : 0;
    state[1] += static_cast<double>(n);
  }
  double result(double const* state) const { return state[1] > 0 ? state[0] / state[1] : 0; }
};

/// Steps of one size against the sign of the gradient.
struct SignDescent {
  static constexpr tr::FixedString name = "sign_descent";
  tr::Rate learning_rate = 1e-3;

  constexpr std::size_t slots() const { return 0; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t) const { return ""; }

  template <class T>
  struct Step {
    T rate;
    KOKKOS_FUNCTION void operator()(std::size_t i, T* w, T gradient, T* const*) const {
      w[i] -= gradient > 0 ? rate : (gradient < 0 ? -rate : gradient);  // a NaN stays one
    }
  };
  template <class T>
  Step<T> step(std::uint64_t, double rate) const {
    return {static_cast<T>(rate)};
  }
};

/// Ends training when the loss is good enough. The loss is the same on every process, and so is the decision.
struct GoodEnough {
  double loss = 0.1;

  template <class Run>
  tr::Uniform<tr::Control> on_epoch_end(Run& run) {
    return tr::stop_if(*run.logs().find("loss"), [this](double value) { return value < loss; });
  }
};

/// An activation is one function; its derivative comes from dual numbers.
struct Mish {
  template <class Number>
  KOKKOS_FUNCTION auto operator()(Number const& x) const {
    return x * tanh(log1p(exp(x)));
  }
};

}  // namespace own
