// The perceptron and the convolutional network on handwritten digits: as on one device, and as accurate as they should
// be.
#define BOOST_TEST_MODULE pjrt_digits
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "pjrt/training.hpp"
#include "trireme/io/csv.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

/// scikit-learn's digits, 8 x 8 pixels in [0, 1]; every fifth is held out.
struct Digits {
  struct Part {
    xt::xarray<float> x;
    std::vector<std::int32_t> y;
    auto data() const { return data::from_tensor_slices(x, y); }
  };
  Part train, test;

  Digits() {
    auto const table = io::read_csv<float>(TRIREME_EXAMPLES_DATA "/digits.csv.gz");
    std::size_t const count = table.extents[0], held_out = (count + 4) / 5;
    train.x = xt::zeros<float>({count - held_out, std::size_t{8}, std::size_t{8}, std::size_t{1}});
    test.x = xt::zeros<float>({held_out, std::size_t{8}, std::size_t{8}, std::size_t{1}});
    for (std::size_t i = 0; i < count; ++i) {
      Part& part = i % 5 == 0 ? test : train;
      float const* const row = table.data + i * 65;
      std::transform(row, row + 64, part.x.data() + 64 * part.y.size(), [](float pixel) { return pixel / 16; });
      part.y.push_back(static_cast<std::int32_t>(row[64]));
    }
  }
};

auto const perceptron = [](auto const& strategy) {
  return compile(strategy, Sequential{Input<8, 8, 1>{}, Flatten{}, Dense<128, ReLU>{}, Dense<10>{}},
                 Adam{.learning_rate = 1e-3}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                 CompileOptions{.seed = 1});
};
auto const network = [](auto const& strategy) {
  return compile(
      strategy,
      Sequential{Input<8, 8, 1>{}, Conv2D<32, 3, 3, ReLU, Same>{}, MaxPooling2D<2, 2>{}, Conv2D<64, 3, 3, ReLU, Same>{},
                 MaxPooling2D<2, 2>{}, Flatten{}, Dropout{.rate = 0.25f}, Dense<64, ReLU>{}, Dense<10>{}},
      Adam{.learning_rate = 1e-3}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
      CompileOptions{.seed = 1});
};

/// 50 steps under 1, 2 and 3 replicas are those of one device; the last goes on to `epochs` epochs.
template <class Make>
void check(Make const& make, std::size_t batch, std::size_t epochs) {
  Digits const digits;
  auto const train = digits.train.data().shuffle(digits.train.y.size(), 7).batch(GlobalBatch{batch});
  auto const endless = digits.train.data().shuffle(digits.train.y.size(), 7).repeat().batch(GlobalBatch{batch});
  auto const tests = digits.test.data().batch(GlobalBatch{256});
  OneDeviceStrategy<> const one;
  auto reference = make(one);
  fit(one, reference, endless, {.epochs = 1, .steps_per_epoch = 50, .verbose = false});
  for (std::size_t replicas = 1; replicas <= 3; ++replicas) {
    auto const strategy = test::pjrt_strategy(replicas);
    auto model = make(strategy);
    fit(strategy, model, endless, {.epochs = 1, .steps_per_epoch = 50, .verbose = false});
    BOOST_TEST_CONTEXT(replicas << " replicas") test::check_same_weights(model, reference, test::program_tolerance);
    if (replicas < 3) continue;
    auto const history = fit(strategy, model, train, validation(tests), {.epochs = epochs, .verbose = false});
    BOOST_TEST(evaluate(strategy, model, tests).find("accuracy")->value() >= 0.965);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_perceptron_on_one_to_three_replicas) { check(perceptron, 32, 25); }
BOOST_AUTO_TEST_CASE(the_convolutional_network_on_one_to_three_replicas) { check(network, 64, 12); }
