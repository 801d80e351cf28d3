// Forward and backward of one layer on one thread: its memory, and Google Benchmark's loops.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include <trireme/backend/execution/thread_context.hpp>
#include <trireme/layers/call.hpp>
#include <trireme/layers/pass.hpp>

namespace bench {

namespace tr = trireme;

/// Different numbers in [-1/2, 1/2).
inline std::vector<float> varied(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i * 7919 % 1009) / 1009.0f - 0.5f;
  return values;
}

/// Memory of one layer for `Rows` samples; inputs differ, so that maxima do.
template <class Layer, class In, std::size_t Rows = 16>
struct LayerMemory {
  using Out = decltype(Layer{}.output(In{}));
  static constexpr std::size_t rows = Rows;
  std::size_t in = In{}.size(), out = Out{}.size();
  std::vector<float> x = varied(rows * in), y = varied(rows * out), dy = varied(rows * out),
                     dx = std::vector<float>(rows * in), parameters, gradients;
  std::vector<std::byte> memory;

  LayerMemory()
      : parameters(varied(tr::detail::parameter_elements<float>(Layer{}, In{}))),
        gradients(parameters.size()),
        memory(tr::detail::workspace_bytes<float, tr::ThreadContext>(Layer{}, In{}, rows) + tr::arena_alignment) {}

  std::byte* workspace() {
    auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (tr::arena_alignment - address % tr::arena_alignment) % tr::arena_alignment;
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

inline void report_samples(benchmark::State& state, std::size_t rows) {
  state.counters["s/sample"] = benchmark::Counter(
      static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

template <class Layer, class In, std::size_t Rows = 16>
void forward(benchmark::State& state) {
  LayerMemory<Layer, In, Rows> layer;
  for (auto _ : state) {
    layer.forward();
    benchmark::ClobberMemory();
  }
  report_samples(state, layer.rows);
}

template <class Layer, class In, std::size_t Rows = 16>
void backward(benchmark::State& state) {
  LayerMemory<Layer, In, Rows> layer;
  layer.forward();
  for (auto _ : state) {
    layer.backward();
    benchmark::ClobberMemory();
  }
  report_samples(state, layer.rows);
}

}  // namespace bench
