/// Gradients of ranks that share memory: each rank reads those of the others in place.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/simd/simd.hpp"
#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/shared_arrays.hpp"
#include "trireme/strategies/gradients/bucket_range.hpp"

namespace trireme {

namespace kernels {

/// Calls f(begin, n, sums) for blocks of the elements [begin, end), sums[i] being that of element begin + i over all
/// ranks. They are added in the order of the ranks, so the sums are bitwise the same on every rank.
template <class T, class F>
struct RankSums {
  static constexpr std::size_t block = 1024;  // stays in the first cache
  T const* const* arrays;
  std::size_t ranks;
  std::size_t begin, end;
  F f;

  std::size_t blocks() const { return (end - begin + block - 1) / block; }
  void operator()(std::size_t index) const {
    alignas(64) T sums[block];
    std::size_t const first = begin + index * block, n = std::min(end - first, block);
    std::copy_n(arrays[0] + first, n, sums);
    for (std::size_t rank = 1; rank < ranks; ++rank) {
      T const* const other = arrays[rank] + first;
      TRIREME_SIMD
      for (std::size_t i = 0; i < n; ++i) sums[i] += other[i];
    }
    f(first, n, static_cast<T const*>(sums));
  }
};

template <class T>
struct StoreSums {
  T* arena;
  void operator()(std::size_t begin, std::size_t n, T const* sums) const { std::copy_n(sums, n, arena + begin); }
};

/// to = from for the elements [begin, end), a block at a time.
template <class T>
struct CopyRange {
  static constexpr std::size_t block = 4096;
  T const* from;
  T* to;
  std::size_t begin, end;
  std::size_t blocks() const { return (end - begin + block - 1) / block; }
  void operator()(std::size_t index) const {
    std::size_t const first = begin + index * block;
    std::copy_n(from + first, std::min(end - first, block), to + first);
  }
};

}  // namespace kernels

/// The gradient arenas of all ranks, each in memory that the others read. Faster than messages, which copy; it sums the
/// whole arena at once, since the threads that read and add are those that compute.
template <class T, class Space>
class SharedGradients {
  static constexpr bool on_host = std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>;

 public:
  /// Null if memory cannot be shared. Sums elements of `ranges` only. Collective.
  static std::unique_ptr<SharedGradients> make(Communicator const& communicator, Space const& space,
                                               std::size_t elements, std::vector<BucketRange> ranges) {
    if constexpr (on_host)
      if (auto arrays = SharedArrays<T>::make(communicator, elements))
        return std::unique_ptr<SharedGradients>(
            new SharedGradients(std::move(arrays), space, elements, std::move(ranges)));
    return nullptr;
  }

  /// The same for all elements.
  static std::unique_ptr<SharedGradients> make(Communicator const& communicator, Space const& space,
                                               std::size_t elements) {
    return make(communicator, space, elements, {{0, elements}});
  }

  /// The arena for this rank's gradients.
  T* arena() { return arrays_->own(); }
  /// The arena of another rank, to be read between two meetings.
  T const* arena(std::size_t rank) const { return arrays_->all()[rank]; }

  /// True if the ranges cover all elements.
  bool is_whole() const { return ranges_.size() == 1 && ranges_[0].begin == 0 && ranges_[0].end == elements_; }

  /// Before this rank overwrites its gradients: waits until the others have read them.
  void begin() { arrays_->wait(); }

  /// Puts the sums over all ranks into each rank's arena.
  void sum() {
    ProfilingRegion const region("trireme::SharedGradients::sum");
    meet();
    // A rank stores its share of the sums in its own arena, where the others do not read yet.
    auto const share = [&](std::size_t rank) { return elements_ * rank / arrays_->all().size(); };
    for_sums(share(arrays_->rank()), share(arrays_->rank() + 1), kernels::StoreSums<T>{arena()});
    barrier();
    for (std::size_t rank = 0; rank < arrays_->all().size(); ++rank)
      if (rank != arrays_->rank()) {
        for_ranges(share(rank), share(rank + 1), [&](std::size_t begin, std::size_t end) {
          kernels::CopyRange<T> const kernel{arrays_->all()[rank], arena(), begin, end};
          loop("trireme::copy_sums", kernel.blocks(), kernel);
        });
      }
    barrier();  // now the others have this rank's share too, and the arena is the caller's
  }

  /// Waits until all ranks have called it: their gradients are complete, or have been read.
  void meet() {
    space_.fence(tool_label("trireme: complete before other ranks read"));
    barrier();
  }

  /// Calls f(begin, n, sums) for all blocks of the elements [begin, end) on the thread of the caller, and stores no
  /// sums. Between two meetings, in which no rank writes its arena.
  template <class F>
  void for_each_sum(std::size_t begin, std::size_t end, F const& f) const {
    if constexpr (on_host) {
      kernels::RankSums<T, F> const kernel{arrays_->all().data(), arrays_->all().size(), begin, end, f};
      for (std::size_t block = 0; block < kernel.blocks(); ++block) kernel(block);
    }
  }

 private:
  SharedGradients(std::unique_ptr<SharedArrays<T>> arrays, Space const& space, std::size_t elements,
                  std::vector<BucketRange> ranges)
      : arrays_(std::move(arrays)), space_(space), elements_(elements), ranges_(std::move(ranges)) {}

  void barrier() {
    arrays_->arrive();
    arrays_->wait();
  }

  template <class F>
  void for_sums(std::size_t begin, std::size_t end, F const& f) {
    for_ranges(begin, end, [&](std::size_t first, std::size_t last) {
      kernels::RankSums<T, F> const kernel{arrays_->all().data(), arrays_->all().size(), first, last, f};
      loop("trireme::rank_sums", kernel.blocks(), kernel);
    });
  }

  /// f(begin, end) for the parts of the elements [begin, end) that are in the ranges.
  template <class F>
  void for_ranges(std::size_t begin, std::size_t end, F const& f) {
    for (BucketRange const& range : ranges_)
      if (std::max(begin, range.begin) < std::min(end, range.end))
        f(std::max(begin, range.begin), std::min(end, range.end));
  }

  /// f(i) for i < n, complete when it returns.
  template <class F>
  void loop(char const* label, std::size_t n, F const& f) {
    if constexpr (on_host) {
      detail::host_loop(space_, threads_, label, n, f);
      space_.fence(tool_label("trireme: sums of ranks complete"));
    }
  }

  std::unique_ptr<SharedArrays<T>> arrays_;
  Space space_;
  std::size_t threads_ = static_cast<std::size_t>(space_.concurrency());  // asking allocates
  std::size_t elements_;
  std::vector<BucketRange> ranges_;
};

}  // namespace trireme
