// The training steps of the table in docs/performance.md, and of nearly all layers, compiled by the compilers of CUDA
// and TPUs for devices that this machine need not have.
#define BOOST_TEST_MODULE pjrt_absent_devices
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../benchmarks/training/architectures.hpp"
#include "pjrt/plugin.hpp"
#include "trireme/pjrt.hpp"

using namespace trireme;
using pjrt::ProgramMemory;
using pjrt::StepDevices;
using pjrt::Topology;

namespace {

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

auto cuda() { return pjrt::Plugin::load(TRIREME_PJRT_CUDA_PLUGIN); }

auto gpus(std::string const& extents) {
  return std::make_unique<Topology>(cuda(), "h100",
                                    std::vector<pjrt::TopologyOption>{{"target_config", h100}, {"topology", extents}});
}

/// libtpu takes the place of its process from the environment, and logs to files.
auto tpus(std::string const& name) {
  for (auto const& [variable, value] : {std::pair{"TPU_WORKER_HOSTNAMES", "localhost"},
                                        {"TPU_WORKER_ID", "0"},
                                        {"TPU_ACCELERATOR_TYPE", "v5e-4"},
                                        {"TPU_STDERR_LOG_LEVEL", "3"},
                                        {"TPU_MIN_LOG_LEVEL", "3"},
                                        {"TPU_LOG_DIR", "disabled"}})
    ::setenv(variable, value, 0);
  pjrt::spare_the_search_for_tpus();
  return std::make_unique<Topology>(pjrt::Plugin::load(TRIREME_PJRT_TPU_PLUGIN), name);
}

template <class Architecture, class Optimizer, class Loss, class... Metrics>
auto compiled(Architecture const& architecture, Optimizer const& optimizer, Loss const& loss,
              Metrics const&... metrics) {
  return compile(OneDeviceStrategy<>(), architecture, optimizer, loss, metrics...);
}

/// Each model that is a classifier of ten classes, by the name of its case.
template <class Architecture, class Optimizer>
auto classifier(Architecture const& architecture, Optimizer const& optimizer) {
  return compiled(architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
}

Adam const adam{};
SGD const sgd{.learning_rate = 1e-3, .momentum = 0.9};

/// Compiles a step, whose new weights and optimizer state have to overwrite the old ones.
template <class Model>
ProgramMemory step(std::string const& name, Topology const& topology, Model const& model, std::size_t batch,
                   StepDevices const& devices) {
  BOOST_TEST_CONTEXT(name) {
    ProgramMemory const memory = pjrt::step_memory(topology, model, GlobalBatch{batch}, devices);
    auto const weights = static_cast<std::int64_t>(sizeof(float) * model.description().elements /
                                                   (devices.shards > 1 ? 2 * devices.shards : 1));
    BOOST_TEST(memory.arguments > weights);
    BOOST_TEST(memory.shared > weights);
    BOOST_TEST(memory.results - memory.shared < 4096);  // a table of addresses
    BOOST_TEST(memory.temporaries > 0);
    BOOST_TEST_MESSAGE(name << ": " << memory.total() << " bytes on each device");
    return memory;
  }
  return {};
}

void compile_perceptrons(Topology const& topology, StepDevices const& devices) {
  step("mlp", topology, classifier(bench::mlp(), adam), 32, devices);
  step("surrogate", topology, compiled(bench::surrogate(), adam, MeanSquaredError{}), 4096, devices);
  step("wide", topology, classifier(bench::wide(), sgd), 256, devices);
}

void compile_sequences(Topology const& topology, StepDevices const& devices) {
  step("transformer", topology, classifier(bench::transformer(), adam), 16, devices);
  step("lstm", topology, classifier(bench::lstm(), adam), 32, devices);
  step("words", topology,
       compiled(
           Sequential{Input<12>{}, Embedding<100, 16>{}, Residual{LayerNormalization<>{}, MultiHeadAttention<2, 8>{}},
                      GaussianNoise{.stddev = 0.1f}, LSTM<8, ReturnSequences>{}, GRU<8>{}, Dense<10>{}, Softmax{}},
           AdamW{.global_clipnorm = 1.0}, SparseCategoricalCrossentropy{}, Accuracy{}),
       16, devices);
}

void compile_images(Topology const& topology, StepDevices const& devices) {
  step("cnn", topology, classifier(bench::cnn(), adam), 64, devices);
  step("vgg", topology, classifier(bench::vgg(), sgd), 16, devices);
  step("conv1d", topology, classifier(bench::conv1d(), adam), 64, devices);
  step("pictures", topology,
       classifier(Sequential{Input<8, 8, 3>{}, Conv2D<8, 3, 3, Same, NoBias>{}, BatchNormalization<>{}, ReLU{},
                             MaxPooling2D<2, 2>{}, Conv2D<8, 3, 3, Same, Tanh>{.kernel_regularizer = L2(1e-4)},
                             SyncBatchNormalization<>{}, AveragePooling2D<2, 2>{}, UpSampling2D<2, 2, Bilinear>{},
                             GlobalAveragePooling2D{}, Dropout{.rate = 0.1f}, Dense<10>{}},
                  sgd),
       16, devices);
}

void compile_deep(Topology const& topology, StepDevices const& devices) {
  step("resnet18", topology, classifier(bench::resnet18(), sgd), 32, devices);
  step("unet", topology,
       compiled(bench::unet(), adam, BinaryCrossentropy{.from_logits = true}, BinaryAccuracy{.threshold = 0}), 8,
       devices);
}

bool exists(char const* path) { return std::filesystem::exists(path); }

struct HasCuda {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id) const {
    return exists(TRIREME_PJRT_CUDA_PLUGIN);
  }
};
struct HasTpu {
  boost::test_tools::assertion_result operator()(boost::unit_test::test_unit_id) const {
    return exists(TRIREME_PJRT_TPU_PLUGIN);
  }
};

using boost::unit_test::precondition;

}  // namespace

BOOST_AUTO_TEST_CASE(steps_compile_for_a_gpu, *precondition(HasCuda{})) {
  auto const topology = gpus("1x1x1");
  BOOST_TEST(topology->devices() == 1u);
  compile_perceptrons(*topology, {});
  compile_sequences(*topology, {});
  compile_images(*topology, {});
  compile_deep(*topology, {});
}

BOOST_AUTO_TEST_CASE(steps_compile_for_two_replicas_of_two_gpus, *precondition(HasCuda{})) {
  auto const topology = gpus("1x1x4");
  BOOST_TEST(topology->devices() == 4u);
  compile_perceptrons(*topology, {2, 2});
  compile_sequences(*topology, {2, 2});
  compile_images(*topology, {2, 2});
}

BOOST_AUTO_TEST_CASE(gpus_that_divide_weights_hold_half_of_them, *precondition(HasCuda{})) {
  auto const topology = gpus("1x1x2");
  auto const model = classifier(bench::wide(), sgd);
  auto const whole = step("wide", *topology, model, 256, {1, 1}), half = step("wide", *topology, model, 256, {1, 2});
  BOOST_TEST(half.arguments < 0.52 * static_cast<double>(whole.arguments));
  BOOST_TEST(half.shared < 0.52 * static_cast<double>(whole.shared));
}

BOOST_AUTO_TEST_CASE(the_sample_of_the_page_about_tpus_compiles, *precondition(HasTpu{})) {
  namespace tr = trireme;
  tpus("v5e:2x2");  // sets the environment
  std::string const library = TRIREME_PJRT_TPU_PLUGIN;
  auto const model = classifier(bench::mlp(), adam);
  tr::pjrt::Topology const topology(tr::pjrt::Plugin::load(library), "v5e:2x2");
  auto const memory = tr::pjrt::step_memory(topology, model, tr::GlobalBatch{1024}, {.replicas = 2, .shards = 2});
  fmt::print("{} bytes on each TPU\n", memory.total());
  BOOST_TEST(memory.total() > 0);
}

BOOST_AUTO_TEST_CASE(steps_compile_for_two_replicas_of_two_tpus, *precondition(HasTpu{})) {
  auto const topology = tpus("v5e:2x2");
  BOOST_TEST(topology->devices() == 4u);
  compile_perceptrons(*topology, {2, 2});
  compile_sequences(*topology, {2, 2});
  compile_images(*topology, {2, 2});
}

BOOST_AUTO_TEST_CASE(fewer_devices_than_replicas_need_are_an_error, *precondition(HasCuda{})) {
  auto const topology = gpus("1x1x2");
  auto const model = classifier(bench::mlp(), adam);
  BOOST_CHECK_EXCEPTION(pjrt::step_memory(*topology, model, GlobalBatch{32}, {3, 1}), PluginError,
                        [](PluginError const& error) {
                          return std::string(error.what())
                              .ends_with("3 devices are needed (replicas x shards: 3 x 1), and the topology has 2");
                        });
  BOOST_CHECK_THROW(pjrt::step_memory(*topology, model, GlobalBatch{32}, {0, 1}), ValueError);
}

BOOST_AUTO_TEST_CASE(a_device_that_the_plugin_does_not_know_is_an_error, *precondition(HasTpu{})) {
  BOOST_CHECK_EXCEPTION(tpus("v5e:one"), PluginError, [](PluginError const& error) {
    std::string const message = error.what();
    return message.find("PJRT_TopologyDescription_Create") != std::string::npos &&
           message.find('\n') == std::string::npos;
  });
}
