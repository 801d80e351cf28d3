// The host waits for a device once in sixteen batches, and for no step in between.
#define BOOST_TEST_MODULE device_asynchronous_steps
#include "support/device.hpp"

#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

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

/// Labels of the library's fences. Kokkos itself has more, such as those around tools.
std::vector<std::string> fences;

std::size_t fences_of_training(std::size_t batches) {
  constexpr std::size_t rows = 4;
  auto const samples = test::make_samples<double>(batches * rows, {6, 6, 2}, test::classes);
  OneDeviceStrategy<test::Device> const strategy(test::device(1));
  auto model = compile<double>(
      strategy,
      Sequential{Input<6, 6, 2>{}, Conv2D<3, 3, 3>{}, BatchNormalization<>{}, ReLU{}, MaxPooling2D<2, 2>{}, Flatten{},
                 Dropout{.rate = 0.25f}, Dense<5, Tanh>{.kernel_regularizer = L2(1e-3)}, Dense<test::classes>{}},
      Adam{.global_clipnorm = 0.5}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  auto const data = samples.data().shuffle(100, 3).batch(GlobalBatch{rows});
  fit(strategy, model, data, {.epochs = 1, .verbose = false});  // allocates
  fences.clear();
  Kokkos::Tools::Experimental::set_begin_fence_callback([](char const* label, std::uint32_t, std::uint64_t*) {
    if (std::string_view(label).starts_with("trireme")) fences.emplace_back(label);
  });
  fit(strategy, model, data, {.epochs = 1, .verbose = false});
  Kokkos::Tools::Experimental::set_begin_fence_callback(nullptr);
  return fences.size();
}

}  // namespace

BOOST_AUTO_TEST_CASE(steps_add_a_fence_for_sixteen_batches) {
  std::size_t const few = fences_of_training(16), many = fences_of_training(64);
  for (auto const& label : fences) BOOST_TEST_MESSAGE(label);
  BOOST_TEST(many - few == 3u);
}
