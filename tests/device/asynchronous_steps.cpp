// The host waits for a device once in sixteen batches and for no step in between; launches of a step are few.
#define BOOST_TEST_MODULE device_asynchronous_steps
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

/// Labels of the library's fences, or launches. Kokkos itself has more, such as those around tools.
std::vector<std::string> labels;

void note(char const* label, std::uint32_t, std::uint64_t*) {
  if (std::string_view(label).starts_with("trireme")) labels.emplace_back(label);
}

/// Labels of an epoch, the second of a model: the first allocates. `watch(callback)` sets what is called.
template <class Architecture, class Watch>
std::size_t noted_in_training(Architecture const& architecture, Adam const& optimizer, std::size_t batches,
                              Watch const& watch, std::size_t rows = 4) {
  auto const samples = test::make_samples<double>(batches * rows, {6, 6, 2}, test::classes);
  OneDeviceStrategy<test::Device> const strategy(test::device(1));
  auto model = compile<double>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                               Accuracy{});
  auto const data = samples.data().shuffle(100, 3).batch(GlobalBatch{rows});
  fit(strategy, model, data, {.epochs = 1, .verbose = false});
  labels.clear();
  watch(note);
  fit(strategy, model, data, {.epochs = 1, .verbose = false});
  watch(nullptr);
  return labels.size();
}

}  // namespace

BOOST_AUTO_TEST_CASE(sixteen_batches_add_one_fence) {
  Sequential const network{
      Input<6, 6, 2>{},      Conv2D<3, 3, 3>{}, BatchNormalization<>{}, ReLU{},
      MaxPooling2D<2, 2>{},  Flatten{},         Dropout{.rate = 0.25f}, Dense<5, Tanh>{.kernel_regularizer = L2(1e-3)},
      Dense<test::classes>{}};
  auto const fences = [&](std::size_t batches) {
    return noted_in_training(network, Adam{.global_clipnorm = 0.5}, batches,
                             Kokkos::Tools::Experimental::set_begin_fence_callback);
  };
  std::size_t const few = fences(16);
  BOOST_TEST(fences(64) - few == 3u);
}

/// Products of these sizes are kernels of ours on all devices.
BOOST_AUTO_TEST_CASE(a_step_of_a_perceptron_takes_four_launches_beside_its_products) {
  Sequential const network{Input<6, 6, 2>{}, Flatten{}, Dense<5, Tanh>{}, Dense<test::classes>{}};
  auto const launches = [&](std::size_t batches) {
    noted_in_training(network, Adam{}, batches, Kokkos::Tools::Experimental::set_begin_parallel_for_callback);
    return static_cast<std::size_t>(std::count_if(labels.begin(), labels.end(), [](std::string const& label) {
      return label.find("gemm") == std::string::npos;
    }));
  };
  // Loss and metrics; bias gradients of two layers, one with its activation's; the optimizer. Bias and activation
  // belong to the products.
  std::size_t const few = launches(16), of_steps = launches(64) - few;
  BOOST_TEST(of_steps == 48u * 4u);
}

/// Sums of so many rows climb two levels of teams.
BOOST_AUTO_TEST_CASE(a_step_of_a_perceptron_takes_nine_launches_for_any_number_of_rows) {
  Sequential const network{Input<6, 6, 2>{}, Flatten{}, Dense<5, Tanh>{}, Dense<test::classes>{}};
  for (std::size_t const rows : {4u, 5000u}) {
    auto const launches = [&](std::size_t batches) {
      return noted_in_training(network, Adam{}, batches, Kokkos::Tools::Experimental::set_begin_parallel_for_callback,
                               rows);
    };
    std::size_t const one = launches(1);
    BOOST_TEST(launches(3) - one == 2u * 9u);
  }
}
