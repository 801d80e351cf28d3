// Layers, functions and optimizer passes of one thread: microseconds a sample, nanoseconds an element, bytes a second.
#include <cmath>
#include <vector>

#include <trireme/activations/relu.hpp>
#include <trireme/backend/simd/math.hpp>
#include <trireme/layers/conv2d.hpp>
#include <trireme/layers/conv_pool.hpp>
#include <trireme/layers/pooling2d.hpp>
#include <trireme/optimizers/adam.hpp>
#include <trireme/optimizers/sgd.hpp>
#include <trireme/strategies/engine/update_kernels.hpp>

#include "layer.hpp"
#include "main.hpp"

namespace {

namespace tr = trireme;

using FirstConvolution = tr::Conv2D<32, 3, 3, tr::ReLU>;
using SecondConvolution = tr::Conv2D<64, 3, 3, tr::ReLU>;
using Pooling = tr::MaxPooling2D<2, 2>;
BENCHMARK(bench::forward<FirstConvolution, tr::Extents<28, 28, 1>>);
BENCHMARK(bench::backward<FirstConvolution, tr::Extents<28, 28, 1>>);
BENCHMARK(bench::forward<SecondConvolution, tr::Extents<13, 13, 32>>);
BENCHMARK(bench::backward<SecondConvolution, tr::Extents<13, 13, 32>>);
BENCHMARK(bench::forward<Pooling, tr::Extents<26, 26, 32>>);
BENCHMARK(bench::backward<Pooling, tr::Extents<26, 26, 32>>);
BENCHMARK(bench::forward<Pooling, tr::Extents<11, 11, 64>>);
BENCHMARK(bench::backward<Pooling, tr::Extents<11, 11, 64>>);
BENCHMARK(bench::forward<tr::ConvPool<FirstConvolution, Pooling>, tr::Extents<28, 28, 1>>);
BENCHMARK(bench::backward<tr::ConvPool<FirstConvolution, Pooling>, tr::Extents<28, 28, 1>>);
BENCHMARK(bench::forward<tr::ConvPool<SecondConvolution, Pooling>, tr::Extents<13, 13, 32>>);
BENCHMARK(bench::backward<tr::ConvPool<SecondConvolution, Pooling>, tr::Extents<13, 13, 32>>);

/// A function over 4096 numbers, which stay in the first cache.
template <class F>
void elements(benchmark::State& state, F const& f) {
  constexpr std::size_t n = 4096;
  std::vector<float> x(n), y(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = 8.0f * static_cast<float>(i) / n - 4.0f;
  for (auto _ : state) {
    float const* const in = x.data();
    float* const out = y.data();
    TRIREME_SIMD
    for (std::size_t i = 0; i < n; ++i) out[i] = f(in[i]);
    benchmark::ClobberMemory();
  }
  state.counters["s/element"] = benchmark::Counter(
      static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(elements, tanh, [](float x) { return tr::math::tanh(x); });
BENCHMARK_CAPTURE(elements, std_tanh, [](float x) { return std::tanh(x); });
BENCHMARK_CAPTURE(elements, exp, [](float x) { return tr::math::exp(x); });
BENCHMARK_CAPTURE(elements, std_exp, [](float x) { return std::exp(x); });

/// One optimizer pass over n parameters: the gradient is read, the weight and each slot are read and written.
template <class Optimizer>
void optimizer_pass(benchmark::State& state, Optimizer const& optimizer) {
  auto const n = static_cast<std::size_t>(state.range(0));
  std::vector<float> w(n, 0.5f), g(n, 0.25f);
  std::vector<std::vector<float>> slots(optimizer.slots(), std::vector<float>(n, 0.125f));
  auto const step = optimizer.template step<float>(10, 1e-3);
  tr::kernels::OptimizerStep<float, std::decay_t<decltype(step)>> kernel{step, w.data(), g.data(), {}};
  for (std::size_t s = 0; s < slots.size(); ++s) kernel.slots[s] = slots[s].data();
  tr::ThreadContext const context;
  for (auto _ : state) {
    context.for_each("optimizer_step", n, kernel);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) *
                          static_cast<std::int64_t>(n * sizeof(float) * (3 + 2 * slots.size())));
}
BENCHMARK_CAPTURE(optimizer_pass, adam, tr::Adam{})->Arg(101'770)->Arg(1 << 20)->Arg(1 << 24);
BENCHMARK_CAPTURE(optimizer_pass, momentum, tr::SGD{.momentum = 0.9})->Arg(101'770)->Arg(1 << 20)->Arg(1 << 24);

}  // namespace

int main(int argc, char** argv) { return run_benchmarks(argc, argv); }
