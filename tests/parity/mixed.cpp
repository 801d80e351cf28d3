// Mixed precision rounds what its definition says, and nothing else: a training in numpy with the same roundings gives
// the same weights. mixed/generate.py made the numbers.
#define BOOST_TEST_MODULE parity_mixed
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/io/npy.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

auto array(std::string const& name) {
  auto const read = io::read_npy<double>(TRIREME_TESTS_DIRECTORY "/parity/mixed/" + name + ".npy");
  return to_xarray(read.data, read.extents);
}

template <class Precision, class Check>
void trained(Parallelism plan, Check const& check) {
  auto const labels = array("labels");
  OneDeviceStrategy<> const strategy;
  auto model =
      compile<Precision>(strategy, Sequential{Input<6>{}, Dense<9, Tanh>{}, Dense<7, Sigmoid>{}, Dense<4>{}},
                         SGD{.learning_rate = 0.0625, .momentum = 0.5},
                         SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.parallelism = plan});
  auto const names = model.weight_names();
  for (std::size_t i = 0; i < names.size(); ++i) model.set_weights(names[i], array("w" + std::to_string(i)));
  auto const history = fit(strategy, model,
                           data::from_tensor_slices(array("x"), std::vector<std::int32_t>(labels.begin(), labels.end()))
                               .batch(GlobalBatch{8}),
                           {.epochs = 3, .verbose = false});
  double worst = 0;
  for (std::size_t i = 0; i < names.size(); ++i)
    worst = std::max(worst, test::distance(model.weights(names[i]), array("w" + std::to_string(i) + "_after")));
  check(worst, history);
}

}  // namespace

BOOST_AUTO_TEST_CASE(weights_and_losses_are_those_of_a_training_with_the_same_roundings) {
  auto const losses = array("loss");
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    trained<Mixed<BFloat16, double>>(plan, [&](double worst, History const& history) {
      BOOST_TEST(worst <= 1e-13);
      for (std::size_t epoch = 0; epoch < losses.size(); ++epoch)
        test::check_close(history["loss"][epoch], losses[epoch], 1e-13, "loss");
    });
    trained<Mixed<BFloat16>>(plan, [](double worst, History const&) { BOOST_TEST(worst <= 1e-6); });
    trained<double>(plan, [](double worst, History const&) { BOOST_TEST(worst > 1e-4); });
  }
}
