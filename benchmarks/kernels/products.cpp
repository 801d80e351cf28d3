// Matrix products of one thread: what ThreadContext takes against the BLAS, over the sizes of small and wide layers.
//
// OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 products
#include <algorithm>
#include <vector>

#include <trireme/backend/execution/thread_context.hpp>

#include "main.hpp"

namespace {

namespace tr = trireme;

/// Which of a Dense layer's products: y = x W, the gradient of W = x^T dy, or that of x = dy W^T.
enum Which { forward, weights, inputs };

struct Blas {
  void gemm(tr::Product<float> const& p) const { tr::detail::host_blas_gemm(p); }
};

template <class Context>
void product(benchmark::State& state) {
  auto const in = static_cast<std::size_t>(state.range(1)), out = static_cast<std::size_t>(state.range(2)),
             batch = static_cast<std::size_t>(state.range(3));
  std::vector<float> x(batch * in, 0.5f), w(in * out, 0.25f), y(batch * out, 0.125f);
  tr::Product<float> p{};
  switch (state.range(0)) {
    case forward:
      p = {batch, out, in, x.data(), in, w.data(), out, y.data(), out};
      break;
    case weights:
      p = {in, out, batch, x.data(), in, y.data(), out, w.data(), out, true};
      break;
    case inputs:
      p = {batch, in, out, y.data(), out, w.data(), out, x.data(), in, false, true};
      break;
  }
  Context const context;
  for (auto _ : state) {
    context.gemm(p);
    benchmark::ClobberMemory();
  }
  state.counters["GFlop/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(in * out * batch), benchmark::Counter::kIsIterationInvariantRate);
}

void layers(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"which", "in", "out", "batch"});
  struct Size {
    long in, out, batch;
  };
  for (Size const s : {Size{784, 128, 32}, Size{784, 128, 512}, Size{64, 64, 256}, Size{1600, 64, 64},
                       Size{128, 10, 32}, Size{64, 1, 256}, Size{4096, 4096, 256}})
    for (long which : {forward, weights, inputs}) benchmark->Args({which, s.in, s.out, s.batch});
}

BENCHMARK(product<tr::ThreadContext>)->Apply(layers);
BENCHMARK(product<Blas>)->Apply(layers);

}  // namespace

int main(int argc, char** argv) { return run_benchmarks(argc, argv); }
