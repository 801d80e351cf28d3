// What the MPI says of memory of GPUs.
#pragma once

#include <string_view>

/// "yes", "no", or "it does not say", of reading and writing memory of such devices.
struct DeviceMemory {
  std::string_view cuda, hip;
};
DeviceMemory device_memory_of_mpi();
