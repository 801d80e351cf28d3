// Graphs and branches under PjrtStrategy against OneDeviceStrategy.
#define BOOST_TEST_MODULE pjrt_graphs
#include "support/kokkos_fixture.hpp"

#include "pjrt/training.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/layers/select.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

template <class Architecture>
void check(Architecture const& architecture) {
  auto const samples = test::mlp_samples<float>(61);
  auto const data = samples.weighted_data().shuffle(61, 3).batch(GlobalBatch{16});
  auto const make = [&](auto const& strategy) {
    return compile(strategy, architecture, SGD{.learning_rate = 0.05, .momentum = 0.9},
                   SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 5});
  };
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 6);
  for (std::size_t replicas : {1u, 3u}) BOOST_TEST_CONTEXT(replicas << " replicas")
  test::check_same_run(test::run(test::pjrt_strategy(replicas), make, data, data, 6), reference);
}

}  // namespace

BOOST_AUTO_TEST_CASE(graphs_whose_values_have_several_users_train_as_on_one_device) {
  check(Graph{Input<test::mlp_inputs>{}, node<"a">(Dense<6, Tanh>{}), node<"b", "a">(Dense<6, Tanh>{}),
              node<"drop", "a">(Dropout{.rate = 0.25f}), node<"sum", "b", "drop", "a">(Add{}),
              node<"c", "sum">(Dense<5, ReLU>{}), node<"all", "c", "input", "b">(Concatenate{}),
              node<"head">(Dense<test::classes>{})});
}

BOOST_AUTO_TEST_CASE(graphs_that_end_in_a_join_train_as_on_one_device) {
  check(Graph{Input<test::mlp_inputs>{}, node<"a">(Dense<test::classes, Tanh>{}),
              node<"b", "input">(Dense<test::classes>{}), node<"sum", "a", "b">(Add{})});
}

BOOST_AUTO_TEST_CASE(graphs_of_convolutions_train_as_on_one_device) {
  check(Graph{Input<test::mlp_inputs>{}, node<"image">(Reshape<1, test::mlp_inputs, 1>{}),
              node<"wide">(Conv2D<4, 1, 3, ReLU, Same>{}), node<"thin", "image">(Conv2D<3, 1, 1, ReLU>{}),
              node<"both", "wide", "thin">(Concatenate{}), node<"pool">(MaxPooling2D<1, 2>{}), node<"flat">(Flatten{}),
              node<"head">(Dense<test::classes>{})});
}

BOOST_AUTO_TEST_CASE(tuples_train_as_on_one_device) {
  check(Sequential{Input<test::mlp_inputs>{},
                   Fork{Dense<5, Tanh>{}, Skip{}, Sequential{Dropout{.rate = 0.25f}, Dense<3>{}}}, Select<2, 0, 2>{},
                   Parallel{Dense<4, ReLU>{}, Dropout{.rate = 0.25f}, Skip{}}, Concatenate{},
                   Fork{Dense<6>{}, Dense<6, ReLU>{}}, Add{}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(weights_behind_unused_values_get_no_gradient) {
  check(Sequential{Input<test::mlp_inputs>{}, Fork{Dense<5, Tanh>{.kernel_regularizer = L2(1e-2)}, Dense<6, Tanh>{}},
                   Select<1>{}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(values_under_several_extents_train_as_on_one_device) {
  check(Graph{Input<test::mlp_inputs>{}, node<"rows">(Reshape<2, 3>{}), node<"a">(Dense<4, Tanh>{}),
              node<"flat">(Flatten{}), node<"b", "a">(Sequential{Dense<8>{}, Reshape<16>{}, Dense<8>{}}),
              node<"pairs", "a">(Sequential{Reshape<4, 2>{}, Dense<2, ReLU>{}, Flatten{}}),
              node<"sum", "flat", "b", "pairs">(Add{}), node<"head">(Dense<test::classes>{})});
}

BOOST_AUTO_TEST_CASE(branches_of_a_sequential_train_as_on_one_device) {
  check(Sequential{Input<test::mlp_inputs>{}, Concatenate{Dense<5, ReLU>{}, Skip{}}, Dense<6>{},
                   Residual{Dense<6, Tanh>{}, Dropout{.rate = 0.25f}, Dense<6>{}},
                   Add{Dense<4>{}, Sequential{Dense<7, ReLU>{}, Dense<4>{}}}, Dense<test::classes>{}});
}
