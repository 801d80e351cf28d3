/// SpaceContext of a device: each kernel is a launch on its stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/convolution/device_convolution.hpp"
#include "trireme/backend/execution/column_sums.hpp"
#include "trireme/backend/execution/device_products.hpp"
#include "trireme/backend/execution/lanes.hpp"
#include "trireme/backend/execution/recorded_work.hpp"
#include "trireme/backend/execution/running.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/backend/execution/team_memory.hpp"
#include "trireme/backend/execution/team_sums.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/backend/threads/launch_turn.hpp"
#include "trireme/backend/threads/profiling.hpp"

namespace trireme {

/// The execution context of a whole space: space_context.hpp.
template <class Space>
class SpaceContext;

namespace detail {

template <class F>
struct FlatElements {
  F f;
  std::size_t columns;
  bool short_index;  ///< 32 bits suffice: a device divides those several times as fast
  KOKKOS_FUNCTION void operator()(std::size_t e) const {
    if (short_index) {
      auto const index = static_cast<std::uint32_t>(e), width = static_cast<std::uint32_t>(columns);
      std::uint32_t const row = index / width;
      f(row, index - row * width);
    } else {
      f(e / columns, e % columns);
    }
  }
};

/// Four neighbouring elements an index, and those that are left over.
template <class F>
struct Fours {
  F f;
  std::size_t n;
  KOKKOS_FUNCTION void operator()(std::size_t index) const {
    std::size_t const first = 4 * index;
    if (first + 4 <= n)
      f.four(first);
    else
      for (std::size_t i = first; i < n; ++i) f(i);
  }
};

/// Four neighbouring columns an index.
template <class F>
struct FlatFours {
  F f;
  std::uint32_t fours;  ///< of a row
  KOKKOS_FUNCTION void operator()(std::size_t e) const {
    auto const index = static_cast<std::uint32_t>(e);
    std::uint32_t const row = index / fours;
    f.four(row, std::size_t{index - row * fours} * 4);
  }
};

}  // namespace detail

/// Sums are by teams, in an order that does not depend on the device.
template <class Space>
  requires(!is_host_space<Space>)
class SpaceContext<Space> {
 public:
  using memory_space = typename Space::memory_space;
  /// True if steps on the space can be recorded.
  static constexpr bool records_steps = RecordsWork<Space>;
  static constexpr bool owns_rows = false;

  /// Context of the whole space.
  explicit SpaceContext(Space const& space = default_space<Space>())
      : space_(space), products_(space), convolutions_(space) {}

  /// Threads of the space.
  std::size_t threads() const { return threads_; }
  /// Execution space.
  Space const& space() const { return space_; }
  /// Waits for all work of the space so far.
  void fence(char const* label) const { space_.fence(tool_label(label)); }

  template <class F>
  void for_each(char const* label, std::size_t n, F const& f) const {
    using Indices = Kokkos::RangePolicy<Space, Kokkos::IndexType<std::size_t>>;
    if (n == 0) return;
    if constexpr (requires { f.four(n); })
      if (f.takes_four()) return launch(label, Indices(space_, 0, (n + 3) / 4), detail::Fours<F>{f, n});
    launch(label, Indices(space_, 0, n), f);
  }
  template <class F>
  void for_each(char const* label, std::size_t rows, std::size_t columns, F const& f) const {
    bool const is_short = rows * columns <= std::numeric_limits<std::uint32_t>::max();
    if constexpr (requires { f.four(rows, columns); })
      if (is_short && f.takes_four())
        return for_each(label, rows * columns / 4, detail::FlatFours<F>{f, static_cast<std::uint32_t>(columns / 4)});
    for_each(label, rows * columns, detail::FlatElements<F>{f, columns, is_short});
  }

  template <class F>
  void for_rows(char const* label, std::size_t n, F const& f) const {
    for_each(label, n, f);
  }
  template <class F>
  void for_rows(char const* label, std::size_t rows, std::size_t columns, F const& f) const {
    std::size_t const lanes = detail::lanes_for(columns), threads = team_lanes / lanes;
    launch_teams(label, detail::OfTeamLanes<F, Space>{f, rows}, blocks_of(rows, threads), threads, lanes);
  }

  /// A kernel of `league` teams of `threads` threads with `lanes` vector lanes each, and scratch memory as its member
  /// `scratch_bytes` says.
  template <class Kernel>
  void for_teams(char const* label, Kernel const& kernel, std::size_t league, std::size_t threads,
                 std::size_t lanes) const {
    launch_teams(label, kernel, league, threads, lanes);
  }

  template <class F>
  void accumulate(char const* label, std::size_t n, F const& f, double* totals) {
    using Totals = detail::TeamTotals<F, Space>;
    Totals kernel(f, n, totals);
    if (kernel.teams > 1) {
      kernel.partial = memory_.template numbers<double>(space_, kernel.teams * F::width);
      kernel.arrivals = memory_.arrivals(space_, 1);
    }
    launch_teams(label, kernel, kernel.teams, Totals::threads, 1);
  }

  template <class T>
  void column_sums(char const* label, std::size_t rows, std::size_t columns, T const* x, T* sums) {
    sum_columns(label, rows, columns, detail::MatrixElement<T>{x, columns}, sums);
  }

  template <class Sum, class Term>
  void sum_columns(char const* label, std::size_t rows, std::size_t columns, Term const& term, Sum* sums) {
    detail::TeamColumnSums<Sum, Term, Space> kernel(term, rows, columns, sums);
    if (kernel.row_blocks > 1) {
      kernel.partial = memory_.template numbers<Sum>(space_, kernel.tree().places() * columns);
      kernel.arrivals = memory_.arrivals(space_, kernel.tree().bunches() * kernel.column_blocks);
    }
    launch_teams(label, kernel, kernel.teams(), kernel.threads(), kernel.lanes);
  }

  template <class T>
  void gemm(Product<T> const& product) {
    gemm_batch(ProductBatch<T>{product});
  }
  /// The product with an epilogue, in one launch. False if the space has none for it; then nothing is enqueued.
  template <class T, class Epilogue>
  [[nodiscard]] auto gemm(Product<T> const& product, Epilogue const& epilogue) {
    return products_.multiply(space_, memory_, product, epilogue);
  }
  template <class T>
  void gemm_batch(ProductBatch<T> const& batch) {
    products_.multiply(space_, memory_, batch);
  }

  /// The vendor's convolutions.
  detail::DeviceConvolution<Space> const& convolutions() const { return convolutions_; }
  static constexpr std::size_t convolution_chunk(std::size_t bytes_per_sample) {
    return detail::convolution_chunk_of_space(bytes_per_sample);
  }

  /// True if some functor was too large for a kernel's argument: such a launch cannot be recorded.
  bool exceeds_arguments() const { return exceeds_arguments_; }
  /// Adds the address of memory that kernels use, which may move when it grows.
  void list_addresses(std::vector<std::uint64_t>& all) const {
    memory_.list_addresses(all);
    convolutions_.list_addresses(all);
  }

  /// Sum over processes of which `cross_replica_sum` makes use; null: the slice has all rows.
  void set_exchange(StatisticsSum* exchange) { exchange_ = exchange; }

  void cross_replica_sum(double* values, std::size_t count, StatisticsScope scope) {
    if (!exchange_ || scope != StatisticsScope::global) return;
    fence("trireme: sums of rows complete");
    Kokkos::View<double*, memory_space, Kokkos::MemoryUnmanaged> const device(values, count);
    auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), device);
    exchange_->sum(host.data(), count, scope);
    copy_view(space_, device, host);
  }

 private:
  /// Threads of a team times their vector lanes, where each works alone.
  static constexpr std::size_t team_lanes = 128;
  static constexpr std::size_t surely_argument = 256, largest_argument = 3584;

  static constexpr std::size_t blocks_of(std::size_t n, std::size_t block) { return (n + block - 1) / block; }

  template <class Kernel>
  void launch_teams(char const* label, Kernel const& kernel, std::size_t league, std::size_t threads,
                    std::size_t lanes) const {
    if (league == 0) return;
    auto policy =
        Kokkos::TeamPolicy<Space>(space_, static_cast<int>(league), static_cast<int>(threads), static_cast<int>(lanes));
    if constexpr (requires { kernel.scratch_bytes(); })
      policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(kernel.scratch_bytes())));
    launch(label, policy, kernel);
  }

  /// Kokkos passes functors of up to 512 bytes, with their policy, as the kernel's argument. It puts larger ones into
  /// the device's constant memory, of which there is one: the host would wait there for the kernel before, and a
  /// recording would find the functor of another kernel. Up to 4096 bytes an argument serves them too.
  template <class Policy, class Kernel>
  void launch(char const* label, Policy const& policy, Kernel const& kernel) const {
    if constexpr (sizeof(Kernel) > largest_argument) exceeds_arguments_ = true;
    detail::LaunchTurn const turn;
    if constexpr (sizeof(Kernel) <= surely_argument || sizeof(Kernel) > largest_argument)
      Kokkos::parallel_for(tool_label(label), policy, kernel);
    else
      Kokkos::parallel_for(
          tool_label(label),
          Kokkos::Experimental::require(policy, Kokkos::Experimental::WorkItemProperty::HintLightWeight), kernel);
  }

  Space space_;
  StatisticsSum* exchange_ = nullptr;
  mutable bool exceeds_arguments_ = false;
  std::size_t threads_ = static_cast<std::size_t>(space_.concurrency());
  detail::DeviceProducts<Space> products_;
  detail::DeviceConvolution<Space> convolutions_;
  detail::TeamMemory<Space> memory_;
};

}  // namespace trireme
