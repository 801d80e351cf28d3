/// libtpu: where it is, and what it has to be told.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace trireme::pjrt {

/// $TPU_LIBRARY_PATH, as for other programs that load libtpu, or the name that the dynamic linker looks for.
inline std::string tpu_library() {
  char const* const path = std::getenv("TPU_LIBRARY_PATH");
  return path && *path ? path : "libtpu.so";
}

/// Whether a TPU is plugged into this machine: a PCI device whose vendor is Google.
inline bool has_tpu(std::string const& devices = "/sys/bus/pci/devices") {
  std::error_code error;
  for (auto const& device : std::filesystem::directory_iterator(devices, error)) {
    std::ifstream file(device.path() / "vendor");
    std::string vendor;
    if (file >> vendor && vendor == "0x1ae0") return true;
  }
  return false;
}

/// Where there is no TPU, libtpu would ask Google's cloud for one for minutes before it says so: it is told not to,
/// unless the environment says otherwise.
inline void spare_the_search_for_tpus() {
  if (!has_tpu()) ::setenv("TPU_SKIP_MDS_QUERY", "1", 0);
}

}  // namespace trireme::pjrt
