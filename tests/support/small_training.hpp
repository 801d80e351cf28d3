/// Small problems to train on, and what "the same" means between two models.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "trireme/activations/relu.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/callbacks/history.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/dropout.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/pooling2d.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/metrics/logs.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

/// Inputs in [-1, 1), labels that depend on them a little, and weights in [1/2, 2).
template <class T>
struct Samples {
  xt::xarray<T> x;
  std::vector<std::int32_t> y;
  std::vector<double> weight;

  std::size_t size() const { return y.size(); }
  auto data() const { return data::from_tensor_slices(x, y); }
  auto weighted_data() const { return data::from_tensor_slices(x, y, weight); }
};

/// The same wherever they are made.
template <class T>
Samples<T> make_samples(std::size_t count, std::vector<std::size_t> extents, std::int32_t classes,
                        std::uint64_t seed = 1) {
  std::mt19937_64 bits(seed);
  auto const uniform = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  extents.insert(extents.begin(), count);
  Samples<T> samples{xt::xarray<T>::from_shape(extents), {}, {}};
  std::size_t const size = count == 0 ? 0 : samples.x.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < size; ++j) {
      double const value = 2 * uniform() - 1;
      samples.x.data()[i * size + j] = static_cast<T>(value);
      sum += j % 2 == 0 ? value : -value;
    }
    bool const noise = uniform() < 0.25;
    samples.y.push_back(static_cast<std::int32_t>(std::abs(sum) * 3 + (noise ? 1 : 0)) % classes);
    samples.weight.push_back(0.5 + 1.5 * uniform());
  }
  return samples;
}

constexpr std::size_t mlp_inputs = 6;
constexpr std::array<std::size_t, 3> cnn_inputs{6, 5, 2};
constexpr std::int32_t classes = 4;

template <class T>
Samples<T> mlp_samples(std::size_t count, std::uint64_t seed = 1) {
  return make_samples<T>(count, {mlp_inputs}, classes, seed);
}
template <class T>
Samples<T> cnn_samples(std::size_t count, std::uint64_t seed = 1) {
  return make_samples<T>(count, {cnn_inputs.begin(), cnn_inputs.end()}, classes, seed);
}

inline auto mlp() {
  return Sequential{Input<mlp_inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)}, Dropout{.rate = 0.25f},
                    Dense<classes>{}};
}
inline auto cnn() {
  return Sequential{Input<cnn_inputs[0], cnn_inputs[1], cnn_inputs[2]>{},
                    Conv2D<3, 3, 3, ReLU, Same>{},
                    MaxPooling2D<2, 2>{},
                    Flatten{},
                    Dropout{.rate = 0.25f},
                    Dense<classes>{}};
}

/// A metric of a user's own: the mean margin between the right class and the largest other one.
struct Margin {
  static constexpr FixedString name = "margin";
  static constexpr Direction direction = Direction::up;
  static constexpr std::size_t state_size = 2;
  template <class T>
  KOKKOS_FUNCTION void update(T const* prediction, std::int32_t const* target, std::size_t size, double weight,
                              double* state) const {
    T largest = 0;
    bool any = false;
    for (std::size_t i = 0; i < size; ++i) {
      if (static_cast<std::int32_t>(i) == *target || (any && prediction[i] <= largest)) continue;
      largest = prediction[i];
      any = true;
    }
    state[0] += weight * static_cast<double>(prediction[*target] - largest);
    state[1] += weight;
  }
  double result(double const* state) const { return state[1] > 0 ? state[0] / state[1] : 0; }
};

/// |a - b| / |b|, in the Euclidean norm; a or b may hold a NaN, then it is one.
template <class A, class B>
double distance(A const& a, B const& b) {
  if (a.size() != b.size()) return INFINITY;
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const x = static_cast<double>(a.data()[i]), y = static_cast<double>(b.data()[i]);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

/// How far sums of T may be apart after 20 steps that differ in the order of their summands, as law 1 says.
template <class T>
constexpr double tolerance = sizeof(T) == sizeof(double) ? 1e-13 : 1e-6;

/// Every parameter of the two, tensor by tensor, in norm.
template <class Model, class Reference>
void check_same_weights(Model const& model, Reference const& reference, double limit = tolerance<typename Model::T>) {
  BOOST_TEST(model.weight_names() == reference.weight_names(), boost::test_tools::per_element());
  for (auto const& name : reference.weight_names()) {
    double const d = distance(model.weights(name), reference.weights(name));
    BOOST_TEST(d <= limit, name << " differs by " << d << " in norm, relative");
  }
}

inline void check_close(double value, double expected, double limit, std::string_view what) {
  bool const close = std::abs(value - expected) <= limit * std::max(1.0, std::abs(expected));
  BOOST_TEST(close, what << " is " << value << " instead of " << expected);
}

inline void check_same_logs(Logs const& logs, Logs const& expected, double limit) {
  BOOST_TEST(logs.names() == expected.names());
  for (auto const& entry : expected)
    if (auto const found = logs.find(entry.name)) check_close(found->value(), entry.value.value(), limit, entry.name);
}

inline void check_same_history(History const& history, History const& expected, double limit) {
  BOOST_TEST(history.epochs == expected.epochs, boost::test_tools::per_element());
  BOOST_TEST(history.names() == expected.names());
  for (auto const& [name, values] : expected.values) {
    auto const& found = history[name];
    BOOST_TEST(found.size() == values.size());
    for (std::size_t i = 0; i < std::min(found.size(), values.size()); ++i)
      check_close(found[i], values[i], limit, name);
  }
}

/// Hash of all bits of the weights.
template <class Model>
std::uint64_t weight_bits(Model const& model) {
  auto const all = model.engine().weights().host_parameters();
  return data::hash_bytes(all.data(), all.size() * sizeof(all[0]));
}

/// The weights of all ranks are the same to the bit. Collective.
template <class Group, class Model>
void check_equal_on_all(Group const& group, Model const& model) {
  std::uint64_t const bits = weight_bits(model);
  BOOST_TEST(group.allreduce_min(bits).value() == group.allreduce_max(bits).value());
}

}  // namespace trireme::test
