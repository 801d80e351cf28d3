/// Instances of trireme/strategies/data_parallel/partition_totals.hpp, in the library alone.
#pragma once

#include "trireme/strategies/data_parallel/partition_totals.hpp"

#include <Kokkos_Core.hpp>

#ifdef TRIREME_COMPILED
namespace trireme {

template class PartitionTotals<Kokkos::DefaultHostExecutionSpace>;

}  // namespace trireme
#endif
