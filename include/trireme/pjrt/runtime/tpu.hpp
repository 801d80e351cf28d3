/// libtpu: its location, the environment that it needs, and its topologies.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include "trireme/pjrt/runtime/topology.hpp"

namespace trireme::pjrt {

/// Path of libtpu: $TPU_LIBRARY_PATH, as for other programs that load it, or its name for the dynamic linker.
inline std::string tpu_library() {
  char const* const path = std::getenv("TPU_LIBRARY_PATH");
  return path && *path ? path : "libtpu.so";
}

/// True if this machine has a TPU: a PCI device whose vendor is Google.
inline bool has_tpu(std::string const& devices = "/sys/bus/pci/devices") {
  std::error_code error;
  for (auto const& device : std::filesystem::directory_iterator(devices, error)) {
    std::ifstream file(device.path() / "vendor");
    std::string vendor;
    if (file >> vendor && vendor == "0x1ae0") return true;
  }
  return false;
}

/// Disables libtpu's query of Google's cloud on a machine without a TPU, since it takes minutes before it fails. A
/// TPU_SKIP_MDS_QUERY that is set already stays.
inline void spare_the_search_for_tpus() {
  if (!has_tpu()) ::setenv("TPU_SKIP_MDS_QUERY", "1", 0);
}

/// TPUs that this machine need not have, by libtpu's name for them, such as "v5e:2x2": a generation, and the chips
/// along each axis. Sets variables of the environment for libtpu, unless they are set: it takes this process as the
/// only one, does not search for TPUs, and leaves those of this machine to others.
/// \throws PluginError if the library cannot be loaded or does not know the name
inline Topology tpu_topology(std::string const& name, std::string const& library = tpu_library()) {
  for (auto const& [variable, value] : {std::pair{"TPU_WORKER_HOSTNAMES", "localhost"},
                                        {"TPU_WORKER_ID", "0"},
                                        {"TPU_SKIP_MDS_QUERY", "1"},
                                        {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"}})
    ::setenv(variable, value, 0);
  return Topology(Plugin::load(library), name);
}

}  // namespace trireme::pjrt
