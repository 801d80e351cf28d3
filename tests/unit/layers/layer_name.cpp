// Names of layers that are made at run time.
#define BOOST_TEST_MODULE layers_layer_name
#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>

#include <trireme/activations/tanh.hpp>
#include <trireme/compile.hpp>
#include <trireme/layers/activation.hpp>
#include <trireme/layers/dense.hpp>
#include <trireme/layers/input.hpp>
#include <trireme/losses/mean_squared_error.hpp>
#include <trireme/models/sequential.hpp>
#include <trireme/optimizers/sgd.hpp>
#include <trireme/strategies/data_parallel/one_device.hpp>

#include "support/kokkos_fixture.hpp"

using namespace trireme;

namespace {

// Longer than what a std::string holds within itself.
std::string text(std::string const& role, int i) { return role + "_of_the_model_with_the_number_" + std::to_string(i); }

auto block(int i) { return Dense<2>{.name = text("block", i)}; }

auto network(int i) {
  std::string const tail = "t" + std::to_string(i), other = text("other", i);
  Dense<1> last{.name = tail.c_str()};
  Activation<Tanh> activation{};
  activation.name = std::string_view(other).substr(0, 5);
  return Sequential{Input<2>{}, block(i), activation, last};
}

}  // namespace

BOOST_AUTO_TEST_CASE(layers_keep_names_of_text_that_is_gone) {
  auto const first = network(1), second = network(2);
  auto model = compile(OneDeviceStrategy<>(), first, SGD{}, MeanSquaredError{});
  BOOST_TEST(model.weights("block_of_the_model_with_the_number_1/kernel").size() == 4u);
  BOOST_TEST(model.weights("t1/bias").size() == 1u);
  BOOST_TEST((second.layer<0>().name == text("block", 2)));
  BOOST_TEST((second.layer<1>().name == "other"));
  BOOST_TEST((second.layer<2>().name == std::string_view("t2")));
}

BOOST_AUTO_TEST_CASE(a_name_is_a_constant_where_its_layer_is_one) {
  static constexpr Dense<3> layer{.name = "head"};
  static_assert(layer.name == "head" && !layer.name.empty() && std::string_view(layer.name).size() == 4);
  static_assert(Dense<3>{}.name.empty());
  static_assert(LayerName("a") == LayerName("a") && LayerName("a") != "b");
}
