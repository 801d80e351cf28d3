/// What programs for the device in software include, in the order that they need.
#pragma once

#include "support/twin_device.hpp"

#include "support/precompiled.hpp"
