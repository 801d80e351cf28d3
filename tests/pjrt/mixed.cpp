// Mixed precision in programs against OneDeviceStrategy. Of doubles no sum is so near a tie that its order shows.
#define BOOST_TEST_MODULE pjrt_mixed
#include "support/kokkos_fixture.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "pjrt/training.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/select.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

constexpr double limit = 1e-11;

template <class Precision, class Architecture, class Samples>
void check(Architecture const& architecture, Samples const& samples) {
  using T = typename Precision::Scalar;
  auto const trained = [&](auto const& strategy) {
    auto model =
        compile<Precision>(strategy, architecture, SGD{.learning_rate = 0.05, .momentum = 0.9},
                           SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 5});
    auto const data = samples.data().shuffle(samples.size(), 3).batch(GlobalBatch{16});
    auto history = fit(strategy, model, data, {.epochs = 4, .verbose = false});
    return std::tuple(std::move(model), std::move(history), xt::xarray<T>(predict(strategy, model, data)));
  };
  auto const reference = trained(OneDeviceStrategy<>());
  for (std::size_t replicas : {1u, 3u}) BOOST_TEST_CONTEXT(replicas << " replicas") {
      auto const run = trained(test::pjrt_strategy(replicas));
      test::check_same_weights(std::get<0>(run), std::get<0>(reference), limit);
      test::check_same_history(std::get<1>(run), std::get<1>(reference), limit);
      BOOST_TEST(test::distance(std::get<2>(run), std::get<2>(reference)) <= limit);
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(layers_hand_on_bfloat16_and_backward_reads_them) {
  check<Mixed<BFloat16, double>>(
      Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{.kernel_regularizer = L2(1e-2)}, Dropout{.rate = 0.25f},
                 Frozen{Sequential{Dense<7, Sigmoid>{}, Dense<5, Tanh>{}}}, Dense<test::classes>{}},
      test::mlp_samples<double>(50));
}

BOOST_AUTO_TEST_CASE(convolutions_and_pooling_round_as_on_one_device) {
  check<Mixed<BFloat16, double>>(test::cnn(), test::cnn_samples<double>(50));
}

BOOST_AUTO_TEST_CASE(joins_branches_and_tuples_round_as_on_one_device) {
  check<Mixed<BFloat16, double>>(
      Sequential{Input<test::mlp_inputs>{}, Fork{Dense<4, Tanh>{}, Skip{}, Dense<4, Sigmoid>{}}, Select<0, 2, 0, 1>{},
                 Parallel{Dense<4, Tanh>{}, Skip{}, Dropout{.rate = 0.25f}, Dense<4>{}},
                 Each{Sequential{Residual{Tanh{}}, Dense<3, Tanh>{}, Sigmoid{}}}, Concatenate{},
                 Residual{Dense<12, Tanh>{}}, Dense<test::classes>{}},
      test::mlp_samples<double>(50));
}

BOOST_AUTO_TEST_CASE(what_takes_the_input_beside_others_takes_it_as_it_is) {
  check<Mixed<BFloat16, double>>(
      Graph{Input<test::mlp_inputs>{}, node<"drop">(Dropout{.rate = 0.25f}), node<"a", "drop">(Dense<6, Tanh>{}),
            node<"sum", "a", "input", "drop">(Add{}), node<"head">(Dense<test::classes, Tanh>{})},
      test::mlp_samples<double>(50));
}

BOOST_AUTO_TEST_CASE(indices_that_joins_hand_on_are_those_of_one_device) {
  auto samples = test::make_samples<double>(50, {4}, test::classes, 3);
  for (double& value : samples.x) value = std::floor(std::abs(value) * 300);
  check<Mixed<BFloat16, double>>(Sequential{Input<4>{}, Concatenate{Flatten{}, Flatten{}}, Embedding<1500, 3>{},
                                            Flatten{}, Dense<test::classes>{}},
                                 samples);
}

BOOST_AUTO_TEST_CASE(floats_are_a_storage_for_doubles) {
  check<Mixed<float, double>>(test::mlp(), test::mlp_samples<double>(50));
}
