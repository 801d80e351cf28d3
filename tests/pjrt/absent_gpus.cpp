// Training steps compiled by XLA's compiler for CUDA, for GPUs that this machine need not have.
#define BOOST_TEST_MODULE pjrt_absent_gpus
#include "support/kokkos_fixture.hpp"

#include <string>

#include "pjrt/absent_devices.hpp"

using namespace trireme;
using namespace trireme::test;

namespace {

BOOST_TEST_GLOBAL_FIXTURE(Environs);

/// An H100 (SXM), as the data sheet and the compute capability 9.0 of the CUDA C++ Programming Guide state it.
constexpr char const* h100 = R"(
gpu_device_info {
  cuda_compute_capability { major: 9 minor: 0 }
  core_count: 132
  fpus_per_core: 128
  clock_rate_ghz: 1.98
  device_memory_size: 85899345920
  memory_bandwidth: 3350000000000
  l2_cache_size: 52428800
  shared_memory_per_core: 233472
  shared_memory_per_block: 49152
  shared_memory_per_block_optin: 232448
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
  threads_per_core_limit: 2048
  threads_per_block_limit: 1024
  threads_per_warp: 32
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
}
platform_name: "CUDA"
runtime_version { major: 13 }
dnn_version_info { major: 9 minor: 8 }
device_description_str: "NVIDIA H100 80GB HBM3"
)";

Topology gpus(std::string const& extents) {
  return Topology(pjrt::Plugin::load(TRIREME_PJRT_CUDA_PLUGIN), "h100",
                  {{"target_config", h100}, {"topology", extents}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_compile_for_a_gpu) {
  Topology const topology = gpus("1x1x1");
  BOOST_TEST(topology.devices() == 1u);
  compile_perceptrons(topology, {});
  compile_layers(topology, {});
  compile_sequences_and_images(topology, {});
  compile_deep(topology, {});
}

BOOST_AUTO_TEST_CASE(steps_compile_for_two_replicas_of_two_gpus) {
  Topology const topology = gpus("1x1x4");
  BOOST_TEST(topology.devices() == 4u);
  compile_perceptrons(topology, {2, 2});
  compile_layers(topology, {2, 2});
}

BOOST_AUTO_TEST_CASE(gpus_that_divide_weights_hold_half_of_them) { check_halves(gpus("1x1x2")); }

BOOST_AUTO_TEST_CASE(fewer_devices_than_replicas_need_are_an_error) {
  Topology const topology = gpus("1x1x2");
  auto const model = classifier(bench::mlp(), adam);
  BOOST_CHECK_EXCEPTION(pjrt::step_memory(topology, model, GlobalBatch{32}, {3, 1}), PluginError,
                        [](PluginError const& error) {
                          return std::string(error.what())
                              .ends_with("3 devices are needed (replicas x shards: 3 x 1), and the topology has 2");
                        });
  BOOST_CHECK_THROW(pjrt::step_memory(topology, model, GlobalBatch{32}, {0, 1}), ValueError);
  BOOST_CHECK_THROW(pjrt::step_memory(topology, model, GlobalBatch{0}), ValueError);
}
