/// Definitions of trireme/core/outside_environment.hpp.
#pragma once

#include "trireme/core/outside_environment.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE std::atomic<int>& environments() {
  static std::atomic<int> count{0};
  return count;
}

/// The text of the last error that was raised outside of an Environment.
struct OutsideError {
  std::mutex mutex;
  std::string text;

  static OutsideError& last() {
    static OutsideError& error = *new OutsideError;  // never destroyed: destructors of static objects may raise one
    return error;
  }
};

TRIREME_INLINE void expect_outside_environment(char const* what) {
  std::lock_guard const lock(OutsideError::last().mutex);
  OutsideError::last().text = what;
  std::set_terminate(&end_without_environment);
}

TRIREME_INLINE void end_without_environment() noexcept {
  try {
    if (std::exception_ptr const error = std::current_exception()) std::rethrow_exception(error);
  } catch (std::exception const& error) {
    std::lock_guard const lock(OutsideError::last().mutex);
    if (error.what() == OutsideError::last().text) {
      std::fflush(stdout);
      std::fprintf(stderr, "trireme: %s\n", error.what());
      std::_Exit(1);
    }
  } catch (...) {
  }
  if (terminate_handler_at_start != nullptr) terminate_handler_at_start();
  std::abort();
}

TRIREME_INLINE bool default_terminate_handler() {
  auto const handler = std::get_terminate();
  return handler == terminate_handler_at_start || handler == &end_without_environment;
}

}  // namespace trireme::detail
