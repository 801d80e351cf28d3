/// Training steps of the table in docs/performance.md, and of nearly all layers, compiled for devices that this machine
/// need not have; include it in the file that defines BOOST_TEST_MODULE.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <boost/test/unit_test.hpp>

#include "../benchmarks/training/architectures.hpp"
#include "trireme/pjrt.hpp"

namespace trireme::test {

using pjrt::ProgramMemory;
using pjrt::StepDevices;
using pjrt::Topology;

/// The environment of a machine without TPUs, whatever this one's is, and ptxas on the path.
struct Environs {
  Environs() {
    for (char const* const name : {"TPU_TOPOLOGY", "TPU_PROCESS_BOUNDS", "TPU_CHIPS_PER_PROCESS_BOUNDS",
                                   "TPU_VISIBLE_CHIPS", "LIBTPU_INIT_ARGS", "XLA_FLAGS"})
      ::unsetenv(name);
    for (auto const& [name, value] : {std::pair{"TPU_WORKER_HOSTNAMES", "localhost"},
                                      {"TPU_WORKER_ID", "0"},
                                      {"TPU_ACCELERATOR_TYPE", "v5e-4"},
                                      {"TPU_STDERR_LOG_LEVEL", "3"},
                                      {"TPU_MIN_LOG_LEVEL", "3"},
                                      {"TPU_LOG_DIR", "disabled"}})
      ::setenv(name, value, 1);
#ifdef TRIREME_PJRT_PTXAS
    std::string path = std::filesystem::path(TRIREME_PJRT_PTXAS).parent_path();
    if (char const* const others = std::getenv("PATH")) path += ":" + std::string(others);
    ::setenv("PATH", path.c_str(), 1);
#endif
  }
};

/// \tparam Precision  as compile's
template <class Precision = float, class Architecture, class Optimizer, class Loss, class... Metrics>
auto compiled(Architecture const& architecture, Optimizer const& optimizer, Loss const& loss,
              Metrics const&... metrics) {
  return compile<Precision>(OneDeviceStrategy<>(), architecture, optimizer, loss, metrics...);
}

/// A classifier of ten classes.
template <class Precision = float, class Architecture, class Optimizer>
auto classifier(Architecture const& architecture, Optimizer const& optimizer) {
  return compiled<Precision>(architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
}

inline Adam const adam{};
inline SGD const sgd{.learning_rate = 1e-3, .momentum = 0.9};

/// Compiles a step, whose new weights and optimizer state have to overwrite the old ones. Weights that cannot be
/// divided lie whole on each device, so that half of them is a bound for two devices.
template <class Model>
ProgramMemory step(std::string const& name, Topology const& topology, Model const& model, std::size_t batch,
                   StepDevices const& devices) {
  BOOST_TEST_CONTEXT(name) {
    ProgramMemory const memory = pjrt::step_memory(topology, model, GlobalBatch{batch}, devices);
    auto const weights = static_cast<std::int64_t>(sizeof(float) * model.description().elements / devices.shards);
    BOOST_TEST(memory.arguments > weights);
    BOOST_TEST(memory.aliased > weights);
    BOOST_TEST(memory.results - memory.aliased < 4096);  // the index table of the result tuple
    BOOST_TEST(memory.temporaries > 0);
    BOOST_TEST_MESSAGE(fmt::format("{}, {} x {} devices: {:.1f} MB on each", name, devices.replicas, devices.shards,
                                   static_cast<double>(memory.total()) * 1e-6));
    return memory;
  }
  return {};
}

/// A device of two that divide the weights of a wide perceptron holds half of them.
template <class Precision = float>
void check_halves(Topology const& topology) {
  auto const model = classifier<Precision>(bench::wide(), sgd);
  auto const whole = step("wide", topology, model, 256, {1, 1}), half = step("wide", topology, model, 256, {1, 2});
  BOOST_TEST(half.arguments < 0.52 * static_cast<double>(whole.arguments));
  BOOST_TEST(half.aliased < 0.52 * static_cast<double>(whole.aliased));
}

inline void compile_perceptrons(Topology const& topology, StepDevices const& devices) {
  step("mlp", topology, classifier(bench::mlp(), adam), 32, devices);
  step("surrogate", topology, compiled(bench::surrogate(), adam, MeanSquaredError{}), 4096, devices);
}

/// Nearly all layers.
template <class Precision = float>
void compile_layers(Topology const& topology, StepDevices const& devices) {
  step("words", topology,
       compiled<Precision>(
           Sequential{Input<12>{}, Embedding<100, 16>{}, Residual{LayerNormalization<>{}, MultiHeadAttention<2, 8>{}},
                      GaussianNoise{.stddev = 0.1f}, LSTM<8, ReturnSequences>{}, GRU<8>{}, Dense<10>{}, Softmax{}},
           AdamW{.global_clipnorm = 1.0}, SparseCategoricalCrossentropy{}, Accuracy{}),
       16, devices);
  step("pictures", topology,
       classifier<Precision>(
           Sequential{Input<8, 8, 3>{}, Conv2D<8, 3, 3, Same, NoBias>{}, BatchNormalization<>{}, ReLU{},
                      MaxPooling2D<2, 2>{}, Conv2D<8, 3, 3, Same, Tanh>{.kernel_regularizer = L2(1e-4)},
                      SyncBatchNormalization<>{}, AveragePooling2D<2, 2>{}, UpSampling2D<2, 2, Bilinear>{},
                      GlobalAveragePooling2D{}, Dropout{.rate = 0.1f}, Dense<10>{}},
           sgd),
       16, devices);
}

template <class Precision = float>
void compile_sequences_and_images(Topology const& topology, StepDevices const& devices) {
  step("transformer", topology, classifier<Precision>(bench::transformer(), adam), 16, devices);
  step("lstm", topology, classifier<Precision>(bench::lstm(), adam), 32, devices);
  step("cnn", topology, classifier<Precision>(bench::cnn(), adam), 64, devices);
  step("conv1d", topology, classifier<Precision>(bench::conv1d(), adam), 64, devices);
}

/// Takes the compilers a minute.
inline void compile_deep(Topology const& topology, StepDevices const& devices) {
  step("vgg", topology, classifier(bench::vgg(), sgd), 16, devices);
  step("resnet18", topology, classifier(bench::resnet18(), sgd), 32, devices);
  step("unet", topology,
       compiled(bench::unet(), adam, BinaryCrossentropy{.from_logits = true}, BinaryAccuracy{.threshold = 0}), 8,
       devices);
}

}  // namespace trireme::test
