// Gradients of a layer against central differences, in double, under every host context.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include <boost/test/unit_test.hpp>
#include <trireme/backend/execution/space_context.hpp>
#include <trireme/backend/execution/thread_context.hpp>
#include <trireme/layers/layer.hpp>

namespace trireme::test {

/// ||a - b|| / ||b||, or ||a|| where b is zero.
inline double relative_error(std::vector<double> const& a, std::vector<double> const& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference) / (norm > 0 ? std::sqrt(norm) : 1.0);
}

/// One layer over `rows` samples, with its buffers.
template <class Context, class L, class In>
struct LayerHarness {
  L layer;
  In in;
  std::size_t rows;
  StepKeys keys{.seed = 3, .step = 5, .first_row = 2, .layer = 1};
  Context context{};
  std::vector<double> x, parameters, dy, frozen;
  std::vector<std::byte> memory;

  LayerHarness(L l, In extents, std::size_t n, unsigned seed) : layer(l), in(extents), rows(n) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    auto const fill = [&](std::vector<double>& values, std::size_t count) {
      values.resize(count);
      std::generate(values.begin(), values.end(), [&] { return normal(random); });
    };
    fill(x, rows * in.size());
    fill(parameters, detail::parameter_elements<double>(layer, in));
    fill(dy, rows * layer.output(in).size());
    fill(frozen, detail::frozen_elements<double>(layer, in));
    for (double& weight : frozen) weight = std::abs(weight) / 4;  // variances may be among them
    // No number: whoever reads what he has not written is found out.
    memory.resize(detail::workspace_bytes<double, Context>(layer, in, rows) + arena_alignment, std::byte{0xff});
  }

  std::byte* workspace() {
    auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (arena_alignment - address % arena_alignment) % arena_alignment;
  }

  std::vector<double> forward() {
    std::vector<double> y(rows * layer.output(in).size(), 1e300);
    layer.forward(context, in,
                  Forward<double>{rows, x.data(), y.data(), parameters.data(), workspace(), keys, true, nullptr,
                                  nullptr, frozen.data()});
    return y;
  }

  double objective() {
    auto const y = forward();
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * dy[i];
    return sum;
  }

  std::vector<double> differences(std::vector<double>& at) {
    constexpr double h = 1e-5;
    std::vector<double> result;
    for (double& value : at) {
      double const kept = value;
      value = kept + h;
      double const above = objective();
      value = kept - h;
      double const below = objective();
      value = kept;
      result.push_back((above - below) / (2 * h));
    }
    return result;
  }

  /// dx and the gradients of the parameters; both start as garbage, since layers overwrite them.
  std::pair<std::vector<double>, std::vector<double>> backward() {
    auto const y = forward();
    std::vector<double> dx(x.size(), 1e300), gradients(parameters.size(), 0.0);
    std::size_t offset = 0;
    if constexpr (!detail::is_composite<L>)
      for (auto const& p : detail::parameters_of(layer, in)) {
        std::fill_n(gradients.begin() + static_cast<std::ptrdiff_t>(offset), p.shape.size(), 1e300);
        offset += aligned_count<double>(p.shape.size());
      }
    std::vector<double> scratch = dy;
    layer.backward(context, in,
                   Backward<double>{rows, x.data(), y.data(), scratch.data(), dx.data(), parameters.data(),
                                    gradients.data(), workspace(), keys, nullptr, frozen.data()});
    return {dx, gradients};
  }

  void check(double tolerance) {
    auto const [dx, gradients] = backward();
    BOOST_TEST(relative_error(dx, differences(x)) <= tolerance);
    BOOST_TEST(relative_error(gradients, differences(parameters)) <= tolerance);
  }
};

/// Relative error at most 1e-6 for the gradients of input and parameters, for 1, 2 and 3 rows.
template <class L, class In>
void check_gradients(L const& layer, In const& in, double tolerance = 1e-6) {
  for (std::size_t rows : {1u, 2u, 3u}) {
    LayerHarness<ThreadContext, L, In>(layer, in, rows, 17).check(tolerance);
    LayerHarness<SpaceContext<Kokkos::DefaultHostExecutionSpace>, L, In>(layer, in, rows, 17).check(tolerance);
  }
}

}  // namespace trireme::test
