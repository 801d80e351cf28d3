// Matrix products of one thread: what ThreadContext takes against the BLAS and, where it is installed, LIBXSMM, over
// the sizes of small and wide layers.
//
// OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 products
#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include <trireme/backend/execution/thread_context.hpp>

#ifdef TRIREME_HAVE_LIBXSMM
#include <libxsmm.h>
#endif

#include "layer.hpp"
#include "main.hpp"

namespace {

namespace tr = trireme;

/// Which of a Dense layer's products: y = x W, the gradient of W = x^T dy, or that of x = dy W^T.
enum Which { forward, weights, inputs };

struct Blas {
  void gemm(tr::Product<float> const& p) const { tr::detail::host_blas_gemm(p); }
};

#ifdef TRIREME_HAVE_LIBXSMM
/// Kernels that LIBXSMM generates for blocks of the result, each over all of k. It reads row-major matrices as their
/// transposes, so that x becomes its right operand; W^T, which it cannot take, is copied first.
struct Libxsmm {
  static constexpr std::size_t rows = 48, columns = 64;
  mutable std::vector<float> copied{};

  void gemm(tr::Product<float> const& p) const {
    float const* b = p.b;
    std::size_t ldb = p.ldb;
    if (p.transpose_b) {
      copied.resize(p.n * p.k);
      libxsmm_otrans(copied.data(), p.b, sizeof(float), as_int(p.k), as_int(p.n), as_int(p.ldb), as_int(p.n));
      b = copied.data();
      ldb = p.n;
    }
    int const flags = p.transpose_a ? LIBXSMM_GEMM_FLAG_TRANS_B : LIBXSMM_GEMM_FLAG_NONE;
    auto const lda = as_int(ldb), ld_left = as_int(p.lda), ldc = as_int(p.ldc);
    float const one = 1, zero = 0;
    for (std::size_t i = 0; i < p.m; i += rows)
      for (std::size_t j = 0; j < p.n; j += columns) {
        auto const kernel = libxsmm_smmdispatch(as_int(std::min(columns, p.n - j)), as_int(std::min(rows, p.m - i)),
                                                as_int(p.k), &lda, &ld_left, &ldc, &one, &zero, &flags, nullptr);
        kernel(b + j, p.a.block() + (p.transpose_a ? i : i * p.lda), p.c + i * p.ldc + j);
      }
  }
  static libxsmm_blasint as_int(std::size_t size) { return static_cast<libxsmm_blasint>(size); }
};
#endif

template <class Context>
void product(benchmark::State& state) {
  auto const in = static_cast<std::size_t>(state.range(1)), out = static_cast<std::size_t>(state.range(2)),
             batch = static_cast<std::size_t>(state.range(3));
  auto x = bench::varied(batch * in), w = bench::varied(in * out), y = bench::varied(batch * out);
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
  if (!std::is_same_v<Context, tr::ThreadContext>) {
    std::vector<float> result(p.m * p.n), expected(p.m * p.n);
    auto const into = [&](auto const& by, std::vector<float>& c) {
      auto copy = p;
      copy.c = c.data();
      by.gemm(copy);
    };
    into(context, result);
    into(tr::ThreadContext(), expected);
    float const tolerance = 1e-5f * static_cast<float>(p.k);
    if (!std::equal(result.begin(), result.end(), expected.begin(),
                    [&](float a, float b) { return std::abs(a - b) <= tolerance; }))
      return state.SkipWithError("the product is another one than ThreadContext's");
  }
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
  for (Size const s :
       {Size{784, 128, 32}, Size{784, 128, 512}, Size{128, 10, 512}, Size{64, 64, 256}, Size{64, 64, 4096},
        Size{1600, 64, 64}, Size{128, 10, 32}, Size{64, 1, 256}, Size{1024, 4096, 256}, Size{4096, 4096, 256}})
    for (long which : {forward, weights, inputs}) benchmark->Args({which, s.in, s.out, s.batch});
}

BENCHMARK(product<tr::ThreadContext>)->Apply(layers);
BENCHMARK(product<Blas>)->Apply(layers);
#ifdef TRIREME_HAVE_LIBXSMM
BENCHMARK(product<Libxsmm>)->Apply(layers);
#endif

}  // namespace

int main(int argc, char** argv) { return run_benchmarks(argc, argv); }
