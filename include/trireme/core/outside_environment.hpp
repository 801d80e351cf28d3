/// Errors about what was done outside of an Environment.
#pragma once

#include <atomic>
#include <exception>

namespace trireme::detail {

/// The number of Environments that live now.
std::atomic<int>& environments();

/// Member of an Environment.
struct LivingEnvironment {
  LivingEnvironment() { ++environments(); }
  ~LivingEnvironment() { --environments(); }
  LivingEnvironment(LivingEnvironment const&) = delete;
  LivingEnvironment& operator=(LivingEnvironment const&) = delete;
};

/// The std::terminate handler before main.
inline std::terminate_handler const terminate_handler_at_start = std::get_terminate();

/// The std::terminate handler where no Environment has set its own: one line for the last error of
/// `expect_outside_environment`, and the handler before main for others.
[[noreturn]] void end_without_environment() noexcept;

/// Sets that handler for an error of this text.
void expect_outside_environment(char const* what);

/// True unless the program has set a std::terminate handler of its own.
bool default_terminate_handler();

/// Throws an error about what was done outside of an Environment. Uncaught, it still ends the program with
/// exit code 1 and one line, unless the program handles std::terminate itself.
template <class E>
[[noreturn]] void raise_outside_environment(E error) {
  if (environments() == 0 && default_terminate_handler()) expect_outside_environment(error.what());
  throw error;
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/core/outside_environment.ipp"
#endif
