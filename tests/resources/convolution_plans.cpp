// cuDNN has plans for the convolutions of float and double that layers ask it for, on GPUs that are described to it and
// need not be there: the same graphs as on a device, up to the launch.
#define BOOST_TEST_MODULE resources_convolution_plans
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include "trireme/backend/convolution/convolution_pass.hpp"
#include "trireme/backend/convolution/cudnn.hpp"
#include "trireme/backend/convolution/cudnn_plan.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/core/text.hpp"

using namespace trireme;
using detail::ConvolutionPass;

namespace {

struct Gpu {
  char const* name;
  int compute_capability, multiprocessors, clock_khz, memory_clock_khz, shared_memory, most_shared_memory;
  long cache, memory;
};
/// By the data sheets and the tables of CUDA's programming guide.
constexpr Gpu gpus[] = {
    {"NVIDIA A100-SXM4-80GB", 800, 108, 1410000, 1593000, 167936, 166912, 41943040, 85899345920},
    {"NVIDIA H100 80GB HBM3", 900, 132, 1980000, 2619000, 233472, 232448, 52428800, 85899345920},
};

detail::CudnnDescriptor properties(Gpu const& gpu) {
  std::string const text = formatted(
      R"({{"deviceName":"{}","cudaDeviceId":0,"deviceVer":{},"driverVer":13000,"maxGridSize":[2147483647,65535,65535],)"
      R"("maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":{},"smClockRateKHz":{},)"
      R"("memClockRateKHz":{},"l2CacheSize":{},"warpSize":32,"maxSharedMemoryPerBlock":49152,)"
      R"("maxSharedMemoryPerBlockOptin":{},"reservedSharedMemoryPerBlock":1024,"maxSharedMemoryPerSM":{},)"
      R"("maxRegistersPerSM":65536,"pciDeviceId":0,"maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)"
      R"("isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":{}}})",
      gpu.name, gpu.compute_capability, gpu.multiprocessors, gpu.clock_khz, gpu.memory_clock_khz, gpu.cache,
      gpu.most_shared_memory, gpu.shared_memory, gpu.memory);
  detail::CudnnDescriptor const made(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  made.set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, std::span<char const>(text.c_str(), text.size() + 1));
  BOOST_REQUIRE(made.finalized());
  return made;
}

struct Case {
  char const* name;
  Window2D window;
  std::size_t filters, rows;
};
Window2D square(std::size_t size, std::size_t channels, std::size_t window, std::size_t stride, std::size_t dilation,
                bool same) {
  WindowAxis const axis = window_axis(size, window, stride, dilation, same);
  return {axis, axis, channels};
}
Case const cases[] = {
    {"3 x 3, as large as the input", square(32, 64, 3, 1, 1, true), 64, 32},
    {"3 x 3", square(28, 1, 3, 1, 1, false), 32, 64},
    {"3 x 3 of few rows", square(13, 32, 3, 1, 1, false), 64, 1},
    {"5 x 5", square(17, 3, 5, 1, 1, true), 7, 5},
    {"7 x 7 with stride 2", square(224, 3, 7, 2, 1, false), 64, 16},
    {"1 x 1 with stride 2", square(32, 64, 1, 2, 1, true), 128, 32},
    {"dilated", square(20, 8, 3, 1, 2, true), 16, 8},
    {"along one axis", {window_axis(1, 1, 1, 1, true), window_axis(1024, 9, 1, 1, true), 32}, 64, 64},
    {"rows that no window reaches", square(10, 4, 3, 2, 1, false), 4, 3},
    // A zero stands behind the last element and none before the first, as Keras asks for.
    {"3 x 3 with stride 2, as large as half of the input", square(32, 64, 3, 2, 1, true), 128, 32},
    {"2 x 2, as large as the input", square(9, 4, 2, 1, 1, true), 4, 3},
};
constexpr std::array passes{ConvolutionPass::forward, ConvolutionPass::input_gradient,
                            ConvolutionPass::kernel_gradient};

/// A kernel of cuDNN: its number, and what it says of its arithmetic.
struct Engine {
  std::int64_t number = -1;
  std::vector<cudnnBackendNumericalNote_t> notes = std::vector<cudnnBackendNumericalNote_t>(64);

  explicit Engine(detail::CudnnPlan const& plan) {
    detail::CudnnDescriptor const engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
    detail::CudnnDescriptor const& configuration = plan.parts[plan.parts.size() - 2];
    configuration.read(CUDNN_ATTR_ENGINECFG_ENGINE, std::span<detail::CudnnDescriptor const>(&engine, 1));
    engine.read(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, std::span<std::int64_t>(&number, 1));
    notes.resize(engine.read(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE,
                             std::span<cudnnBackendNumericalNote_t>(notes.data(), notes.size())));
  }
  bool has(cudnnBackendNumericalNote_t note) const { return std::count(notes.begin(), notes.end(), note) > 0; }
};

/// \param short_operands  for which a kernel may take TF32, if it does not add before it multiplies.
template <class T>
void check_plans(bool short_operands = false) {
  std::size_t on_tensor_cores = 0;
  std::vector<std::int64_t> engines[std::size(gpus)];
  for (std::size_t gpu = 0; gpu < std::size(gpus); ++gpu) {
    detail::CudnnPlanner<T> const planner({.properties = properties(gpus[gpu])});
    for (Case const& c : cases)
      for (ConvolutionPass const pass : passes)
        for (std::size_t const alignment : {std::size_t{16}, sizeof(T)})
          BOOST_TEST_CONTEXT(gpus[gpu].name << ", " << c.name << ", pass " << static_cast<int>(pass)) {
            auto const plan = planner.plan({pass, c.window, c.filters, c.rows, short_operands}, alignment);
            BOOST_REQUIRE(plan);
            BOOST_TEST(plan->workspace_bytes <= detail::CudnnPlanner<T>::most_workspace);
            Engine const engine(*plan);
            BOOST_TEST(!engine.has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC));
            BOOST_TEST(!engine.has(CUDNN_NUMERICAL_NOTE_FFT));
            bool const on_cores = sizeof(T) == 4 && engine.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
            BOOST_TEST((short_operands || !on_cores));
            BOOST_TEST(!(on_cores && (engine.has(CUDNN_NUMERICAL_NOTE_WINOGRAD) ||
                                      engine.has(CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4))));
            on_tensor_cores += on_cores;
            engines[gpu].push_back(engine.number);
          }
  }
  BOOST_TEST(engines[0] != engines[1]);  // they are for the GPU that is described
  BOOST_TEST((on_tensor_cores > 0) == short_operands);
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_convolution_of_float_has_an_exact_plan) { check_plans<float>(); }
BOOST_AUTO_TEST_CASE(convolutions_of_short_numbers_take_tensor_cores) { check_plans<float>(true); }
BOOST_AUTO_TEST_CASE(each_convolution_of_double_has_an_exact_plan) { check_plans<double>(); }

BOOST_AUTO_TEST_CASE(what_the_library_lacks_has_no_plan) {
  detail::CudnnPlanner<float> const planner({.properties = properties(gpus[1])});
  WindowAxis axis = window_axis(32, 3, 1, 1, true);
  axis.out = 30;  // the window has 32 places
  BOOST_TEST(!planner.plan({ConvolutionPass::forward, {axis, axis, 8}, 8, 4}, 16));
}
