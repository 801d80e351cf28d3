// Shuffled samples in memory, whose rows partitions read in place or gather.
#define BOOST_TEST_MODULE batch_partitions
#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"
#include "support/same_bits.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trireme/models/frozen.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

/// Its first layer reads rows where they lie; the second's are put together.
constexpr Sequential perceptron(Input<300>{}, Dense<33>{}, ReLU{}, Dense<5>{});
constexpr Sequential begun_by_another(Input<300>{}, ReLU{}, Dense<33>{}, Dense<5>{});

/// Like one that a user derives: it reads x, and knows nothing of lists.
struct Shifted : Dense<33> {
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    Dense<33>::forward(context, in, f);
    for (std::size_t row = 0; row < f.rows; ++row) f.y[row * 33] += f.x[row * in.size()];
  }
};

/// One that passes another x on.
struct Halved : Dense<33> {
  template <class T, class Context, class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    auto const of_dense = Dense<33>::saved<T, Context>(in, rows);
    return std::array{of_dense[0], of_dense[1], SavedTensor{rows * in.size()}};
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    Forward<T> inner = f;
    inner.x = f.saved[2];
    for (std::size_t i = 0; i < f.rows * in.size(); ++i) f.saved[2][i] = T(0.5) * f.x[i];
    Dense<33>::forward(context, in, inner);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    Backward<T> inner = b;
    inner.x = b.saved[2];
    Dense<33>::backward(context, in, inner);
    if (b.dx)
      for (std::size_t i = 0; i < b.rows * in.size(); ++i) b.dx[i] *= T(0.5);
  }
};

/// Trains on shuffled samples where they lie, and on copies of them in the same order.
template <class Precision = float, class T = float, class Strategy, class Layers = decltype(perceptron)>
void check_that_copies_train_alike(Strategy const& strategy, Layers const& layers = perceptron,
                                   std::size_t batch = 16) {
  std::size_t const samples = 101, features = 300;
  auto const x = test::numbers<T>(samples * features, 3);
  std::vector<std::int32_t> y;
  for (std::size_t i = 0; i < samples; ++i) y.push_back(static_cast<std::int32_t>(i % 5));
  auto const extents = layers.input().to_vector();
  std::vector<std::size_t> shape{samples};
  shape.insert(shape.end(), extents.begin(), extents.end());
  auto const data = data::from_tensor_slices(HostTensor<T>{nullptr, x.data(), shape, {}}, y);
  auto const same = [](std::span<T const> from, std::span<T> to) { std::ranges::copy(from, to.begin()); };
  auto const with_trained = [&](auto const& dataset, FitOptions const& options, auto const& then) {
    auto model = compile<Precision>(strategy, layers, Adam{}, SparseCategoricalCrossentropy{.from_logits = true},
                                    Accuracy{}, CompileOptions{.seed = 1, .parallelism = Parallelism::samples});
    // Validation takes the buffers in between, and the end of an epoch is a jump.
    auto const history = fit(strategy, model, dataset, validation(dataset), options);
    then(model, history);
  };
  for (std::optional<std::size_t> const steps : {std::optional<std::size_t>{}, std::optional<std::size_t>{3}}) {
    FitOptions const options{.epochs = 3, .steps_per_epoch = steps, .verbose = false};
    auto const copied = data.map(extents, same).shuffle(samples, 7).batch(GlobalBatch{batch});
    with_trained(copied, options, [&](auto const& reference, History const& expected) {
      with_trained(data.shuffle(samples, 7).batch(GlobalBatch{batch}), options,
                   [&](auto const& model, History const& history) {
                     test::check_same_bits(model, history, reference, expected);
                   });
    });
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(shuffled_samples_in_memory_train_as_those_that_are_copied) {
  check_that_copies_train_alike(OneDeviceStrategy<>());
  check_that_copies_train_alike(MirroredStrategy<>(2));
  check_that_copies_train_alike(MirroredStrategy<>(5));
  check_that_copies_train_alike(OneDeviceStrategy<>(), begun_by_another);
  check_that_copies_train_alike(MirroredStrategy<>(2), begun_by_another);
}

BOOST_AUTO_TEST_CASE(they_do_whichever_layers_come_first) {
  MirroredStrategy<> const two(2);
  check_that_copies_train_alike(two, Sequential(Input<20, 5, 3>{}, Flatten{}, Dense<33, ReLU>{}, Dense<5>{}));
  check_that_copies_train_alike(two, Sequential(Input<300>{}, Sequential(Dense<33, ReLU>{}), Dense<5>{}));
  check_that_copies_train_alike(two, Sequential(Input<300>{}, Frozen(Dense<33>{}), Dense<5>{}));
  check_that_copies_train_alike(two, Sequential(Input<300>{}, Residual(Dense<300>{}), Dense<5>{}));
  check_that_copies_train_alike(two, Sequential(Input<300>{}, Concatenate(Dense<33>{}, Dense<20>{}), Dense<5>{}));
  check_that_copies_train_alike(two, Sequential(Input<60, 5>{}, Dense<4, ReLU>{}, Flatten{}, Dense<5>{}));
  check_that_copies_train_alike(two, Sequential(Input<300>{}, Dense<5>{}));
  check_that_copies_train_alike(
      two, Sequential(Input<dynamic>{.extents = {300}}, Dense<dynamic, ReLU>{.units = {33}}, Dense<5>{}));
  check_that_copies_train_alike(two, Sequential(Input<300>{}, Shifted{}, Dense<5>{}));
  check_that_copies_train_alike<double, double>(two, perceptron);
  check_that_copies_train_alike<Mixed<BFloat16>>(two, perceptron);
  check_that_copies_train_alike<Mixed<BFloat16>>(two, Sequential(Input<20, 15>{}, Flatten{}, Dense<33>{}, Dense<5>{}));
}

BOOST_AUTO_TEST_CASE(a_layer_derived_from_dense_multiplies_the_x_that_it_is_passed) {
  std::size_t const samples = 40;
  auto const x = test::numbers<float>(samples * 300, 3);
  std::vector<float> half;
  for (float const value : x) half.push_back(0.5f * value);
  std::vector<std::int32_t> y;
  for (std::size_t i = 0; i < samples; ++i) y.push_back(static_cast<std::int32_t>(i % 5));
  OneDeviceStrategy<> const strategy;
  auto const weights_of = [&](auto const& layers, std::vector<float> const& inputs) {
    auto model = compile(strategy, layers, SGD{}, SparseCategoricalCrossentropy{.from_logits = true},
                         CompileOptions{.seed = 1, .parallelism = Parallelism::samples});
    auto const data = data::from_tensor_slices(HostTensor<float>{nullptr, inputs.data(), {samples, 300}, {}}, y);
    fit(strategy, model, data.shuffle(samples, 7).batch(GlobalBatch{8}), {.epochs = 2, .verbose = false});
    return model.engine().weights().host_parameters();
  };
  BOOST_TEST(weights_of(Sequential(Input<300>{}, Halved{}, Dense<5>{}), x) ==
                 weights_of(Sequential(Input<300>{}, Dense<33>{}, Dense<5>{}), half),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(they_do_one_by_one) {
  check_that_copies_train_alike(OneDeviceStrategy<>(), perceptron, 1);
  check_that_copies_train_alike(MirroredStrategy<>(3), perceptron, 1);  // two partitions have no rows
}

BOOST_AUTO_TEST_CASE(they_do_where_large_batches_are_read_as_they_lie_and_a_small_one_is_not) {
  check_that_copies_train_alike(OneDeviceStrategy<>(), Sequential(Input<300>{}, Dense<300, Tanh>{}, Dense<5>{}));
  // Partitions of nine and of eight rows.
  check_that_copies_train_alike(MirroredStrategy<>(2), Sequential(Input<300>{}, Dense<300>{}, Dense<5>{}), 17);
}

BOOST_AUTO_TEST_CASE(rows_are_read_where_they_lie_by_register_tiles) {
  auto const takes = [](auto const& layers, std::size_t rows) {
    auto const model =
        compile(OneDeviceStrategy<>(), layers, Adam{}, SparseCategoricalCrossentropy{.from_logits = true});
    return model.engine().model().template takes_scattered_rows<ThreadContext>(rows);
  };
  BOOST_TEST(takes(perceptron, 32) == detail::has_simd);
  BOOST_TEST(takes(Sequential(Input<20, 15>{}, Flatten{}, Dense<33>{}), 32) == detail::has_simd);
  BOOST_TEST(takes(Sequential(Input<300>{}, Dense<300>{}), 32) == detail::has_simd);
  BOOST_TEST(takes(Sequential(Input<300>{}, Concatenate(Dense<33>{}, Dense<20>{}), Dense<5>{}), 32) ==
             detail::has_simd);
  BOOST_TEST(!takes(Sequential(Input<300>{}, Concatenate(Dense<33>{}, Shifted{})), 32));
  BOOST_TEST(!takes(Sequential(Input<300>{}, Dense<300>{}), 4));  // one pass over a large matrix
  BOOST_TEST(!takes(perceptron, 8000));                           // a BLAS for the gradient
  BOOST_TEST(!takes(perceptron, 0));
  BOOST_TEST(!takes(Sequential(Input<600>{}, Dense<500>{}), 32));  // a BLAS
  BOOST_TEST(!takes(begun_by_another, 32));
  BOOST_TEST(!takes(Sequential(Input<300>{}, Shifted{}, Dense<5>{}), 32));
  BOOST_TEST(!takes(Sequential(Input<20, 15>{}, Dense<33>{}, Flatten{}, Dense<5>{}), 32));
  BOOST_TEST(!takes(Sequential(Input<300>{}, Residual(Dense<300>{}), Dense<5>{}), 32));
}

BOOST_AUTO_TEST_CASE(pieces_of_a_batch_are_not_taken_for_the_whole) {
  check_that_copies_train_alike(Accumulate<OneDeviceStrategy<>, 2>());
  check_that_copies_train_alike(Accumulate<MirroredStrategy<>, 3>(MirroredStrategy<>(2)));
}

BOOST_AUTO_TEST_CASE(shards_are_cut_anew_in_each_batch) {
  check_that_copies_train_alike(VirtualReplicas<OneDeviceStrategy<>, 4>());
}
