/// DeviceProducts: the kernel for each matrix product on a device, and its launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/team_memory.hpp"
#include "trireme/backend/gemm/async_copy.hpp"
#include "trireme/backend/gemm/device_blas.hpp"
#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/gemm_division.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/gemm/shallow_gemm.hpp"
#include "trireme/backend/gemm/tiled_gemm.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme::detail {

/// True for kernels that Kokkos passes as an argument: SpaceContext says why.
template <class Kernel>
inline constexpr bool fits_argument = sizeof(Kernel) <= 256;

template <std::uint32_t Extent, class T, class Space, class Epilogue>
void launch_tiles(Space const& space, TeamMemory<Space>& memory, ProductBatch<T> const& batch,
                  GemmDivision const& division, Epilogue const& epilogue) {
  using Gemm = TiledGemm<T, Space, Epilogue, Extent>;
  static_assert(fits_argument<Gemm>);
  std::size_t const tiles = division.tiles * batch.size();
  bool const stores_four = epilogue.takes_four(batch.first) && batch.groups.c % 4 == 0 && batch.within.c % 4 == 0;
  Gemm gemm{batch, division, epilogue, stores_four};
  if (division.parts > 1) {
    // Memory of Kokkos is aligned to 64 bytes and more.
    gemm.sums = reinterpret_cast<Four<T>*>(
        memory.template numbers<T>(space, tiles * division.tree().places() * Extent * Extent));
    gemm.arrivals = memory.arrivals(space, tiles * division.tree().bunches());
  }
  // Without the bound a compiler keeps registers free for teams of 1,024 threads.
  using Policy = Kokkos::TeamPolicy<Space, Kokkos::LaunchBounds<Gemm::threads>>;
  auto const policy = Policy(space, static_cast<int>(tiles * division.parts), static_cast<int>(Gemm::threads), 1)
                          .set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Gemm::scratch_bytes())));
  LaunchTurn const turn;
  Kokkos::parallel_for(tool_label("trireme::tiled_gemm"), policy, gemm);
}

/// Enqueues products in tiles.
/// \param memory  where the teams leave sums for each other
template <class T, class Space, class Epilogue = StoreEpilogue<T>>
void tiled_gemm(Space const& space, TeamMemory<Space>& memory, ProductBatch<T> const& batch,
                GemmDivision const& division, Epilogue const& epilogue = {}) {
  if constexpr (takes_large_tiles<T>)
    if (division.extent == GemmDivision::large_tile)
      return launch_tiles<GemmDivision::large_tile>(space, memory, batch, division, epilogue);
  launch_tiles<GemmDivision::small_tile>(space, memory, batch, division, epilogue);
}

/// Products on a space: those of little depth, those in tiles, and those of the vendor's library, if it is linked.
///
/// A product with an epilogue (epilogue.hpp) is one launch, or is declined: then the result is false, nothing is
/// enqueued, and the caller computes product and epilogue by kernels of their own.
template <class Space>
class DeviceProducts {
 public:
  /// True without a vendor's library.
  static constexpr bool portable = DeviceBlas<Space>::portable;

  explicit DeviceProducts(Space const& space) : blas_(space) {}

  /// \param memory  where the teams leave sums for each other
  template <class T>
  void multiply(Space const& space, TeamMemory<Space>& memory, ProductBatch<T> const& batch) const {
    if (batch.first.m == 0 || batch.first.n == 0 || batch.size() == 0) return;
    if (batch.size() == 1 && is_shallow(batch.first, false)) return shallow_gemm(space, batch.first);
    if constexpr (!portable)
      if (!pays_in_tiles(batch, takes_large && batch.group > 1)) return blas_.gemm(space, batch);
    tiled_gemm(space, memory, batch, divide_gemm(batch));
  }
  template <class T, class Epilogue>
  auto multiply(Space const& space, TeamMemory<Space>& memory, Product<T> const& product,
                Epilogue const& epilogue) const {
    constexpr bool fits = fits_argument<TiledGemm<T, Space, Epilogue, GemmDivision::small_tile>>;
    if constexpr (portable) {
      if constexpr (fits) by_own_kernel(space, memory, product, epilogue);
      return std::bool_constant<fits>{};
    } else {
      if constexpr (fits)
        if (is_shallow(product, true) ||
            pays_in_tiles(ProductBatch<T>{product}, takes_large && !DeviceBlas<Space>::template may_take<Epilogue>)) {
          by_own_kernel(space, memory, product, epilogue);
          return true;
        }
      return blas_.gemm(space, product, epilogue);
    }
  }

 private:
  /// True if copies run beside the arithmetic, without which large products take longer than the library's.
  static constexpr bool takes_large = AsyncCopies<Space>::overlap;

  template <class T, class Epilogue>
  static void by_own_kernel(Space const& space, TeamMemory<Space>& memory, Product<T> const& product,
                            Epilogue const& epilogue) {
    if (product.m == 0 || product.n == 0) return;
    if (is_shallow(product, true))
      shallow_gemm(space, product, epilogue);
    else
      tiled_gemm(space, memory, ProductBatch<T>{product}, divide_gemm(ProductBatch<T>{product}), epilogue);
  }

  DeviceBlas<Space> blas_;
};

}  // namespace trireme::detail
