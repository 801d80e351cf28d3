// Gradients of large matrices that threads compute together become what each partition's own would add up to.
#define BOOST_TEST_MODULE deferred_products
#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"
#include "support/same_bits.hpp"
#include "support/steady_steps.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "trireme/layers/copy.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/deferred_products.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using boost::test_tools::per_element;

namespace {

/// Two matrices in an arena, as partitions with uneven rows leave them, some of which have none.
struct DeferredArena {
  static constexpr std::size_t m = 150, n = 70, wide_m = 40, wide_n = 1100, least = 8 * 4;
  static constexpr std::size_t first = 32, second = first + 10512, elements = second + 44000 + 48;
  std::vector<std::size_t> rows{3, 0, 4, 1};
  std::vector<std::vector<double>> x, dy, wide_x, wide_dy;
  std::vector<std::vector<double const*>> x_rows;
  std::vector<double> numbers = std::vector<double>(elements, -7.0);
  DeferredProducts<double> products{4, 4};

  explicit DeferredArena(bool reversed) {
    products.begin(8);
    for (std::size_t partition = 0; partition < rows.size(); ++partition) {
      auto const matrix = [&](std::size_t width, std::size_t seed) {
        return test::numbers<double>(rows[partition] * width, seed + partition);
      };
      x.push_back(matrix(m, 1)), dy.push_back(matrix(n, 11));
      wide_x.push_back(matrix(wide_m, 21)), wide_dy.push_back(matrix(wide_n, 31));
      x_rows.emplace_back();
      GradientSink<double>* const sink = products.sink(partition, {0, rows[partition]}, numbers.data());
      BOOST_TEST((sink != nullptr) == (rows[partition] != 0));
      if (!sink) continue;
      BOOST_TEST(sink->defers(m, n, rows[partition]));
      BOOST_TEST(sink->defers(least, 128, rows[partition]));
      BOOST_TEST(!sink->defers(least, 127, rows[partition]));       // too small
      BOOST_TEST(!sink->defers(least - 1, 1000, rows[partition]));  // too few rows for so many partitions
      BOOST_TEST(sink->defers(6 * 8, 128, 3 * rows[partition]));    // three positions of the eight samples
      BOOST_TEST(!sink->defers(6 * 8 - 1, 128, 3 * rows[partition]));
      if (rows[partition] > 1) BOOST_TEST(!sink->defers(m, n, rows[partition] + 1));
      DeferredProduct<double> small{
          m, n, rows[partition], x[partition].data(), dy[partition].data(), numbers.data() + first};
      if (partition == 2) {  // as its rows might lie apart
        for (std::size_t row = 0; row < rows[partition]; ++row) x_rows.back().push_back(x[partition].data() + row * m);
        small.x = RowsView<double>::scattered(x_rows.back().data());
      }
      DeferredProduct<double> const wide{wide_m,
                                         wide_n,
                                         rows[partition],
                                         wide_x[partition].data(),
                                         wide_dy[partition].data(),
                                         numbers.data() + second};
      sink->defer(reversed ? wide : small);
      sink->defer(reversed ? small : wide);
    }
  }

  /// What element i becomes, a sum over partitions in order; nothing is written to those that nobody shares.
  double expected(std::size_t i) const {
    bool const is_wide = i >= second;
    std::size_t const begin = is_wide ? second : first, width = is_wide ? wide_n : n, height = is_wide ? wide_m : m;
    if (i < begin || i >= begin + height * width) return -7.0;
    std::size_t const row = (i - begin) / width, column = (i - begin) % width;
    double sum = 0;
    for (std::size_t partition = 0; partition < rows.size(); ++partition)
      for (std::size_t k = 0; k < rows[partition]; ++k)
        sum += (is_wide ? wide_x : x)[partition][k * height + row] *
               (is_wide ? wide_dy : dy)[partition][k * width + column];
    return sum;
  }
};

void check_sums(std::vector<double> const& found, DeferredArena const& arena) {
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) largest = std::max(largest, std::abs(found[i] - arena.expected(i)));
  BOOST_TEST(largest <= 1e-14);
}

/// Passes on what it is given, and notes whether it might share a product.
struct Asks {
  static constexpr std::string_view class_name = "Asks";
  static inline std::atomic<int> shared = 0, asked = 0;
  LayerName name{};

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class In>
  constexpr auto parameters(In const&) const {
    return std::array{ParameterShape{"unused", {1}}};
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    ++asked;
    *b.gradients[0].values() = 0;
    if (b.gradients[0].defers(context, b.rows, 100, 100)) ++shared;
    if (b.dx) kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

template <class Precision>
void train_one_that_asks() {
  Asks::shared = Asks::asked = 0;
  auto const samples = test::cnn_samples<float>(9);
  auto model = compile<Precision>(OneDeviceStrategy<>(),
                                  Sequential{test::law::input(), Flatten{}, Dense<9>{}, Asks{}, Dense<test::classes>{}},
                                  SGD{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                                  CompileOptions{.seed = 5, .parallelism = Parallelism::samples});
  fit(OneDeviceStrategy<>(), model, samples.data().batch(GlobalBatch{9}), {.epochs = 1, .verbose = false});
}

template <class T, class Strategy, class Optimizer, class Then>
void with_trained(Strategy const& strategy, Parallelism plan, Optimizer const& optimizer, std::size_t batch,
                  bool shuffled, Then const& then) {
  auto const samples = test::cnn_samples<T>(3 * batch + 1);
  auto model = compile<T>(strategy, test::law::deep(), optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                          Accuracy{}, CompileOptions{.seed = 5, .parallelism = plan});
  auto const data = shuffled ? samples.data().shuffle(3 * batch + 1, 3).batch(GlobalBatch{batch})
                             : samples.data().batch(GlobalBatch{batch});
  auto const history = fit(strategy, model, data, {.epochs = 2, .verbose = false});
  then(model, history);
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_together_store_each_sum_once) {
  for (std::size_t threads = 1; threads <= 5; ++threads) {
    DeferredArena arena(threads % 2 == 0);
    for (std::size_t thread = threads; thread-- > 0;)
      arena.products.compute(ThreadContext(), thread, threads, {0, DeferredArena::elements}, arena.numbers.data(), {});
    check_sums(arena.numbers, arena);
  }
}

BOOST_AUTO_TEST_CASE(an_update_gets_each_sum_once_and_the_arena_stays) {
  for (std::size_t threads = 1; threads <= 5; ++threads) {
    DeferredArena arena(threads % 2 == 0);
    std::vector<double> taken(DeferredArena::elements, -7.0);
    std::vector<int> times(DeferredArena::elements, 0);
    auto const take = [&](ThreadContext const&, std::size_t begin, std::size_t end, double const* values) {
      for (std::size_t i = begin; i < end; ++i) taken.at(i) = values[i - begin], ++times[i];
    };
    for (std::size_t thread = 0; thread < threads; ++thread)
      arena.products.compute(ThreadContext(), thread, threads, {0, DeferredArena::elements}, arena.numbers.data(),
                             UpdateRange<double>(take));
    check_sums(taken, arena);
    BOOST_TEST(*std::max_element(times.begin(), times.end()) == 1);
    BOOST_TEST(std::all_of(arena.numbers.begin(), arena.numbers.end(), [](double x) { return x == -7.0; }));
  }
}

BOOST_AUTO_TEST_CASE(what_is_not_deferred_is_left_to_one_thread_each) {
  for (std::size_t threads : {1u, 2u, 3u, 7u, 40u}) {
    DeferredArena const arena(threads % 2 == 0);
    std::vector<int> times(DeferredArena::elements, 0);
    for (std::size_t thread = 0; thread < threads; ++thread)
      arena.products.for_each_other(thread, threads, {0, DeferredArena::elements},
                                    [&](std::size_t begin, std::size_t end) {
                                      BOOST_TEST(begin < end);
                                      for (std::size_t i = begin; i < end; ++i) ++times.at(i);
                                    });
    for (std::size_t i = 0; i < DeferredArena::elements; ++i) {
      // Also the elements that fill the last line: they may be another part of the same parameter.
      bool const deferred = (i >= DeferredArena::first && i < DeferredArena::first + 10500) ||
                            (i >= DeferredArena::second && i < DeferredArena::second + 44000);
      if (times[i] != (deferred ? 0 : 1))
        BOOST_TEST_CONTEXT("element " << i) BOOST_TEST(times[i] == (deferred ? 0 : 1));
    }
  }
}

BOOST_AUTO_TEST_CASE(processes_add_up_products_that_are_copied_and_gradients_that_are_stored) {
  // Two processes of two partitions copy operands; a third has stored its gradients, a fourth has no rows.
  constexpr std::size_t m = 70, n = 60, offset = 16, elements = offset + m * n + 5, all_rows = 9;
  OperandRoom const room{.partitions = 2, .products = 1, .columns = m + n};
  std::vector<double> expected(elements, 0.0), stored(elements, 0.0);
  std::vector<std::vector<std::uint64_t>> memory(4, std::vector<std::uint64_t>(room.list_words()));
  std::vector<std::vector<double>> operands(4, std::vector<double>(6 * room.columns));
  std::vector<ProductList<double>> lists(4 * room.partitions);
  DeferredProducts<double> products(room.partitions, room.partitions);
  std::vector<double> arena(elements);
  auto const add = [&](std::vector<double> const& x, std::vector<double> const& dy, std::vector<double>& to) {
    for (std::size_t k = 0; k < x.size() / m; ++k)
      for (std::size_t i = 0; i < m * n; ++i) to[offset + i] += x[k * m + i / n] * dy[k * n + i % n];
  };
  std::vector<std::vector<double>> kept;
  for (std::size_t process = 0; process < 4; ++process) {
    OperandCopies<double> copies(room, memory[process].data(), operands[process].data());
    std::size_t const rows = process == 3 ? 0 : 3;
    copies.begin(rows, all_rows, lists.size(), process != 2);
    products.begin(rows, &copies);
    for (std::size_t partition = 0; partition < 2; ++partition) {
      RowRange const own = partition == 0 ? RowRange{0, std::min<std::size_t>(rows, 1)} : RowRange{1, rows};
      std::size_t const count = rows == 0 ? 0 : own.end - own.begin;
      auto const x = test::numbers<double>(count * m, 3 + process * 7 + partition);
      auto const dy = test::numbers<double>(count * n, 5 + process * 7 + partition);
      add(x, dy, expected);
      GradientSink<double>* const sink = count == 0 ? nullptr : products.sink(partition, own, arena.data());
      BOOST_TEST((sink != nullptr) == (process < 2));
      if (process == 2) add(x, dy, stored);
      if (!sink) continue;
      BOOST_TEST(!sink->defers(m, n, 2 * count));  // more than one use of the weights for each sample
      BOOST_TEST(sink->defers(m, n, count));
      kept.push_back(x), kept.push_back(dy);
      sink->defer({m, n, count, kept[kept.size() - 2].data(), kept.back().data(), arena.data() + offset});
      BOOST_TEST(!sink->defers(m, n, count));  // there is room for one
    }
    read_products(room.products, memory[process].data(), operands[process].data(), stored.data(),
                  std::span(lists).subspan(process * 2, 2));
  }
  kept.clear();  // nothing is read but the copies
  products.join(lists);
  std::vector<double> taken(elements);
  std::vector<int> times(elements, 0);
  auto const take = [&](ThreadContext const&, std::size_t begin, std::size_t end, double const* values) {
    for (std::size_t i = begin; i < end; ++i) taken.at(i) = values[i - begin], ++times[i];
  };
  auto const other = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) ++times.at(i);
  };
  for (RowRange const own : {RowRange{0, 5}, RowRange{5, offset + 7 * n + 11}, RowRange{offset + 7 * n + 11, elements}})
    for (std::size_t thread = 0; thread < 3; ++thread) {
      products.compute(ThreadContext(), thread, 3, own, nullptr, UpdateRange<double>(take));
      products.for_each_other(thread, 3, own, other);
    }
  BOOST_TEST(std::all_of(times.begin(), times.end(), [](int n_times) { return n_times == 1; }));
  double largest = 0;
  for (std::size_t i = 0; i < elements; ++i) largest = std::max(largest, std::abs(taken[i] - expected[i]));
  BOOST_TEST(largest <= 1e-14);
}

BOOST_AUTO_TEST_CASE(a_step_that_defers_nothing_leaves_all_elements) {
  DeferredProducts<float> products(2, 2);
  products.begin(0);
  BOOST_TEST(products.sink(0, {0, 5}, nullptr) == nullptr);
  std::vector<std::size_t> bounds;
  for (std::size_t thread = 0; thread < 2; ++thread)
    products.for_each_other(thread, 2, {0, 100},
                            [&](std::size_t b, std::size_t e) { bounds.insert(bounds.end(), {b, e}); });
  std::vector<std::size_t> const expected{0, 48, 48, 100};
  BOOST_TEST(bounds == expected, per_element());
}

BOOST_AUTO_TEST_CASE(deep_models_train_as_under_the_plan_by_products) {
  SGD const sgd{.learning_rate = 0.05, .momentum = 0.9};
  for (std::size_t batch : {1u, 2u, 7u, 30u})
    for (bool shuffled : {false, true})
      with_trained<double>(
          OneDeviceStrategy<>(), Parallelism::intra_op, sgd, batch, shuffled,
          [&](auto const& expected, History const& losses) {
            auto const check = [&](auto const& model, History const& history) {
              test::check_same_weights(model, expected);
              test::check_same_history(history, losses, test::tolerance<double>);
            };
            BOOST_TEST_CONTEXT("batches of " << batch << (shuffled ? ", shuffled" : "")) {
              with_trained<double>(OneDeviceStrategy<>(), Parallelism::samples, sgd, batch, shuffled, check);
              for (std::size_t replicas : {2u, 5u})  // more partitions than threads
                with_trained<double>(MirroredStrategy<>(replicas), Parallelism::samples, sgd, batch, shuffled, check);
            }
          });
}

BOOST_AUTO_TEST_CASE(layers_may_share_unless_their_inputs_are_kept_in_another_type) {
  train_one_that_asks<float>();
  BOOST_TEST(Asks::asked.load() > 0);
  BOOST_TEST(Asks::shared.load() == Asks::asked.load());
  train_one_that_asks<Mixed<BFloat16>>();
  BOOST_TEST(Asks::asked.load() > 0);
  BOOST_TEST(Asks::shared.load() == 0);
}

BOOST_AUTO_TEST_CASE(sums_that_are_stored_first_have_the_same_bits) {
  for (std::size_t batch : {1u, 7u, 30u})
    with_trained<float>(Accumulate<OneDeviceStrategy<>, 1>(), Parallelism::samples, Adam{}, batch, false,
                        [&](auto const& reference, History const& expected) {
                          with_trained<float>(OneDeviceStrategy<>(), Parallelism::samples, Adam{}, batch, false,
                                              [&](auto const& model, History const& history) {
                                                test::check_same_bits(model, history, reference, expected);
                                              });
                        });
}

BOOST_AUTO_TEST_CASE(a_steady_step_allocates_nothing) {
  auto const samples = test::cnn_samples<float>(61), others = test::cnn_samples<float>(27, 2);
  auto const train = samples.data().batch(GlobalBatch{7}), tests = others.data().batch(GlobalBatch{4});
  test::check_steady(OneDeviceStrategy<>(), test::law::deep(), Adam{}, train, tests);
  test::check_steady(MirroredStrategy<>(4), test::law::deep(), Adam{}, train, tests);
}
