/// Matrix products in plain Kokkos, tiled through scratch memory: for devices without their vendor BLAS.
#pragma once

#include <cstddef>

#include <Kokkos_Core.hpp>

#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme::detail {

/// One team computes a tile of 16 x 16 results; its operands pass through scratch memory in slices of 16. The epilogue
/// stores the results.
template <class T, class Space, class Epilogue = StoreEpilogue<T>>
struct TiledGemm {
  static constexpr std::size_t tile = 16;
  using Team = typename Kokkos::TeamPolicy<Space>::member_type;
  using Tile = Kokkos::View<T[tile][tile], typename Space::scratch_memory_space, Kokkos::MemoryUnmanaged>;

  ProductBatch<T> batch;
  std::size_t column_tiles, tiles;  ///< of one product
  Epilogue epilogue;

  static constexpr std::size_t scratch_bytes() { return 3 * (tile * tile * sizeof(T) + 64); }

  static KOKKOS_FUNCTION T left_element(Product<T> const& p, std::size_t i, std::size_t k) {
    T const* const a = p.a.block();
    return i < p.m && k < p.k ? (p.transpose_a ? a[k * p.lda + i] : a[i * p.lda + k]) : T{0};
  }
  static KOKKOS_FUNCTION T right_element(Product<T> const& p, std::size_t k, std::size_t j) {
    return j < p.n && k < p.k ? (p.transpose_b ? p.b[j * p.ldb + k] : p.b[k * p.ldb + j]) : T{0};
  }

  KOKKOS_FUNCTION void operator()(Team const& team) const {
    auto const index = static_cast<std::size_t>(team.league_rank());
    Product<T> const p = batch[index / tiles];
    std::size_t const at = index % tiles, row = at / column_tiles * tile, column = at % column_tiles * tile;
    Tile left(team.team_scratch(0)), right(team.team_scratch(0)), sum(team.team_scratch(0));
    auto const each = Kokkos::TeamThreadRange(team, tile * tile);
    Kokkos::parallel_for(each, [&](std::size_t e) { sum(e / tile, e % tile) = T{0}; });
    for (std::size_t k = 0; k < p.k; k += tile) {
      team.team_barrier();
      Kokkos::parallel_for(each, [&](std::size_t e) {
        std::size_t const i = e / tile, j = e % tile;
        left(i, j) = left_element(p, row + i, k + j);
        right(i, j) = right_element(p, k + i, column + j);
      });
      team.team_barrier();
      Kokkos::parallel_for(each, [&](std::size_t e) {
        std::size_t const i = e / tile, j = e % tile;
        T value = sum(i, j);
        for (std::size_t inner = 0; inner < tile; ++inner) value += left(i, inner) * right(inner, j);
        sum(i, j) = value;
      });
    }
    team.team_barrier();
    Kokkos::parallel_for(each, [&](std::size_t e) {
      std::size_t const i = e / tile, j = e % tile;
      if (row + i >= p.m || column + j >= p.n) return;
      T const value = sum(i, j);
      epilogue(p, row + i, column + j, p.accumulate ? p.c[(row + i) * p.ldc + column + j] + value : value);
    });
  }
};

/// True for epilogues that the tiles take.
template <class T, class Space, class Epilogue>
inline constexpr bool takes_portable_epilogue = sizeof(TiledGemm<T, Space, Epilogue>) <= 256;

template <class T, class Space, class Epilogue = StoreEpilogue<T>>
void portable_gemm(Space const& space, ProductBatch<T> const& batch, Epilogue const& epilogue = {}) {
  using Gemm = TiledGemm<T, Space, Epilogue>;
  Product<T> const& p = batch.first;
  if (p.m == 0 || p.n == 0 || batch.size() == 0) return;
  std::size_t const column_tiles = (p.n + Gemm::tile - 1) / Gemm::tile;
  std::size_t const tiles = (p.m + Gemm::tile - 1) / Gemm::tile * column_tiles;
  auto policy = Kokkos::TeamPolicy<Space>(space, static_cast<int>(tiles * batch.size()), Kokkos::AUTO)
                    .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Gemm::scratch_bytes())));
  static_assert(sizeof(Gemm) <= 256);  // Kokkos passes it as the kernel's argument: see SpaceContext
  LaunchTurn const turn;
  Kokkos::parallel_for(tool_label("trireme::portable_gemm"), policy, Gemm{batch, column_tiles, tiles, epilogue});
}

}  // namespace trireme::detail
