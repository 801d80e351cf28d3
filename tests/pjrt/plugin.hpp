/// The PJRT plugin that the tests run on.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>

#include "trireme/pjrt/strategy/pjrt.hpp"

namespace trireme::test {

/// The plugin for CPUs, found when the tests were configured.
inline std::string plugin() {
  if (char const* const path = std::getenv("TRIREME_PJRT_PLUGIN")) return path;
#ifdef TRIREME_PJRT_PLUGIN
  return TRIREME_PJRT_PLUGIN;
#else
  return "pjrt_c_api_cpu_plugin.so";
#endif
}

/// Compiles everything anew.
inline PjrtStrategy pjrt_strategy(std::size_t replicas = 1) {
  return {.plugin = plugin(), .replicas = replicas, .cache = ""};
}

}  // namespace trireme::test
