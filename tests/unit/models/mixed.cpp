// Mixed precision: each layer computes from rounded weights and inputs, whatever it is; memory of what is kept is less.
#define BOOST_TEST_MODULE mixed
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/activations/gelu.hpp"
#include "trireme/backend/convolution/vendor_convolution.hpp"
#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/layer_normalization.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

double rounded(double value) { return static_cast<double>(BFloat16(value)); }

/// A context that notes of products whether their operands are short.
struct NotingContext {
  using memory_space = Kokkos::HostSpace;
  [[maybe_unused]] static constexpr bool owns_rows = false;
  std::vector<bool> notes{};

  template <class T>
  void gemm(Product<T> const& product) {
    notes.push_back(product.short_operands);
  }
  template <class T, class Epilogue>
  bool gemm(Product<T> const& product, Epilogue const&) {
    notes.push_back(product.short_operands);
    return true;
  }
  template <class T>
  void gemm_batch(ProductBatch<T> const& batch) {
    notes.push_back(batch[batch.size() - 1].short_operands);
  }
};
struct NoEpilogue {};

/// Notes of a product, of one with an epilogue, and of a batch, whose outputs are stored as `Storage`.
template <class Storage>
std::vector<bool> notes_of_products() {
  NotingContext noting;
  StoringContext<NotingContext, Storage> const context(noting);
  Product<float> const product{};
  context.gemm(product);
  BOOST_TEST(context.gemm(product, NoEpilogue{}));
  context.gemm_batch(ProductBatch<float>{.first = product, .count = 2});
  return noting.notes;
}

/// What is between two layers under mixed precision, as a layer; its derivative counts as 1.
struct RoundedInput {
  static constexpr std::string_view class_name = "RoundedInput";
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context&, In const& in, Forward<T> const& f) const {
    for (std::size_t i = 0; i < f.rows * in.size(); ++i) f.y[i] = static_cast<T>(BFloat16(f.x[i]));
  }
  template <class Context, class In, class T>
  void backward(Context&, In const& in, Backward<T> const& b) const {
    for (std::size_t i = 0; i < b.rows * in.size(); ++i) b.dx[i] = b.dy[i];
  }
};

template <class Precision, class Architecture>
auto compiled(Architecture const& architecture, Parallelism plan) {
  return compile<Precision>(MirroredStrategy<>(2), architecture, SGD{.learning_rate = 0.1},
                            SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                            CompileOptions{.seed = 3, .parallelism = plan});
}

/// One step of a model in mixed precision (with activations whose gradient is the same for a rounded result) moves its
/// weights as one step moves the rounded weights of a model that has the roundings as layers.
template <class Mixed_, class Explicit>
void check_step(Mixed_ const& architecture, Explicit const& with_roundings) {
  auto const samples = test::cnn_samples<double>(7);
  auto const data = samples.data().batch(GlobalBatch{7});
  MirroredStrategy<> const strategy(2);
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    auto model = compiled<Mixed<BFloat16, double>>(architecture, plan);
    auto reference = compiled<double>(with_roundings, plan);
    std::vector<xt::xarray<double>> before;
    for (auto const& name : model.weight_names()) {
      before.push_back(model.weights(name));
      auto values = before.back();
      bool const is_state = name.find("moving") != std::string::npos;
      if (!is_state)
        for (double& value : values) value = rounded(value);
      reference.set_weights(name, values);
    }
    auto const expected = fit(strategy, reference, data, {.verbose = false});
    auto const history = fit(strategy, model, data, {.verbose = false});
    test::check_close(history["loss"][0], expected["loss"][0], 1e-13, "loss");
    for (std::size_t i = 0; i < before.size(); ++i) {
      auto const name = model.weight_names()[i];
      bool const is_state = name.find("moving") != std::string::npos;
      xt::xarray<double> start = before[i];
      if (!is_state)
        for (double& value : start) value = rounded(value);
      xt::xarray<double> const moved = model.weights(name) - before[i], step = reference.weights(name) - start;
      double const d = test::distance(moved, step);
      BOOST_TEST(d <= 1e-12, name << " moves otherwise by " << d);
    }
  }
}

auto input() { return Input<test::cnn_inputs[0], test::cnn_inputs[1], test::cnn_inputs[2]>{}; }
using R = RoundedInput;

}  // namespace

BOOST_AUTO_TEST_CASE(operands_of_products_are_short_where_bfloat16_is_stored) {
  BOOST_TEST((notes_of_products<BFloat16>() == std::vector<bool>{true, true, true}));
  BOOST_TEST((notes_of_products<float>() == std::vector<bool>{false, false, false}));
  static_assert(detail::shortens_operands<StoringContext<NotingContext, BFloat16>>);
  static_assert(!detail::shortens_operands<StoringContext<NotingContext, float>>);
  static_assert(!detail::shortens_operands<NotingContext>);
}

BOOST_AUTO_TEST_CASE(layers_of_an_image_network_compute_from_what_was_stored) {
  check_step(Sequential{input(), Conv2D<3, 3, 3, ReLU, Same>{}, MaxPooling2D<2, 2>{}, BatchNormalization<>{}, Flatten{},
                        Dense<8>{}, Activation<GELU>{}, Dense<test::classes>{}},
             Sequential{input(), Conv2D<3, 3, 3, ReLU, Same>{}, R{}, MaxPooling2D<2, 2>{}, R{}, BatchNormalization<>{},
                        R{}, Flatten{}, Dense<8>{}, R{}, Activation<GELU>{}, R{}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(sequences_branches_and_frozen_layers_compute_from_what_was_stored) {
  using Steps = Reshape<test::cnn_inputs[0], test::cnn_inputs[1] * test::cnn_inputs[2]>;
  check_step(
      Sequential{input(), Steps{}, Dense<6, ReLU>{},
                 Residual{LayerNormalization<>{}, Frozen{Dense<6, ReLU>{}}, Dense<6>{}},
                 Frozen{Sequential{Dense<6, ReLU>{}, Dense<5>{}}}, LSTM<5>{}, Dense<test::classes>{}},
      Sequential{input(), Steps{}, Dense<6, ReLU>{}, R{},
                 Residual{LayerNormalization<>{}, R{}, Frozen{Dense<6, ReLU>{}}, R{}, Dense<6>{}, R{}}, R{},
                 Frozen{Sequential{Dense<6, ReLU>{}, R{}, Dense<5>{}}}, R{}, LSTM<5>{}, R{}, Dense<test::classes>{}});
}

BOOST_AUTO_TEST_CASE(indices_that_joins_hand_on_are_not_rounded) {
  using Table = Embedding<1000, 1>;
  xt::xarray<double> x{{257, 300, 3}};  // BFloat16 has 256 and 300
  xt::xarray<double> const y{{0, 0, 0}};
  OneDeviceStrategy<> const strategy;
  auto const check = [&](auto const& architecture, xt::xarray<double> const& expected) {
    auto model = compile<Mixed<BFloat16, double>>(strategy, architecture, SGD{}, MeanSquaredError{});
    for (auto const& name : model.weight_names()) {
      auto table = model.weights(name);
      for (std::size_t row = 0; row < 1000; ++row) table(row, 0) = static_cast<double>(row % 16);
      model.set_weights(name, table);
    }
    xt::xarray<double> const found = predict(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{1}));
    BOOST_TEST(found == expected, boost::test_tools::per_element());
  };
  auto const input = Input<3>{};
  check(Sequential{input, Concatenate{Flatten{}}, Table{}, Flatten{}}, {{1, 12, 3}});
  check(Sequential{input, Concatenate{Flatten{}, Flatten{}}, Table{}, Flatten{}}, {{1, 12, 3, 1, 12, 3}});
  check(Sequential{input, Concatenate{Flatten{}, Flatten{}}, Frozen{Table{}}, Flatten{}}, {{1, 12, 3, 1, 12, 3}});
  check(Sequential{input, Fork{Add{Flatten{}, Flatten{}}, Skip{}}, Each{Sequential{Table{}, Flatten{}}}, Concatenate{}},
        {{2, 8, 6, 1, 12, 3}});
  check(Sequential{input, Add{Flatten{}, Flatten{}}, Concatenate{Flatten{}, Flatten{}}, Table{}, Flatten{}},
        {{2, 8, 6, 2, 8, 6}});
}

BOOST_AUTO_TEST_CASE(predictions_and_tests_round_as_training_does) {
  auto model = compiled<Mixed<BFloat16>>(test::mlp(), Parallelism::samples);
  auto const samples = test::mlp_samples<float>(9);
  MirroredStrategy<> const strategy(2);
  auto const data = samples.data().batch(GlobalBatch{4});
  auto const before = predict(strategy, model, data);
  for (auto const& name : model.weight_names()) {
    auto values = model.weights(name);
    for (float& value : values) value = static_cast<float>(BFloat16(value));
    model.set_weights(name, values);
  }
  BOOST_TEST((predict(strategy, model, data) == before));
}

BOOST_AUTO_TEST_CASE(what_is_kept_for_backward_takes_half_the_memory) {
  Sequential const deep{Input<64>{}, Dense<64>{}, Dense<64>{}, Dense<64>{}, Dense<64>{}, Dense<64>{}, Dense<64>{},
                        Dense<64>{}, Dense<64>{}, Dense<64>{}, Dense<64>{}, Dense<64>{}, Dense<64>{}};
  auto const plain = compile(OneDeviceStrategy<>(), deep, SGD{}, SparseCategoricalCrossentropy{.from_logits = true},
                             CompileOptions{.parallelism = Parallelism::intra_op});
  auto const mixed =
      compile<Mixed<BFloat16>>(OneDeviceStrategy<>(), deep, SGD{}, SparseCategoricalCrossentropy{.from_logits = true},
                               CompileOptions{.parallelism = Parallelism::intra_op});
  constexpr std::size_t rows = 10000, layer = (rows + 2) * 64 * sizeof(float),
                        arena = 12 * (64 * 64 + 64) * sizeof(float);
  // Outputs of eleven layers, the last one's being the model's; two buffers more, and the rounded weights.
  BOOST_TEST(plain.engine().memory_use(rows).workspace_bytes - mixed.engine().memory_use(rows).workspace_bytes ==
             11 * layer / 2 - 2 * layer - arena);
}
