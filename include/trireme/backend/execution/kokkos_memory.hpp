/// The count of objects that hold Kokkos's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace trireme {

/// Member of objects that hold Kokkos's memory, and so must not outlive it: an Environment that ends before one of them
/// ends the program with a sentence.
class HoldsKokkosMemory {
 public:
  /// Counts the object.
  HoldsKokkosMemory() { ++living(); }
  HoldsKokkosMemory(HoldsKokkosMemory const& other) noexcept : counts_(other.counts_) {
    if (counts_) ++living();
  }
  HoldsKokkosMemory(HoldsKokkosMemory&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}
  HoldsKokkosMemory& operator=(HoldsKokkosMemory other) noexcept {
    std::swap(counts_, other.counts_);
    return *this;
  }
  ~HoldsKokkosMemory() {
    if (counts_) --living();
  }

  /// The number of live objects.
  static std::atomic<std::size_t>& living() {
    static std::atomic<std::size_t> count{0};
    return count;
  }

 private:
  bool counts_ = true;
};

}  // namespace trireme
