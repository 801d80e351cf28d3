/// All lowerings, and the programs of a model.
#pragma once

#include "trireme/pjrt/lowering/activations.hpp"
#include "trireme/pjrt/lowering/conv2d.hpp"
#include "trireme/pjrt/lowering/dense.hpp"
#include "trireme/pjrt/lowering/dropout.hpp"
#include "trireme/pjrt/lowering/each.hpp"
#include "trireme/pjrt/lowering/frozen.hpp"
#include "trireme/pjrt/lowering/graph.hpp"
#include "trireme/pjrt/lowering/joins.hpp"
#include "trireme/pjrt/lowering/losses.hpp"
#include "trireme/pjrt/lowering/metrics.hpp"
#include "trireme/pjrt/lowering/optimizers.hpp"
#include "trireme/pjrt/lowering/programs.hpp"
#include "trireme/pjrt/lowering/shared.hpp"
