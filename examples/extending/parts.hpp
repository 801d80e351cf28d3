/// Layers, activations, losses, metrics, an optimizer and callbacks: the examples of docs/extending.md.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <trireme/trireme.hpp>

namespace extending {

namespace tr = trireme;

template <class T>
struct SumOverTime {
  std::size_t time, features;
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    T sum = 0;
    for (std::size_t t = 0; t < time; ++t) sum += x[(row * time + t) * features + j];
    y[row * features + j] = sum / static_cast<T>(time);
  }
};

template <class T>
struct SpreadOverTime {
  std::size_t time, features;
  T const* dy;
  T* dx;
  KOKKOS_FUNCTION void operator()(std::size_t step, std::size_t j) const {
    dx[step * features + j] = dy[step / time * features + j] / static_cast<T>(time);
  }
};

/// The mean over time of each feature: input (time, features), output (features).
struct MeanOverTime {
  static constexpr std::string_view class_name = "MeanOverTime";
  tr::LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(In::rank == 2, "extending: MeanOverTime takes (time, features)");
    return tr::Extents<tr::static_extent<In, 1>>{{in[1]}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, tr::Forward<T> const& f) const {
    context.for_each("extending::mean_over_time", f.rows, in[1], SumOverTime<T>{in[0], in[1], f.x, f.y});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, tr::Backward<T> const& b) const {
    if (b.dx)
      context.for_each("extending::spread_over_time", b.rows * in[0], in[1],
                       SpreadOverTime<T>{in[0], in[1], b.dy, b.dx});
  }
};

/// y = x + (x down) up along the last axis: a change of low rank, for few parameters.
template <std::size_t Rank>
struct LowRank {
  static_assert(Rank > 0, "extending: LowRank has a rank of 1 at least");
  static constexpr std::string_view class_name = "LowRank";
  enum Parameters : std::size_t { down, up };
  enum Saved : std::size_t { inner, inner_gradient };

  tr::Initializer down_initializer = tr::GlorotUniform{};
  tr::Initializer up_initializer = tr::GlorotUniform{};
  tr::Regularizer up_regularizer{};
  tr::LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }

  template <class In>
  constexpr auto parameters(In const& in) const {
    return std::array{tr::ParameterShape{"down", {in.back(), Rank}}, tr::ParameterShape{"up", {Rank, in.back()}}};
  }
  tr::Initializer initializer(std::size_t i) const { return i == down ? down_initializer : up_initializer; }
  tr::Regularizer regularizer(std::size_t i) const { return i == up ? up_regularizer : tr::Regularizer{}; }

  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    std::size_t const count = rows * in.size() / in.back() * Rank;
    return std::array{tr::SavedTensor{count}, tr::SavedTensor{count}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, tr::Forward<T> const& f) const {
    std::size_t const n = in.back(), rows = f.rows * in.size() / n;
    context.gemm(tr::Product<T>{.m = rows,
                                .n = Rank,
                                .k = n,
                                .a = f.x,
                                .lda = n,
                                .b = f.parameters[down],
                                .ldb = Rank,
                                .c = f.saved[inner],
                                .ldc = Rank});
    tr::kernels::copy(context, rows * n, f.x, f.y);
    context.gemm(tr::Product<T>{.m = rows,
                                .n = n,
                                .k = Rank,
                                .a = f.saved[inner],
                                .lda = Rank,
                                .b = f.parameters[up],
                                .ldb = n,
                                .c = f.y,
                                .ldc = n,
                                .accumulate = true});
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, tr::Backward<T> const& b) const {
    std::size_t const n = in.back(), rows = b.rows * in.size() / n;
    context.gemm(tr::Product<T>{.m = rows,
                                .n = Rank,
                                .k = n,
                                .a = b.dy,
                                .lda = n,
                                .b = b.parameters[up],
                                .ldb = n,
                                .c = b.saved[inner_gradient],
                                .ldc = Rank,
                                .transpose_b = true});
    if (b.dx) {
      tr::kernels::copy(context, rows * n, static_cast<T const*>(b.dy), b.dx);
      context.gemm(tr::Product<T>{.m = rows,
                                  .n = n,
                                  .k = Rank,
                                  .a = b.saved[inner_gradient],
                                  .lda = Rank,
                                  .b = b.parameters[down],
                                  .ldb = Rank,
                                  .c = b.dx,
                                  .ldc = n,
                                  .transpose_b = true,
                                  .accumulate = true});
    }
    // dy is gone when backward returns; the input and what is saved stay until the step ends.
    b.gradients[up].product(context, rows, {b.saved[inner], Rank}, {b.dy, n});
    b.gradients[down].product(context, rows, {b.x, n}, {b.saved[inner_gradient], Rank}, tr::Lifetime::step);
  }
};

/// y = x (1 + deviation * standard normal). Backward draws the same numbers again.
template <class T>
struct Perturb {
  tr::RowStream stream;
  std::uint64_t first_row;
  std::size_t columns;
  double deviation;
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    double const factor = 1 + deviation * stream.normal(first_row + row, j);
    y[row * columns + j] = x[row * columns + j] * static_cast<T>(factor);
  }
};

/// While training, each element is multiplied by a random number of mean 1.
struct MultiplicativeNoise {
  static constexpr std::string_view class_name = "MultiplicativeNoise";
  double deviation = 0.1;
  tr::LayerName name{};

  void config(tr::Config& c) const { c("deviation", deviation, tr::intervals::not_negative); }

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, tr::Forward<T> const& f) const {
    if (f.training)
      perturb(context, in.size(), f.rows, f.keys, f.x, f.y);
    else
      tr::kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, tr::Backward<T> const& b) const {
    if (b.dx) perturb(context, in.size(), b.rows, b.keys, static_cast<T const*>(b.dy), b.dx);
  }

 private:
  template <class Context, class T>
  void perturb(Context& context, std::size_t columns, std::size_t rows, tr::StepKeys const& keys, T const* x,
               T* y) const {
    tr::RowStream const stream(keys.seed, keys.layer, keys.step, keys.micro_step, tr::Purpose::noise);
    context.for_each("extending::perturb", rows, columns, Perturb<T>{stream, keys.first_row, columns, deviation, x, y});
  }
};

template <class T>
struct SubtractColumns {
  T const *x, *mean;
  T* y;
  std::size_t columns;
  KOKKOS_FUNCTION void operator()(std::size_t i, std::size_t j) const {
    y[i * columns + j] = x[i * columns + j] - mean[j];
  }
};

template <class T>
struct Divide {
  T* x;
  T by;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { x[i] /= by; }
};

/// y = x minus the moving mean of each feature; the mean follows the training data with `momentum`.
struct MovingCenter {
  static constexpr std::string_view class_name = "MovingCenter";
  enum States : std::size_t { moving_mean };

  double momentum = 0.99;
  tr::LayerName name{};

  void config(tr::Config& c) const { c("momentum", momentum, tr::intervals::fraction); }

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }

  template <class In>
  constexpr auto states(In const& in) const {
    return std::array{tr::StateShape{"moving_mean", {in.back()}, 0, momentum}};
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, tr::Forward<T> const& f) const {
    std::size_t const n = in.back(), rows = f.rows * in.size() / n;
    context.for_each("extending::subtract_mean", rows, n, SubtractColumns<T>{f.x, f.states[moving_mean], f.y, n});
    if (T* const update = f.state_updates[moving_mean]) {
      // This slice's summand of the mean over the global batch; the strategy adds up the summands of all slices.
      std::size_t const positions = f.keys.global_rows * in.size() / n;
      context.column_sums("extending::feature_sums", rows, n, f.x, update);
      context.for_each("extending::feature_means", n, Divide<T>{update, static_cast<T>(positions)});
    }
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, tr::Backward<T> const& b) const {
    if (b.dx) tr::kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

/// (x + sqrt(x^2 + smoothness)) / 2: a smooth ReLU. Source: Barron, Squareplus, arXiv:2112.11687.
struct Squareplus {
  static constexpr tr::FixedString name = "squareplus";
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  static constexpr bool non_decreasing = true;

  double smoothness = 4;

  void config(tr::Config& c) const { c("smoothness", smoothness, tr::intervals::positive); }

  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    T const b = static_cast<T>(smoothness), root = Kokkos::sqrt(x * x + b);
    return T(0.5) * (x > T(0) ? root + x : b / (root - x));  // without cancellation
  }

  /// Of the output y, since y - smoothness / (4 y) = x.
  template <class T>
  KOKKOS_FUNCTION T derivative(T y) const {
    T const square = T(4) * y * y;
    return square / (square + static_cast<T>(smoothness));
  }
};

/// Softmax of x / temperature: it mixes the elements of a row.
struct TemperedSoftmax {
  static constexpr tr::FixedString name = "tempered_softmax";
  static constexpr bool elementwise = false;

  double temperature = 2;

  void config(tr::Config& c) const { c("temperature", temperature, tr::intervals::positive); }

  template <class T>
  KOKKOS_FUNCTION void forward(T const* x, std::size_t n, T* y) const {
    T largest = x[0], sum = 0;
    for (std::size_t i = 1; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
    for (std::size_t i = 0; i < n; ++i) {
      y[i] = Kokkos::exp((x[i] - largest) / static_cast<T>(temperature));
      sum += y[i];
    }
    for (std::size_t i = 0; i < n; ++i) y[i] /= sum;
  }

  /// `dx` may be `dy`.
  template <class T>
  KOKKOS_FUNCTION void backward(T const* y, T const* dy, std::size_t n, T* dx) const {
    T dot = 0;
    for (std::size_t i = 0; i < n; ++i) dot += y[i] * dy[i];
    for (std::size_t i = 0; i < n; ++i) dx[i] = y[i] * (dy[i] - dot) / static_cast<T>(temperature);
  }
};

/// For ElementwiseLoss: the logarithm of 1 + error^2, which outliers change little.
struct Cauchy {
  template <class Prediction, class Truth>
  KOKKOS_FUNCTION auto operator()(Prediction const& prediction, Truth const& truth) const {
    auto const error = prediction - truth;
    return log1p(error * error);
  }
};

/// Tukey's biweight: squared for small errors; beyond `width` an error costs the same whatever its size.
struct Tukey {
  static constexpr tr::FixedString name = "tukey";
  using target = tr::DenseTarget;

  double width = 4.685;

  void config(tr::Config& c) const { c("width", width, tr::intervals::positive); }

  template <class T>
  KOKKOS_FUNCTION T operator()(T const* prediction, T const* truth, std::size_t size, T scale, T* gradient) const {
    T const c = static_cast<T>(width), slope = scale / static_cast<T>(size);
    T sum = 0;
    for (std::size_t i = 0; i < size; ++i) {
      T const error = prediction[i] - truth[i], u = error / c, v = T(1) - u * u;
      T const inside = v < T(0) ? T(0) : v;  // a NaN stays one
      sum += c * c / T(6) * (T(1) - inside * inside * inside);
      if (gradient != nullptr) gradient[i] = slope * error * inside * inside;
    }
    return sum / static_cast<T>(size);
  }
};

/// Share of the outputs that are at most `tolerance` from their target.
struct Within {
  static constexpr tr::FixedString name = "within";
  static constexpr tr::Direction direction = tr::Direction::up;
  static constexpr std::size_t state_size = tr::MeanState::size;

  double tolerance = 0.1;

  void config(tr::Config& c) const { c("tolerance", tolerance, tr::intervals::not_negative); }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* truth, std::size_t size, double weight,
                              double* state) const {
    double hits = 0;
    for (std::size_t i = 0; i < size; ++i)
      hits += Kokkos::abs(static_cast<double>(prediction[i]) - static_cast<double>(truth[i])) <= tolerance ? 1 : 0;
    tr::MeanState::add(hits, static_cast<double>(size), weight, state);
  }

  double result(double const* state) const { return tr::MeanState::mean(state); }
};

/// The part of the targets' variance that the predictions explain: no mean, yet a function of sums.
struct R2 {
  static constexpr tr::FixedString name = "r2";
  static constexpr tr::Direction direction = tr::Direction::up;
  static constexpr std::size_t state_size = 4;

  template <class Target, class Out>
  static consteval bool require_fit() {
    static_assert(std::is_same_v<Target, tr::DenseTarget>,
                  "extending: R2 compares each output with a target of its own, and the loss takes class indices");
    return true;
  }

  template <class T, class Label>
  KOKKOS_FUNCTION void update(T const* prediction, Label const* truth, std::size_t size, double weight,
                              double* state) const {
    for (std::size_t i = 0; i < size; ++i) {
      double const t = static_cast<double>(truth[i]), error = static_cast<double>(prediction[i]) - t;
      state[0] += weight;
      state[1] += weight * t;
      state[2] += weight * t * t;
      state[3] += weight * error * error;
    }
  }

  double result(double const* state) const {
    double const squares = state[0] > 0 ? state[2] - state[1] * state[1] / state[0] : 0;
    return squares > 0 ? 1 - state[3] / squares : 0;
  }
};

template <class T>
struct HeavyBallStep {
  static constexpr bool takes_vectors = true;

  T rate, momentum, decay;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const* slots) const {
    Value const velocity = tr::math::flush_subnormals<T>(momentum * slots[0][i] + gradient);
    slots[0][i] = velocity;
    w[i] = w[i] - w[i] * decay - rate * velocity;
  }
};

/// Momentum with the rate outside of it: velocity = momentum * velocity + gradient, w -= rate * velocity.
struct HeavyBall {
  static constexpr tr::FixedString name = "heavy_ball";

  tr::Rate learning_rate = 0.01;
  double momentum = 0.9;
  double weight_decay = 0;
  double clipnorm = 0, global_clipnorm = 0, clipvalue = 0;  ///< at most one of them; 0: off

  void config(tr::Config& c) const { c("momentum", momentum, tr::intervals::fraction); }

  constexpr std::size_t slots() const { return 1; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t) const { return "velocity"; }

  template <class T>
  HeavyBallStep<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {.rate = static_cast<T>(rate),
            .momentum = static_cast<T>(momentum),
            .decay = static_cast<T>(weight_decay * rate)};
  }
};

/// The step of a tensor: `scale` times its gradient.
template <class T>
struct NormalizedStep {
  static constexpr bool takes_vectors = true;

  T scale;

  template <class Value, class Pointer>
  KOKKOS_FUNCTION void operator()(std::size_t i, Pointer w, Value gradient, Pointer const*) const {
    w[i] = w[i] - scale * gradient;
  }
};

template <class T>
struct NormalizedRule {
  static constexpr std::size_t tensor_sums = 1;

  double rate;

  KOKKOS_FUNCTION void add(std::size_t, T const*, T gradient, T const* const*, double* sums) const {
    sums[0] += static_cast<double>(gradient) * static_cast<double>(gradient);
  }
  KOKKOS_FUNCTION NormalizedStep<T> of_tensor(double const* sums) const {
    return {static_cast<T>(sums[0] == 0 ? 0 : rate / Kokkos::sqrt(sums[0]))};
  }
};

/// Each tensor steps by `learning_rate` in the direction of its gradient.
struct NormalizedDescent {
  static constexpr tr::FixedString name = "normalized_descent";
  tr::Rate learning_rate = 0.01;

  constexpr std::size_t slots() const { return 0; }
  double initial(std::size_t) const { return 0; }
  std::string_view slot_name(std::size_t) const { return ""; }

  template <class T>
  NormalizedRule<T> step(std::uint64_t /*iteration*/, double rate) const {
    return {rate};
  }
};

/// Ends training after some time. Clocks differ between processes, so the result is one process's request.
struct TimeLimit {
  double seconds = 3600;

  void config(tr::Config& c) const { c("seconds", seconds, tr::intervals::positive); }

  std::chrono::steady_clock::time_point begin{};  ///< set by on_train_begin

  template <class Run>
  void on_train_begin(Run const&) {
    begin = std::chrono::steady_clock::now();
  }

  template <class Run>
  tr::Control on_train_batch_end(Run const&) const {
    std::chrono::duration<double> const passed = std::chrono::steady_clock::now() - begin;
    return passed.count() > seconds ? tr::Control::stop : tr::Control::proceed;
  }
};

/// Ends training when the loss of validation has been `factor` times that of training for `patience` epochs. Logs the
/// ratio as "gap".
struct StopOnGap {
  static constexpr std::string_view monitor = "val_loss";
  static constexpr std::array logs{std::string_view("gap")};

  double factor = 2;
  std::size_t patience = 3;

  void config(tr::Config& c) const {
    c("factor", factor, tr::intervals::positive);
    c("patience", patience, tr::intervals::positive_count);
  }

  std::size_t wait = 0;  ///< epochs with such a ratio up to now

  template <class Run>
  void on_train_begin(Run const&) {
    wait = 0;
  }

  template <class Run>
  tr::Uniform<tr::Control> on_epoch_end(Run& run) {
    auto const training = run.logs().find("loss"), validation = run.logs().find(monitor);
    if (!training || !validation) return tr::always<tr::Control::proceed>();  // an epoch without validation
    auto const gap = validation->map([](double v, double t) { return v / t; }, *training);
    run.logs().set("gap", gap);
    return tr::stop_if(gap, [this](double ratio) {
      wait = ratio > factor ? wait + 1 : 0;
      return wait >= patience;
    });
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("wait", wait);
  }
};

}  // namespace extending
