// Frozen layers: none of their bytes are in gradients, optimizer or buckets, none of their bits change, and backward
// does nothing for them.
#define BOOST_TEST_MODULE frozen
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/layer_normalization.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/gradients/gradient_buckets.hpp"
#include "unit/layers/gradient_check.hpp"

using namespace trireme;

namespace {

constexpr Sequential plain{Input<6>{}, Dense<9, Tanh>{}, BatchNormalization<>{}, Sequential{Dense<7>{}}, Dense<4>{}};
constexpr Sequential part{Input<6>{}, Frozen{Dense<9, Tanh>{}}, Frozen{BatchNormalization<>{}},
                          Frozen{Sequential{Dense<7>{}}}, Dense<4>{}};

constexpr ModelCost whole = model_cost<double>(plain), cost = model_cost<double>(part);
static_assert(cost.parameters == 7 * 4 + 4);
static_assert(cost.arena_bytes == 8 * (32 + 8) && cost.state_bytes == 0);
static_assert(cost.frozen_bytes + cost.reduced_bytes() == whole.reduced_bytes());
static_assert(cost.activation_bytes == whole.activation_bytes);

/// A layer with parameters that counts what it is asked for.
struct Witness {
  static inline std::size_t forwards, backwards, inputs, gradients;
  static void reset() { forwards = backwards = inputs = gradients = 0; }

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class In>
  constexpr auto parameters(In const&) const {
    return std::array{ParameterShape{"factor", {1}}};
  }
  template <class Context, class In, class T>
  void forward(Context&, In const& in, Forward<T> const& f) const {
    ++forwards;
    for (std::size_t i = 0; i < f.rows * in.size(); ++i) f.y[i] = f.parameters[0][0] * f.x[i];
  }
  template <class Context, class In, class T>
  void backward(Context&, In const& in, Backward<T> const& b) const {
    ++backwards;
    if (b.dx) {
      ++inputs;
      for (std::size_t i = 0; i < b.rows * in.size(); ++i) b.dx[i] = b.parameters[0][0] * b.dy[i];
    }
    if (b.frozen) return;
    ++gradients;
    T& gradient = *b.gradients[0].values();
    gradient = 0;
    for (std::size_t i = 0; i < b.rows * in.size(); ++i) gradient += b.x[i] * b.dy[i];
  }
};

template <class Strategy, class Architecture>
auto compiled(Strategy const& strategy, Architecture const& architecture, Parallelism plan) {
  return compile<double>(strategy, architecture, Adam{.learning_rate = 0.01},
                         SparseCategoricalCrossentropy{.from_logits = true},
                         CompileOptions{.seed = 2, .parallelism = plan});
}

template <class Architecture>
void train_once(Architecture const& architecture) {
  OneDeviceStrategy<> const strategy;
  auto model = compiled(strategy, architecture, Parallelism::intra_op);
  Witness::reset();
  auto const samples = test::mlp_samples<double>(5);
  fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.verbose = false});
}

}  // namespace

BOOST_AUTO_TEST_CASE(weights_lie_behind_those_that_train_and_keep_their_place_in_files) {
  ModelDescription const with = describe<double>(part), without = describe<double>(plain);
  BOOST_TEST(with.elements * sizeof(double) == cost.arena_bytes);
  BOOST_TEST(with.frozen_elements * sizeof(double) == cost.frozen_bytes);
  std::vector<std::string> names, plain_names;
  for_each_weight(with, [&](WeightInfo const& weight) { names.push_back(weight.path); });
  for_each_weight(without, [&](WeightInfo const& weight) { plain_names.push_back(weight.path); });
  BOOST_TEST(names == plain_names, boost::test_tools::per_element());
  std::vector<int> taken(with.arena_elements());
  for_each_weight(with, [&](WeightInfo const& weight) {
    for (std::size_t i = 0; i < weight.size; ++i) ++taken.at(weight.offset + i);
  });
  BOOST_TEST(*std::max_element(taken.begin(), taken.end()) == 1);
  for (auto const& weight : with.frozen) BOOST_TEST(weight.offset >= with.reduced_elements());
  for (std::size_t bucket_bytes : {std::size_t{1}, std::size_t{1} << 30}) {
    std::size_t bytes = 0;
    for (auto const& range : bucket_ranges<double>(with, bucket_bytes))
      bytes += (range.end - range.begin) * sizeof(double);
    BOOST_TEST(bytes == cost.reduced_bytes());
  }
}

BOOST_AUTO_TEST_CASE(gradients_and_optimizer_are_as_long_as_what_trains) {
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    auto model = compiled(MirroredStrategy<>(2), part, plan);
    MemoryUse const use = model.engine().memory_use(4);
    BOOST_TEST(use.optimizer_bytes() == 2 * cost.arena_bytes);
    detail::HostState<double> state;
    model.engine().gather_state(state);
    BOOST_TEST(state.slots.size() == 2u);
    for (auto const& slot : state.slots) BOOST_TEST(slot.size() * sizeof(double) == cost.arena_bytes);
    BOOST_TEST(state.parameters.size() * sizeof(double) == cost.arena_bytes + cost.frozen_bytes);
    BOOST_TEST(model.parameter_count() == describe<double>(plain).parameter_count());
  }
}

BOOST_AUTO_TEST_CASE(initial_weights_are_those_of_the_same_model_without_frozen_layers) {
  auto const frozen = compiled(OneDeviceStrategy<>(), part, Parallelism::samples);
  auto const reference = compiled(OneDeviceStrategy<>(), plain, Parallelism::samples);
  test::check_same_weights(frozen, reference, 0);
}

BOOST_AUTO_TEST_CASE(frozen_weights_keep_every_bit_and_the_others_train) {
  auto const samples = test::mlp_samples<double>(23);
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    MirroredStrategy<> const strategy(2);
    auto model = compiled(strategy, part, plan);
    std::vector<xt::xarray<double>> before;
    for (auto const& name : model.weight_names()) before.push_back(model.weights(name));
    fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 2, .verbose = false});
    std::size_t index = 0;
    for (auto const& name : model.weight_names()) {
      bool const trains = name.starts_with("dense_1/");
      BOOST_TEST((model.weights(name) == before[index++]) != trains, name);
    }
  }
}

BOOST_AUTO_TEST_CASE(backward_computes_what_some_layer_that_trains_wants_and_nothing_else) {
  train_once(Sequential{Input<6>{}, Witness{}, Dense<4>{}});
  BOOST_TEST(Witness::backwards == 1u);
  BOOST_TEST(Witness::inputs == 0u);
  BOOST_TEST(Witness::gradients == 1u);
  train_once(Sequential{Input<6>{}, Frozen{Witness{}}, Frozen{Sequential{Witness{}, Dense<5>{}}}, Dense<4>{}});
  BOOST_TEST(Witness::forwards == 2u);
  BOOST_TEST(Witness::backwards == 0u);
  train_once(Sequential{Input<6>{}, Dense<6>{}, Frozen{Witness{}}, Dense<4>{}});
  BOOST_TEST(Witness::inputs == 1u);
  BOOST_TEST(Witness::gradients == 0u);
  // In branches: the first of a model, and one behind a layer that trains.
  train_once(Sequential{Input<6>{}, Add{Frozen{Witness{}}, Dense<6>{}}, Dense<4>{}});
  BOOST_TEST(Witness::backwards == 0u);
  train_once(Sequential{Input<6>{}, Dense<6>{}, Residual{Frozen{Witness{}}}, Dense<4>{}});
  BOOST_TEST(Witness::inputs == 1u);
  BOOST_TEST(Witness::gradients == 0u);
}

BOOST_AUTO_TEST_CASE(a_model_of_which_nothing_trains_stays_as_it_is) {
  OneDeviceStrategy<> const strategy;
  auto const samples = test::mlp_samples<double>(9);
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    auto model = compiled(strategy, Sequential{Input<6>{}, Frozen{Sequential{Dense<5, ReLU>{}, Dense<4>{}}}}, plan);
    auto const before = test::weight_bits(model);
    auto const history = fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 2, .verbose = false});
    BOOST_TEST(test::weight_bits(model) == before);
    BOOST_TEST(history["loss"][0] == history["loss"][1]);
  }
}

BOOST_AUTO_TEST_CASE(gradients_through_frozen_layers_are_those_of_central_differences) {
  test::check_gradients(
      Sequential{Dense<5, Tanh>{}, Frozen{Sequential{Dense<6, Tanh>{}, BatchNormalization<>{}}}, Dense<3>{}},
      Extents<4>{});
  test::check_gradients(Sequential{Conv2D<3, 2, 2>{}, Frozen{Conv2D<2, 3, 3, Same, Tanh>{}},
                                   Frozen{Sequential{Conv2D<4, 3, 3>{}, MaxPooling2D<2, 2>{}}}, Conv2D<2, 1, 1>{}},
                        Extents<7, 7, 2>{});
  test::check_gradients(Sequential{Dense<4, Tanh>{}, Frozen{LSTM<4, ReturnSequences>{}}, Frozen{LayerNormalization<>{}},
                                   Residual{Frozen{MultiHeadAttention<2, 3>{}}, Dense<4>{}}, LSTM<2>{}},
                        Extents<3, 2>{});
  test::check_gradients(Sequential{Concatenate{Dense<3>{}, Frozen{Frozen{Dense<2, Tanh>{}}}}, Dense<2>{}},
                        Extents<4>{});
}

BOOST_AUTO_TEST_CASE(frozen_layers_in_tuples_pass_gradients_on) {
  test::check_gradients(Sequential{Fork{Dense<4, Tanh>{}, Frozen{Dense<4, Tanh>{}}},
                                   Each{Sequential{Frozen{Dense<3, Tanh>{}}, Dense<2>{}}}, Concatenate{}, Dense<2>{}},
                        Extents<4>{});
  test::check_gradients(Sequential{Fork{Dense<3>{}, Dense<3, Tanh>{}}, Frozen{Each{Dense<2, Tanh>{}}},
                                   Parallel{Frozen{Dense<2>{}}, Dense<2>{}}, Add{}},
                        Extents<4>{});
}
