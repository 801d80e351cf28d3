/// The PartitionPlan of a model.
#pragma once

#include <cstddef>
#include <string>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/statistics_scope.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"

namespace trireme {

/// Elements of weights from which their way between the caches of cores takes longer than dividing a step's kernels
/// does: a core reads what another one has written at some 5 GB/s, and a step divides about five kernels, in a
/// microsecond each.
inline constexpr std::size_t least_owned_weights = std::size_t{1} << 15;

/// Rows of a batch up to which threads own rows of the weights (`PartitionPlan::whole_rows`): as long as partial
/// results of products are small beside the matrices. 0 for a model that uses its weights more than once a sample, as
/// convolutions do, that looks some of them up, or that is mostly small.
std::size_t rows_for_owned_weights(ModelDescription const& model);

/// Operations of forward from which half of a thread's rows are worth a partition: with backward it takes some
/// milliseconds.
inline constexpr std::size_t flops_of_fine_partition = std::size_t{1} << 27;
/// Operations of forward for each element of the gradients from which it is worth one: the sum over partitions then
/// takes little time beside them.
inline constexpr std::size_t flops_of_element = 128;
/// Rows for each thread that are enough for two partitions in all models that have them: others have short steps.
inline constexpr std::size_t most_fine_rows = std::size_t{1} << 12;

/// Rows of a batch from which `plan` has two partitions a thread (`PartitionPlan::fine_rows`), so that threads which
/// lose their cores to other processes take fewer of them than others. 0 for a model whose rows take little time; for a
/// large one, since each partition has gradients of its own; and for one with statistics over rows of a batch, since
/// its partitions run at once.
std::size_t rows_for_fine_partitions(ModelDescription const& model, PartitionPlan const& plan, std::size_t scalar_size);

/// The plan for a model. A model that sums over rows of the whole batch needs all partitions to run at once, so
/// replicas that would run in turn become one: for such a model they are equivalent. \throws ValueError if another of
/// its layers sums over the rows of each replica.
PartitionPlan plan_model(ModelDescription const& model, Parallelism plan, std::size_t replicas, std::size_t concurrency,
                         std::size_t scalar_size, bool host);

/// The plan as text, for a group of `size` processes with threads of a space: "2 processes with 4 threads of OpenMP,
/// …".
std::string placement_text(PartitionPlan const& plan, std::size_t size, char const* members, int threads,
                           char const* space);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/data_parallel/partition_plan.ipp"
#endif
