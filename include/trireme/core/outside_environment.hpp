/// Errors about what was done outside of an Environment.
#pragma once

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace trireme::detail {

/// The number of Environments that live now.
inline std::atomic<int>& environments() {
  static std::atomic<int> count{0};
  return count;
}

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
[[noreturn]] inline void end_without_environment() noexcept {
  try {
    if (std::exception_ptr const error = std::current_exception()) std::rethrow_exception(error);
  } catch (std::exception const& error) {
    std::fflush(stdout);
    std::fprintf(stderr, "trireme: %s\n", error.what());
  } catch (...) {
  }
  std::_Exit(1);
}

/// True unless the program has set a std::terminate handler of its own.
inline bool default_terminate_handler() {
  auto const handler = std::get_terminate();
  return handler == terminate_handler_at_start || handler == &end_without_environment;
}

/// Throws an error about what was done outside of an Environment. Uncaught, it still ends the program with
/// exit code 1 and one line, unless the program handles std::terminate itself.
template <class E>
[[noreturn]] void raise_outside_environment(E error) {
  if (environments() == 0 && default_terminate_handler()) std::set_terminate(&end_without_environment);
  throw error;
}

}  // namespace trireme::detail
