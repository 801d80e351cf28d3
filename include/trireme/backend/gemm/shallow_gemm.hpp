/// Matrix products of little depth on a device, such as those with the gradient of a few classes: each result by one
/// thread. A vendor's library splits some of them along the depth, which takes three times as long.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme::detail {

/// A thread computes a few results of one column. Neighbouring threads have neighbouring columns. The epilogue stores
/// the results.
template <class T, class Epilogue>
struct ShallowGemm {
  static constexpr std::uint32_t few = 4;

  Product<T> p;
  Epilogue epilogue;

  KOKKOS_FUNCTION void operator()(std::uint32_t index) const {
    auto const columns = static_cast<std::uint32_t>(p.n);
    std::uint32_t const block = index / columns, column = index - block * columns;
    std::size_t const row = std::size_t{block} * few;
    std::size_t const row_step = p.transpose_a ? 1 : p.lda, left_step = p.transpose_a ? p.lda : 1;
    std::size_t const right_step = p.transpose_b ? 1 : p.ldb;
    T const* right = p.b + (p.transpose_b ? column * p.ldb : column);
    T const* left[few];
    T sum[few] = {};
    for (std::uint32_t r = 0; r < few; ++r) left[r] = p.a.block() + (row + r < p.m ? row + r : p.m - 1) * row_step;
    for (std::size_t k = 0; k < p.k; ++k, right += right_step)
      for (std::uint32_t r = 0; r < few; ++r) sum[r] += left[r][k * left_step] * *right;
    for (std::uint32_t r = 0; r < few; ++r) {
      if (row + r >= p.m) return;
      T const value = sum[r];
      epilogue(p, row + r, column, p.accumulate ? p.c[(row + r) * p.ldc + column] + value : value);
    }
  }
};

/// True for products that take less time than a vendor's: few results, or those of a product that spares a kernel for
/// its epilogue. Measured on an H200.
/// \param has_epilogue  that a vendor's library would not take
template <class T>
constexpr bool is_shallow(Product<T> const& p, bool has_epilogue) {
  std::size_t const most_results = std::size_t{1} << (has_epilogue ? 24 : 18);
  return p.k <= 12 && p.m > 0 && p.n > 0 && p.m <= most_results && p.n <= most_results && p.m * p.n <= most_results;
}

template <class T, class Space, class Epilogue = StoreEpilogue<T>>
void shallow_gemm(Space const& space, Product<T> const& p, Epilogue const& epilogue = {}) {
  using Gemm = ShallowGemm<T, Epilogue>;
  static_assert(sizeof(Gemm) <= 256);  // Kokkos passes it as the kernel's argument: see SpaceContext
  auto const threads = static_cast<std::uint32_t>((p.m + Gemm::few - 1) / Gemm::few * p.n);
  LaunchTurn const turn;
  Kokkos::parallel_for(tool_label("trireme::shallow_gemm"),
                       Kokkos::RangePolicy<Space, Kokkos::IndexType<std::uint32_t>>(space, 0, threads),
                       Gemm{p, epilogue});
}

}  // namespace trireme::detail
