/// libtpu: its location and the environment that it needs.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

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

}  // namespace trireme::pjrt
