// Files of Keras whose layers have `dtype="bfloat16"` load, with the optimizer's state. bfloat16/generate.py made them.
#define BOOST_TEST_MODULE parity_bfloat16
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "trireme/activations/tanh.hpp"
#include "trireme/compile.hpp"
#include "trireme/io/npy.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

#ifdef TRIREME_HAVE_HDF5

namespace {

std::string file(std::string const& name) { return TRIREME_TESTS_DIRECTORY "/parity/bfloat16/" + name; }

std::vector<double> array(std::string const& name) {
  auto const read = io::read_npy<double>(file(name + ".npy"));
  return {read.data, read.data + read.size()};
}

template <class T>
auto model() {
  return compile<T>(OneDeviceStrategy<>(), Sequential{Input<3>{}, Dense<4, Tanh>{}, Dense<2>{.name = "head"}},
                    Adam{.learning_rate = 0.125}, MeanSquaredError{});
}

template <class T>
void check(LoadOptions const& options) {
  auto loaded = model<T>();
  auto const taken = loaded.load_weights(file("model.weights.h5"), options).taken;
  std::vector<std::string> const names = loaded.weight_names();
  BOOST_TEST(taken.size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto const values = loaded.weights(names[i]);
    BOOST_TEST(std::vector<double>(values.begin(), values.end()) == array("w" + std::to_string(i)),
               boost::test_tools::per_element());
  }
}

template <class T>
void check_state() {
  auto loaded = model<T>();
  loaded.load_weights(file("model.weights.h5"));
  detail::HostState<T> state;
  loaded.engine().gather_state(state);
  BOOST_TEST(state.iteration == 2u);
  std::vector<double> const momenta = array("momentum"), velocities = array("velocity");
  for (std::size_t i = 0; i < momenta.size(); ++i) {
    BOOST_TEST(state.slots.at(0)[i] == momenta[i]);
    BOOST_TEST(state.slots.at(1)[i] == velocities[i]);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(weights_of_bfloat16_are_those_of_keras_to_the_bit) {
  check<float>({.by_name = true});
  check<double>({.by_name = true});
  check<float>({.skip_mismatch = true});
}

BOOST_AUTO_TEST_CASE(the_state_of_an_optimizer_in_bfloat16_is_that_of_keras_to_the_bit) {
  check_state<float>();
  check_state<double>();
}

#endif
