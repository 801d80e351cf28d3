// Layers with `trainable = False` train, and lie in files, as in Keras: BatchNormalization in inference mode, penalties
// of frozen weights left out, norms of gradients over what trains. frozen/generate.py made the numbers.
#define BOOST_TEST_MODULE parity_frozen
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
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

std::string file(char const* name) { return std::string(TRIREME_TESTS_DIRECTORY "/parity/frozen/") + name; }

auto model(Parallelism plan) {
  return compile<double>(
      OneDeviceStrategy<>(),
      Sequential{Input<6>{}, Frozen{Dense<8, Tanh>{}}, Frozen{BatchNormalization<>{}},
                 Dense<7, Tanh>{.kernel_regularizer = L2(0.0625)},
                 Frozen{Dense<6, Sigmoid>{.kernel_regularizer = L2(0.5)}}, BatchNormalization<>{.momentum = 0.75},
                 Dense<4>{}},
      Adam{.learning_rate = 0.015625, .beta_1 = 0.875, .beta_2 = 0.96875, .epsilon = 0x1p-20, .global_clipnorm = 0.25},
      SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.parallelism = plan});
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_with_frozen_layers_trains_as_in_keras) {
  auto const inputs = io::read_npy<double>(file("x.npy"));
  auto const labels = io::read_npy<std::int32_t>(file("labels.npy"));
  auto const losses = io::read_npy<double>(file("loss.npy"));
  std::size_t const samples = labels.size();
  auto const x = to_xarray(inputs.data, std::vector<std::size_t>{samples, 6});
  std::vector<std::int32_t> const y(labels.data, labels.data + samples);
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    auto trained = model(plan), expected = model(plan);
    trained.load_weights(file("before.weights.h5"));
    expected.load_weights(file("after.weights.h5"));
    // A replica's statistics are over all of its rows.
    auto const history = fit(OneDeviceStrategy<>(), trained, data::from_tensor_slices(x, y).batch(GlobalBatch{8}),
                             {.epochs = 3, .verbose = false});
    for (std::size_t epoch = 0; epoch < losses.size(); ++epoch)
      test::check_close(history["loss"][epoch], losses.data[epoch], 1e-12, "loss");
    test::check_same_weights(trained, expected, 1e-11);
    for (std::size_t slot = 0; slot < 2; ++slot) {
      detail::HostState<double> mine, keras;
      trained.engine().gather_state(mine);
      expected.engine().gather_state(keras);
      BOOST_TEST(mine.iteration == keras.iteration);
      BOOST_TEST(test::distance(mine.slots.at(slot), keras.slots.at(slot)) <= 1e-11);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_table_of_a_model_with_frozen_layers_counts_as_keras_does) {
  std::string const table = model(Parallelism::automatic).summary();
  BOOST_TEST(table.find("  frozen\n") != std::string::npos);
  BOOST_TEST(table.find("Total params: 251") != std::string::npos);
  BOOST_TEST(table.find("Trainable params: 103\nNon-trainable params: 148\n") != std::string::npos);
}
