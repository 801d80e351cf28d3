/// How the replicas of one process run.
#pragma once

#include <algorithm>
#include <cstddef>

namespace trireme {

/// On a host: `rows` divides a batch's rows into as many lanes as there are threads, and a thread takes a lane through
/// all layers; `products` lets all threads work on each product. `automatic` takes rows while the parameters fit a
/// core's cache.
enum class Plan { automatic, rows, products };

/// Beyond this many bytes of parameters a gradient arena for each thread costs more than it brings.
inline constexpr std::size_t rows_plan_limit = std::size_t{4} << 20;

/// What was chosen: `lanes` slices of the batch, each with a gradient arena of its own, run by `threads` threads at
/// once (1: in turn, each by the whole space).
struct LanePlan {
  std::size_t replicas = 1;
  std::size_t lanes = 1;
  std::size_t threads = 1;
  bool rows = false;
  std::size_t shards = 0;  ///< if not 0: the global batch has so many, and each lane has one of them
};

/// The sums of lane `from` are added to those of lane `to`.
struct LaneSum {
  std::size_t to, from;
};

/// Lanes are replicas, divided further while threads are left; sums run over lanes in order, so over replicas in order.
constexpr LanePlan plan_lanes(Plan plan, std::size_t replicas, std::size_t concurrency, std::size_t parameter_bytes,
                              bool host) {
  bool const rows = host && (plan == Plan::rows || (plan == Plan::automatic && parameter_bytes <= rows_plan_limit));
  if (!rows) return {replicas, replicas, 1, false};
  std::size_t const lanes_per_replica = std::max<std::size_t>(1, concurrency / replicas);
  std::size_t const lanes = replicas * lanes_per_replica;
  return {replicas, lanes, std::min(lanes, concurrency), true};
}

/// The rows [begin, end) of `rows` that part `index` of `count` has: as even as can be, possibly none.
struct RowRange {
  std::size_t begin, end;
};
constexpr RowRange row_range(std::size_t rows, std::size_t index, std::size_t count) {
  return {rows * index / count, rows * (index + 1) / count};
}

/// The rows of a lane: replicas share the batch evenly, and lanes the rows of their replica.
constexpr RowRange lane_rows(LanePlan const& plan, std::size_t lane, std::size_t rows) {
  std::size_t const per_replica = plan.lanes / plan.replicas;
  RowRange const replica = row_range(rows, lane / per_replica, plan.replicas);
  // The last part is the largest. It is the first lane's, to whose gradients those of the others are added: so that a
  // batch of fewer rows than lanes leaves some of the others out, and not that one.
  std::size_t const index = per_replica - 1 - lane % per_replica;
  RowRange const part = row_range(replica.end - replica.begin, index, per_replica);
  return {replica.begin + part.begin, replica.begin + part.end};
}

/// Whether a strategy places parts of another type than its own (`place_as`), as adaptors around it ask for.
template <class Strategy>
inline constexpr bool places_parts = requires {
  requires Strategy::places_parts;
};

}  // namespace trireme
