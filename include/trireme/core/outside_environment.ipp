/// Definitions of trireme/core/outside_environment.hpp.
#pragma once

#include "trireme/core/outside_environment.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE std::atomic<int>& environments() {
  static std::atomic<int> count{0};
  return count;
}

TRIREME_INLINE void end_without_environment() noexcept {
  try {
    if (std::exception_ptr const error = std::current_exception()) std::rethrow_exception(error);
  } catch (std::exception const& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "trireme: %s\n", error.what());
  } catch (...) {
  }
  std::_Exit(1);
}

TRIREME_INLINE bool default_terminate_handler() {
  auto const handler = std::get_terminate();
  return handler == terminate_handler_at_start || handler == &end_without_environment;
}

}  // namespace trireme::detail
