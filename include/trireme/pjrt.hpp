/// Everything of trireme, and training steps as programs for PJRT plugins: TPUStrategy and its kin. Apart from
/// trireme.hpp, since what lowers models takes a tenth of a program's time to read.
#pragma once

#include "trireme/pjrt/strategy/pjrt.hpp"
#include "trireme/pjrt/strategy/step_memory.hpp"
#include "trireme/trireme.hpp"
