// Training steps compiled by libtpu, for TPUs that this machine need not have.
#define BOOST_TEST_MODULE pjrt_absent_tpus
#include "support/kokkos_fixture.hpp"

#include <string>

#include <fmt/format.h>

#include "pjrt/absent_devices.hpp"

using namespace trireme;
using namespace trireme::test;

BOOST_TEST_GLOBAL_FIXTURE(Environs);

BOOST_AUTO_TEST_CASE(the_sample_of_the_page_about_tpus_compiles) {
  namespace tr = trireme;
  std::string const library = TRIREME_PJRT_TPU_PLUGIN;
  auto const model = classifier(bench::mlp(), adam);
  auto const topology = tr::pjrt::tpu_topology("v5e:2x2", library);
  auto const memory = tr::pjrt::step_memory(topology, model, tr::GlobalBatch{1024}, {.replicas = 2, .shards = 2});
  fmt::print("{} bytes on each TPU\n", memory.total());
  BOOST_TEST(memory.total() > 0);
}

BOOST_AUTO_TEST_CASE(steps_compile_for_two_replicas_of_two_tpus) {
  Topology const topology = pjrt::tpu_topology("v5e:2x2", TRIREME_PJRT_TPU_PLUGIN);
  BOOST_TEST(topology.devices() == 4u);
  compile_perceptrons(topology, {2, 2});
  // In float libtpu computes a product in six of BFloat16, and takes minutes to compile convolutions.
  compile_layers<Mixed<BFloat16>>(topology, {2, 2});
  compile_sequences_and_images<Mixed<BFloat16>>(topology, {2, 2});
}

BOOST_AUTO_TEST_CASE(tpus_that_divide_weights_hold_half_of_them) {
  check_halves<Mixed<BFloat16>>(pjrt::tpu_topology("v5e:2x2", TRIREME_PJRT_TPU_PLUGIN));
}

BOOST_AUTO_TEST_CASE(tpus_of_an_unknown_generation_are_an_error) {
  pjrt::tpu_topology("v5e:2x2", TRIREME_PJRT_TPU_PLUGIN);
  BOOST_CHECK_EXCEPTION(pjrt::tpu_topology("v99:2x2", TRIREME_PJRT_TPU_PLUGIN), PluginError,
                        [](PluginError const& error) {
                          BOOST_TEST_INFO(error.what());
                          return std::string(error.what()).find("v99") != std::string::npos;
                        });
}
