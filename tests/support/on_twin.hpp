/// What nearly every test includes, with the device in software as the space of strategies to which a test gives none.
#pragma once

#include "support/twin_device.hpp"

namespace Kokkos {
using TwinExecutionSpace = trireme::test::TwinDevice;
}
#define DefaultExecutionSpace TwinExecutionSpace

#include "support/precompiled.hpp"
