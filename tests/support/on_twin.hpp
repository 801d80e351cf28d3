/// Headers of nearly every test, with the device in software as the default space of strategies.
#pragma once

#include "support/twin_device.hpp"

namespace Kokkos {
using TwinExecutionSpace = trireme::test::TwinDevice;
}
#define DefaultExecutionSpace TwinExecutionSpace

#include "support/precompiled.hpp"
