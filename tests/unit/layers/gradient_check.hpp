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
#include <trireme/layers/gradient.hpp>
#include <trireme/layers/pass.hpp>
#include <trireme/models/graph_pass.hpp>

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

/// Leaves every product until the step ends that a sink may leave, of a slice of so many rows.
struct DeferAll final : GradientSink<double> {
  explicit DeferAll(std::size_t n) : rows(n) {}
  void ready(double const*) override {}
  bool defers(std::size_t m, std::size_t n, std::size_t k) override { return pays_to_defer(m, n, k / rows); }
  void defer(DeferredProduct<double> const& product) override { products.push_back(product); }
  void compute() const {
    for (auto const& p : products)
      ThreadContext().gemm(Product<double>{.m = p.m,
                                           .n = p.n,
                                           .k = p.k,
                                           .a = p.x,
                                           .lda = p.m,
                                           .b = p.dy,
                                           .ldb = p.n,
                                           .c = const_cast<double*>(p.gradients),
                                           .ldc = p.n,
                                           .transpose_a = true});
  }
  std::size_t rows;
  std::vector<DeferredProduct<double>> products;
};

struct Nothing {
  void operator()(std::vector<double>&, std::vector<double>&) const {}
};

/// One layer over `rows` samples, with its buffers.
template <class Context, class L, class In>
struct LayerHarness {
  L layer;
  In in;
  std::size_t rows;
  StepKeys keys{.seed = 3, .step = 5, .first_row = 2, .layer = 1};
  Context context{};
  std::vector<double> x, parameters, dy, states, frozen;
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
    fill(states, detail::state_elements<double>(layer, in));
    for (double& state : states) state = 1 + std::abs(state);  // variances may be among them
    fill(frozen, detail::frozen_elements<double>(layer, in));
    for (double& weight : frozen) weight = std::abs(weight) / 4;  // variances may be among them
    // No number: whoever reads what he has not written is found out.
    memory.resize(detail::pass_workspace<double, Context>(layer, in, rows) + arena_alignment, std::byte{0xff});
  }

  std::byte* workspace() {
    auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (arena_alignment - address % arena_alignment) % arena_alignment;
  }

  std::vector<double> forward() {
    std::vector<double> y(rows * layer.output(in).size(), 1e300), updates(states.size());
    detail::pass_forward(context, layer, in,
                         ForwardPass<double>{.rows = rows,
                                             .x = x.data(),
                                             .y = y.data(),
                                             .parameters = parameters.data(),
                                             .workspace = workspace(),
                                             .keys = keys,
                                             .training = true,
                                             .states = states.data(),
                                             .state_updates = updates.data(),
                                             .frozen_weights = frozen.data()});
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
  /// \param then  called with dy and dx before they are left.
  template <class Then = Nothing>
  std::pair<std::vector<double>, std::vector<double>> backward(GradientSink<double>* sink = nullptr,
                                                               Then const& then = {}) {
    auto const y = forward();
    std::vector<double> dx(x.size(), 1e300), gradients(parameters.size(), 0.0);
    std::size_t offset = 0;
    if constexpr (!detail::is_composite<L>)
      for (auto const& p : detail::parameters_of(layer, in)) {
        std::fill_n(gradients.begin() + static_cast<std::ptrdiff_t>(offset), p.shape.size(), 1e300);
        offset += aligned_count<double>(p.shape.size());
      }
    std::vector<double> scratch = dy;
    detail::pass_backward(context, layer, in,
                          BackwardPass<double>{.rows = rows,
                                               .x = x.data(),
                                               .y = y.data(),
                                               .dy = scratch.data(),
                                               .dx = dx.data(),
                                               .parameters = parameters.data(),
                                               .gradients = gradients.data(),
                                               .workspace = workspace(),
                                               .keys = keys,
                                               .sink = sink,
                                               .states = states.data(),
                                               .frozen_weights = frozen.data()});
    then(scratch, dx);
    return {dx, gradients};
  }

  /// The gradients with products computed when the buffers of the calls are used again: a layer that leaves an operand
  /// to a sink must have kept it.
  std::vector<double> deferred_gradients(DeferAll& sink) {
    return backward(&sink,
                    [&](std::vector<double>& scratch, std::vector<double>& dx) {
                      std::ranges::fill(scratch, 1e300);
                      std::ranges::fill(dx, 1e300);
                      sink.compute();
                    })
        .second;
  }

  void check(double tolerance) {
    auto const [dx, gradients] = backward();
    if constexpr (defers_products<Context>) {
      DeferAll sink(rows);
      BOOST_TEST((deferred_gradients(sink) == gradients));
    }
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
