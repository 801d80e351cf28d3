// Inputs whose rows lie apart, put together while products of the same thread are under way.
#define BOOST_TEST_MODULE input_rows
#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"
#include "support/same_bits.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/input_rows.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;
using boost::test_tools::per_element;

namespace {

using Scalars = std::tuple<float, double>;

/// Rows of numbers in an order of their own.
template <class T>
struct Rows {
  std::size_t size;
  std::vector<T> numbers;
  std::vector<T const*> order;

  Rows(std::size_t count, std::size_t row_size) : size(row_size), numbers(test::numbers<T>(count * row_size, 7)) {
    for (std::size_t i = 0; i < count; ++i) order.push_back(numbers.data() + (i * 7 + 3) % count * size);
  }
  RowList<T> list(std::uint64_t ticket) const { return {order.data(), order.size(), ticket}; }
  std::vector<T> together() const {
    std::vector<T> all;
    for (T const* row : order) all.insert(all.end(), row, row + size);
    return all;
  }
};

/// So many tiles that each furthers a gather.
template <class T>
void multiply(std::size_t rows) {
  std::vector<T> const a = test::numbers<T>(rows * 32, 1), b = test::numbers<T>(32 * 16, 2);
  std::vector<T> c(rows * 16);
  Product<T> product{};
  product.m = rows, product.n = 16, product.k = 32;
  product.a = a.data(), product.lda = 32;
  product.b = b.data(), product.ldb = 16;
  product.c = c.data(), product.ldc = 16;
  detail::cache_gemm(product);
}

template <class T>
std::vector<T> copy_of(T const* from, std::size_t count) {
  return {from, from + count};
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_are_put_together_in_their_order, T, Scalars) {
  for (std::size_t const count : {1u, 2u, 3u, 11u})
    for (std::size_t const size : {1u, 255u, 256u, 257u, 784u}) {
      Rows<T> const rows(count, size);
      InputRows<T> inputs;
      inputs.reserve(count * size);
      BOOST_TEST(copy_of(inputs.gather(rows.list(0), size), count * size) == rows.together(), per_element());
      // Ahead, as far as the products of a step come.
      for (std::size_t const products : {0u, 6u, 60u, 6000u}) {
        {
          typename detail::RowGather<T>::Meanwhile const gathering(inputs.begin(rows.list(5), size));
          multiply<T>(products);
        }
        multiply<T>(600);  // furthers nothing any more
        BOOST_TEST(copy_of(inputs.gather(rows.list(5), size), count * size) == rows.together(), per_element());
      }
    }
}

BOOST_AUTO_TEST_CASE(rows_are_there_before_their_step_and_what_the_step_reads_stays) {
  if (!detail::has_simd) return;  // products are the BLAS's alone then
  Rows<float> first(5, 300), next(5, 300);
  for (float& x : next.numbers) x += 10;
  InputRows<float> inputs;
  inputs.reserve(5 * 300);
  float const* const read = inputs.gather(first.list(0), 300);
  auto const expected = next.together();
  {
    detail::RowGather<float>::Meanwhile const gathering(inputs.begin(next.list(5), 300));
    multiply<float>(1000);
  }
  BOOST_TEST(copy_of(read, 5 * 300) == first.together(), per_element());
  for (float& x : next.numbers) x = -1;  // whatever is read from now on would show
  BOOST_TEST(copy_of(inputs.gather(next.list(5), 300), 5 * 300) == expected, per_element());
}

BOOST_AUTO_TEST_CASE(only_the_rows_that_were_announced_are_taken_for_them) {
  Rows<float> const announced(4, 40), other(3, 40);
  InputRows<float> inputs;
  inputs.reserve(4 * 40);
  for (std::uint64_t const ticket : {0u, 5u, 6u}) {
    inputs.begin(announced.list(5), 40).finish();
    BOOST_TEST(copy_of(inputs.gather(other.list(ticket), 40), 3 * 40) == other.together(), per_element());
    BOOST_TEST(copy_of(inputs.gather(announced.list(5), 40), 4 * 40) == announced.together(), per_element());
  }
  inputs.begin(announced.list(5), 40).finish();
  inputs.reserve(8 * 40);  // what was begun is gone with the memory
  BOOST_TEST(copy_of(inputs.gather(announced.list(5), 40), 4 * 40) == announced.together(), per_element());
}

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
