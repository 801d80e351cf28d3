/// Errors for uses of Kokkos while it is not running.
#pragma once

#include <string_view>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/kokkos_memory.hpp"
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

/// The same where the object is made by a user, who may be too early or too late.
class NeedsKokkos : public HoldsKokkosMemory {
 public:
  /// \throws Error unless Kokkos runs. \param what  the subject of the sentence
  explicit NeedsKokkos(std::string_view what) { require_kokkos(what); }
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
