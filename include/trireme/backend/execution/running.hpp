/// Errors for uses of Kokkos while it is not running.
#pragma once

#include <atomic>
#include <cstddef>
#include <string_view>
#include <utility>

#include <Kokkos_Core.hpp>

#include "trireme/core/error.hpp"
#include "trireme/core/outside_environment.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// \throws Error unless Kokkos runs. \param what  the subject of the sentence
inline void require_kokkos(std::string_view what) {
  if (Kokkos::is_initialized() && !Kokkos::is_finalized()) return;
  raise_outside_environment(
      Error(formatted("{} {}", what,
                      Kokkos::is_finalized()
                          ? "was made after Kokkos had ended; make it while the Environment lives"
                          : "was made while Kokkos is not running; make an Environment first, at the start of main")));
}

/// Member of objects that hold Kokkos's memory, and so must not outlive it.
class NeedsKokkos {
 public:
  /// Of what holds such memory already.
  NeedsKokkos() : counts_(true) { ++living(); }
  explicit NeedsKokkos(std::string_view what) : counts_(true) {
    require_kokkos(what);
    ++living();
  }
  NeedsKokkos(NeedsKokkos const& other) noexcept : counts_(other.counts_) {
    if (counts_) ++living();
  }
  NeedsKokkos(NeedsKokkos&& other) noexcept : counts_(std::exchange(other.counts_, false)) {}
  NeedsKokkos& operator=(NeedsKokkos other) noexcept {
    std::swap(counts_, other.counts_);
    return *this;
  }
  ~NeedsKokkos() {
    if (counts_) --living();
  }

  /// The number of live objects.
  static std::atomic<std::size_t>& living() {
    static std::atomic<std::size_t> count{0};
    return count;
  }

 private:
  bool counts_;
};

}  // namespace trireme::detail

namespace trireme {

/// The execution space of a strategy that is constructed without one: Kokkos's default instance.
/// \throws Error unless Kokkos runs
template <class Space>
Space default_space() {
  detail::require_kokkos("a strategy");
  return Space();
}

}  // namespace trireme
