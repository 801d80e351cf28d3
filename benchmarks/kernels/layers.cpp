// Layers, functions and optimizer passes of one thread: microseconds a sample, nanoseconds an element, bytes a second.
#include <cmath>
#include <vector>

#include <trireme/activations/relu.hpp>
#include <trireme/backend/execution/thread_context.hpp>
#include <trireme/backend/simd/math.hpp>
#include <trireme/layers/conv2d.hpp>
#include <trireme/layers/conv_pool.hpp>
#include <trireme/layers/pooling2d.hpp>
#include <trireme/optimizers/adam.hpp>
#include <trireme/optimizers/sgd.hpp>
#include <trireme/strategies/engine/update_kernels.hpp>

#include "main.hpp"

namespace {

namespace tr = trireme;

/// Memory of one layer for a number of samples; inputs differ, so that maxima do.
template <class Layer, class In>
struct Bench {
  using Out = decltype(Layer{}.output(In{}));
  static constexpr std::size_t rows = 16;
  std::size_t in = In{}.size(), out = Out{}.size();
  std::vector<float> x = varied(rows * in), y = varied(rows * out), dy = varied(rows * out),
                     dx = std::vector<float>(rows * in), parameters, gradients;
  std::vector<std::byte> memory;

  Bench()
      : parameters(varied(tr::detail::parameter_elements<float>(Layer{}, In{}))),
        gradients(parameters.size()),
        memory(tr::detail::workspace_bytes<float, tr::ThreadContext>(Layer{}, In{}, rows) + tr::arena_alignment) {}

  std::byte* workspace() {
    auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (tr::arena_alignment - address % tr::arena_alignment) % tr::arena_alignment;
  }
  static std::vector<float> varied(std::size_t count) {
    std::vector<float> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 1009.0f - 0.5f;
    return values;
  }
  void forward() {
    tr::ThreadContext context;
    tr::detail::run_forward(context, Layer{}, In{},
                            tr::ForwardPass<float>{rows, x.data(), y.data(), parameters.data(), workspace(), {}, true});
  }
  void backward() {
    tr::ThreadContext context;
    tr::detail::run_backward(
        context, Layer{}, In{},
        tr::BackwardPass<float>{
            rows, x.data(), y.data(), dy.data(), dx.data(), parameters.data(), gradients.data(), workspace(), {}});
  }
};

void report_samples(benchmark::State& state, std::size_t rows) {
  state.counters["s/sample"] = benchmark::Counter(
      static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class Layer, class In>
void forward(benchmark::State& state) {
  Bench<Layer, In> bench;
  for (auto _ : state) {
    bench.forward();
    benchmark::ClobberMemory();
  }
  report_samples(state, bench.rows);
}

template <class Layer, class In>
void backward(benchmark::State& state) {
  Bench<Layer, In> bench;
  bench.forward();
  for (auto _ : state) {
    bench.backward();
    benchmark::ClobberMemory();
  }
  report_samples(state, bench.rows);
}

using FirstConvolution = tr::Conv2D<32, 3, 3, tr::ReLU>;
using SecondConvolution = tr::Conv2D<64, 3, 3, tr::ReLU>;
using Pooling = tr::MaxPooling2D<2, 2>;
BENCHMARK(forward<FirstConvolution, tr::Extents<28, 28, 1>>);
BENCHMARK(backward<FirstConvolution, tr::Extents<28, 28, 1>>);
BENCHMARK(forward<SecondConvolution, tr::Extents<13, 13, 32>>);
BENCHMARK(backward<SecondConvolution, tr::Extents<13, 13, 32>>);
BENCHMARK(forward<Pooling, tr::Extents<26, 26, 32>>);
BENCHMARK(backward<Pooling, tr::Extents<26, 26, 32>>);
BENCHMARK(forward<Pooling, tr::Extents<11, 11, 64>>);
BENCHMARK(backward<Pooling, tr::Extents<11, 11, 64>>);
BENCHMARK(forward<tr::ConvPool<FirstConvolution, Pooling>, tr::Extents<28, 28, 1>>);
BENCHMARK(backward<tr::ConvPool<FirstConvolution, Pooling>, tr::Extents<28, 28, 1>>);
BENCHMARK(forward<tr::ConvPool<SecondConvolution, Pooling>, tr::Extents<13, 13, 32>>);
BENCHMARK(backward<tr::ConvPool<SecondConvolution, Pooling>, tr::Extents<13, 13, 32>>);

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
