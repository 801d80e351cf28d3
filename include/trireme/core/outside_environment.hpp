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

/// The std::terminate handler where no Environment has set its own.
[[noreturn]] void end_without_environment() noexcept;

/// True unless the program has set a std::terminate handler of its own.
bool default_terminate_handler();

/// Throws an error about what was done outside of an Environment. Uncaught, it still ends the program with
/// exit code 1 and one line, unless the program handles std::terminate itself.
template <class E>
[[noreturn]] void raise_outside_environment(E error) {
  if (environments() == 0 && default_terminate_handler()) std::set_terminate(&end_without_environment);
  throw error;
}

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/core/outside_environment.ipp"
#endif
