/// Matrix products in plain Kokkos, tiled through scratch memory: for devices without their vendor BLAS.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme::detail {

/// One team computes a tile of 16 x 16 results; its operands pass through scratch memory in slices of 16.
template <class T, class Space>
struct TiledGemm {
  static constexpr std::size_t tile = 16;
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Tile = Kokkos::View<T[tile][tile], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  Product<T> p;
  std::size_t column_tiles;

  static constexpr std::size_t scratch_bytes() { return 3 * (tile * tile * sizeof(T) + 64); }

  KOKKOS_FUNCTION T a(std::size_t i, std::size_t k) const {
    return i < p.m && k < p.k ? (p.transpose_a ? p.a[k * p.lda + i] : p.a[i * p.lda + k]) : T{0};
  }
  KOKKOS_FUNCTION T b(std::size_t k, std::size_t j) const {
    return j < p.n && k < p.k ? (p.transpose_b ? p.b[j * p.ldb + k] : p.b[k * p.ldb + j]) : T{0};
  }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    std::size_t const row = index / column_tiles * tile, column = index % column_tiles * tile;
    Tile left(team.team_scratch(0)), right(team.team_scratch(0)), sum(team.team_scratch(0));
    auto const each = Kokkos::TeamThreadRange(team, static_cast<int>(tile * tile));
    Kokkos::parallel_for(each, Clear{sum});
    for (std::size_t k = 0; k < p.k; k += tile) {
      team.team_barrier();
      Kokkos::parallel_for(each, Load{*this, left, right, row, column, k});
      team.team_barrier();
      Kokkos::parallel_for(each, Multiply{left, right, sum});
    }
    team.team_barrier();
    Kokkos::parallel_for(each, Store{p, sum, row, column});
  }

  struct Clear {
    Tile sum;
    KOKKOS_FUNCTION void operator()(int e) const {
      sum(static_cast<std::size_t>(e) / tile, static_cast<std::size_t>(e) % tile) = T{0};
    }
  };
  struct Load {
    TiledGemm const& gemm;
    Tile left, right;
    std::size_t row, column, k;
    KOKKOS_FUNCTION void operator()(int e) const {
      std::size_t const i = static_cast<std::size_t>(e) / tile, j = static_cast<std::size_t>(e) % tile;
      left(i, j) = gemm.a(row + i, k + j);
      right(i, j) = gemm.b(k + i, column + j);
    }
  };
  struct Multiply {
    Tile left, right, sum;
    KOKKOS_FUNCTION void operator()(int e) const {
      std::size_t const i = static_cast<std::size_t>(e) / tile, j = static_cast<std::size_t>(e) % tile;
      T value = sum(i, j);
      for (std::size_t k = 0; k < tile; ++k) value += left(i, k) * right(k, j);
      sum(i, j) = value;
    }
  };
  struct Store {
    Product<T> p;
    Tile sum;
    std::size_t row, column;
    KOKKOS_FUNCTION void operator()(int e) const {
      std::size_t const i = static_cast<std::size_t>(e) / tile, j = static_cast<std::size_t>(e) % tile;
      if (row + i >= p.m || column + j >= p.n) return;
      T& c = p.c[(row + i) * p.ldc + column + j];
      c = p.accumulate ? c + sum(i, j) : sum(i, j);
    }
  };
};

template <class T, class Space>
void portable_gemm(Space const& space, Product<T> const& p) {
  using Gemm = TiledGemm<T, Space>;
  if (p.m == 0 || p.n == 0) return;
  std::size_t const column_tiles = (p.n + Gemm::tile - 1) / Gemm::tile;
  std::size_t const tiles = (p.m + Gemm::tile - 1) / Gemm::tile * column_tiles;
  auto policy = Kokkos::TeamPolicy<Space>(space, static_cast<int>(tiles), Kokkos::AUTO)
                    .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Gemm::scratch_bytes())));
  Kokkos::parallel_for(tool_label("trireme::portable_gemm"), policy, Gemm{p, column_tiles});
}

}  // namespace trireme::detail
