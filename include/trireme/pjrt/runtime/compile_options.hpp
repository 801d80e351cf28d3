/// Options of a compilation: XLA's message CompileOptionsProto, as far as it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <protozero/pbf_writer.hpp>

namespace trireme::pjrt {

/// `devices`: the number of the device that runs each replica, at least one.
/// Source: xla/pjrt/proto/compile_options.proto; xla/xla_data.proto for the assignment.
inline std::string compile_options(std::vector<std::int64_t> const& devices) {
  // Numbers of the fields; 0 replicas would end the process.
  constexpr protozero::pbf_tag_type build_options = 3, num_replicas = 4, num_partitions = 5, device_assignment = 9;
  constexpr protozero::pbf_tag_type replica_count = 1, computation_count = 2, computation_devices = 3;
  constexpr protozero::pbf_tag_type replica_device_ids = 1;
  auto const replicas = static_cast<std::int64_t>(devices.size());
  std::string bytes;
  {
    protozero::pbf_writer options(bytes);
    protozero::pbf_writer build(options, build_options);
    build.add_int64(num_replicas, replicas);
    build.add_int64(num_partitions, 1);
    protozero::pbf_writer assignment(build, device_assignment);
    assignment.add_int32(replica_count, static_cast<std::int32_t>(replicas));
    assignment.add_int32(computation_count, 1);
    protozero::pbf_writer computation(assignment, computation_devices);
    computation.add_packed_int64(replica_device_ids, devices.begin(), devices.end());
  }
  return bytes;
}

}  // namespace trireme::pjrt
