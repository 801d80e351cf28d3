/// Headers of programs for the device in software, in the order that they need.
#pragma once

#include "support/twin_device.hpp"

#include "support/precompiled.hpp"
