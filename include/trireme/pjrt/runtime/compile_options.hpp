/// Options of a compilation: XLA's message CompileOptionsProto, as far as it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace trireme::pjrt {

/// `devices`: the numbers of the devices that run the replicas, at least one, `shards` of them one after the other for
/// each replica.
/// Source: xla/pjrt/proto/compile_options.proto; xla/xla_data.proto for the assignment.
inline std::string compile_options(std::vector<std::int64_t> const& devices, std::size_t shards) {
  // Numbers of the fields; 0 replicas would end the process.
  constexpr protozero::pbf_tag_type build_options = 3, num_replicas = 4, num_partitions = 5, use_spmd = 6,
                                    device_assignment = 9;
  constexpr protozero::pbf_tag_type replica_count = 1, computation_count = 2, computation_devices = 3;
  constexpr protozero::pbf_tag_type replica_device_ids = 1;
  auto const replicas = static_cast<std::int64_t>(devices.size() / shards);
  std::string bytes;
  {
    protozero::pbf_writer options(bytes);
    protozero::pbf_writer build(options, build_options);
    build.add_int64(num_replicas, replicas);
    build.add_int64(num_partitions, static_cast<std::int64_t>(shards));
    if (shards > 1) build.add_bool(use_spmd, true);
    protozero::pbf_writer assignment(build, device_assignment);
    assignment.add_int32(replica_count, static_cast<std::int32_t>(replicas));
    assignment.add_int32(computation_count, static_cast<std::int32_t>(shards));
    for (std::size_t shard = 0; shard < shards; ++shard) {
      std::vector<std::int64_t> own;
      for (std::size_t device = shard; device < devices.size(); device += shards) own.push_back(devices[device]);
      protozero::pbf_writer computation(assignment, computation_devices);
      computation.add_packed_int64(replica_device_ids, own.begin(), own.end());
    }
  }
  return bytes;
}

}  // namespace trireme::pjrt
