/// The execution context of a whole execution space: all threads of a host, or a stream of a device, work on each
/// kernel. Its members and promises are those of ThreadContext; calls return when the work is enqueued, and `fence`
/// waits for it. The whole space works on a replica, so that of the sums over replicas only those over the global batch
/// leave it, through what `set_exchange` names; null: the slice has all rows of the batch.
#pragma once

#include "trireme/backend/execution/device_space_context.hpp"
#include "trireme/backend/execution/host_space_context.hpp"
