// Gradients of weights that a sink takes block by block are those that would have been written.
#define BOOST_TEST_MODULE layers_gradient
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <vector>

#include "gradient_check.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/layers/conv2d.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/gradient.hpp"
#include "trireme/layers/gru.hpp"
#include "trireme/layers/lstm.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/tuples.hpp"

using namespace trireme;
using test::numbers;
using HostContext = SpaceContext<Kokkos::DefaultHostExecutionSpace>;

namespace {

/// Writes what it takes to where it would have been, and counts how often. Threads take different elements.
template <class T>
struct Collector final : GradientSink<T> {
  Collector(T const* at, std::size_t n, bool taking) : arena(at), accepts(taking), values(n), times(n) {}
  void ready(T const*) override {}
  bool takes(T const* gradients, std::size_t count) override {
    asked = true;
    BOOST_TEST(gradients == arena);
    BOOST_TEST(count == values.size());
    return accepts;
  }
  void take(T const* gradients, T const* from, std::size_t count) override {
    auto const begin = static_cast<std::size_t>(gradients - arena);
    for (std::size_t i = 0; i < count; ++i) {
      values[begin + i] = from[i];
      ++times[begin + i];
    }
  }

  T const* arena;
  bool accepts, asked = false;
  std::vector<T> values;
  std::vector<int> times;
};

/// Takes all gradients that it is offered, and counts them.
struct Taker final : GradientSink<double> {
  void ready(double const*) override {}
  bool takes(double const*, std::size_t count) override {
    offered += count;
    return true;
  }
  void take(double const* gradients, double const* values, std::size_t count) override {
    std::copy_n(values, count, const_cast<double*>(gradients));
    taken += count;
  }
  std::size_t offered = 0;
  std::atomic<std::size_t> taken = 0;
};

/// True if x^T dy of such matrices is a gradient.
template <class X, class Dy>
concept StatesProduct = requires(Gradient<float> const& gradient, HostContext& context, X const& x, Dy const& dy) {
  gradient.product(context, 1, {x, 2}, {dy, 3});
};
static_assert(StatesProduct<float const*, float*> && StatesProduct<RowsView<float>, float const*>);
static_assert(!StatesProduct<RowsView<float>, RowsView<float>>, "scattered rows of dy would be lost unseen");

/// Backward of a layer in double: its gradients, with a sink or stored.
template <class Context, class L, class In>
std::vector<double> gradients_of(L const& layer, In const& in, std::size_t rows, GradientSink<double>* sink) {
  test::LayerHarness<Context, L, In> harness(layer, in, rows, 5);
  return harness.backward(sink).second;
}

/// A sink changes when gradients are computed, and no bit of them. `deferred`: products that may wait until the step
/// ends; `taken`: parameters that blocks may update.
template <class L, class In>
void check_sinks(L const& layer, In const& in, std::size_t deferred, std::size_t taken) {
  for (std::size_t rows : {1u, 4u}) {
    BOOST_TEST_CONTEXT(L::class_name << " over " << rows << " rows") {
      test::LayerHarness<ThreadContext, L, In> harness(layer, in, rows, 5);
      test::DeferAll later(rows);
      BOOST_TEST((harness.deferred_gradients(later) == gradients_of<ThreadContext>(layer, in, rows, nullptr)));
      BOOST_TEST(later.products.size() == deferred);
      Taker taker;
      BOOST_TEST(
          (gradients_of<HostContext>(layer, in, rows, &taker) == gradients_of<HostContext>(layer, in, rows, nullptr)));
      if (detail::has_simd) BOOST_TEST(taker.offered == taken);
      BOOST_TEST(taker.taken == taker.offered);
    }
  }
}

template <class T>
void check(std::size_t inputs, std::size_t units, std::size_t rows, bool accepts = true) {
  HostContext context;
  T const untouched = 5;
  auto const x = numbers<T>(rows * inputs, 1), dy = numbers<T>(rows * units, 2);
  std::vector<T> whole(inputs * units), arena(inputs * units, untouched);
  auto const product = [&](std::vector<T>& gradients, GradientSink<T>* sink) {
    Gradient<T>(gradients.data(), gradients.size(), sink)
        .product(context, rows, {x.data(), inputs}, {dy.data(), units});
  };
  product(whole, nullptr);
  Collector<T> taken(arena.data(), arena.size(), accepts);
  product(arena, &taken);
  BOOST_TEST_CONTEXT(inputs << " inputs, " << units << " units, " << rows << " rows") {
    if (taken.asked && accepts) {
      BOOST_TEST((taken.values == whole));
      BOOST_TEST(std::ranges::count(taken.times, 1) == static_cast<std::ptrdiff_t>(whole.size()));
      BOOST_TEST(std::ranges::count(arena, untouched) == static_cast<std::ptrdiff_t>(whole.size()));
    } else {
      BOOST_TEST((arena == whole));
      BOOST_TEST(std::ranges::count(taken.times, 0) == static_cast<std::ptrdiff_t>(whole.size()));
    }
    if (detail::has_simd) BOOST_TEST(taken.asked == (rows > 0 && rows <= gradient_block_rows<T>));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(recurrent_layers_attention_and_small_convolutions_have_deferred_and_fused_gradients) {
  constexpr std::size_t lstm = 40 * 128 + 32 * 128, gru = 40 * 120;
  check_sinks(LSTM<32>{}, Extents<3, 40>{}, 2, lstm);
  check_sinks(LSTM<32, ReturnSequences, NoBias>{}, Extents<3, 40>{}, 2, lstm);
  check_sinks(GRU<40>{}, Extents<3, 40>{}, 2, 2 * gru);
  check_sinks(GRU<40, ResetBefore>{}, Extents<3, 40>{}, 1, gru);
  check_sinks(MultiHeadAttention<2, 24>{}, Extents<4, 90>{}, 3, 4 * 90 * 48);
  check_sinks(Conv2D<4, 3, 3>{}, Extents<4, 5, 2>{}, 0, 0);  // summed over blocks of patches
  check_sinks(Conv2D<4, 1, 1, Tanh>{}, Extents<3, 3, 20>{}, 0, 20 * 4);
  check_sinks(Dense<8, Tanh>{}, Extents<600>{}, 1, 600 * 8);
  check_sinks(Dense<8>{}, Extents<600>{}, 1, 600 * 8);
}

/// Products that composites' layers leave to the end of a step have their operands then, and are the stored gradients.
template <class L, class In>
void check_deferred(L const& layer, In const& in, std::size_t deferred) {
  for (std::size_t rows : {1u, 3u}) {
    test::LayerHarness<ThreadContext, L, In> harness(layer, in, rows, 5);
    test::DeferAll later(rows);
    BOOST_TEST((harness.deferred_gradients(later) == harness.backward().second));
    BOOST_TEST(later.products.size() == deferred);
  }
}

BOOST_AUTO_TEST_CASE(operands_within_composites_stay_until_the_step_ends) {
  check_deferred(Residual{Dense<64, Tanh>{}, Dense<64>{}}, Extents<64>{}, 2);
  check_deferred(Sequential{LSTM<32, ReturnSequences>{}, GRU<40, ReturnSequences>{}, MultiHeadAttention<2, 60>{},
                            LSTM<64>{}, Dense<64>{}},
                 Extents<3, 40>{}, 9);
  check_deferred(Each{Dense<64>{}}, Parts<Extents<64>, Extents<64>>{}, 0);  // parts add their gradients up
  check_deferred(Fork{Dense<64>{}, Dense<65, Tanh>{}}, Extents<64>{}, 2);
  check_deferred(Sequential{Frozen{Dense<64>{}}, Dense<64>{}}, Extents<64>{}, 1);
  auto const graph = Graph{Input<4, 80>{},
                           node<"queries">(Dense<90>{}),
                           node<"values", "input">(Dense<90>{}),
                           node<"attention", "queries", "values">(MultiHeadAttention<2, 24>{}),
                           node<"flat", "attention">(Flatten{}),
                           node<"a", "flat">(Dense<64, Tanh>{}),
                           node<"b", "flat">(Dense<64>{}),
                           node<"sum", "a", "b">(Add{}),
                           node<"c", "sum">(Dense<64>{}),
                           node<"all", "c", "a">(Concatenate{})};
  check_deferred(graph, graph.input(), 8);
}

BOOST_AUTO_TEST_CASE(blocks_are_the_gradient_to_the_bit_and_each_element_is_taken_once) {
  for (std::size_t inputs : {1u, 5u, 13u, 100u, 257u})
    for (std::size_t units : {1u, 7u, 10u, 64u, 1023u, 1024u, 1025u, 2500u})
      for (std::size_t rows : {1u, 2u, 8u, 9u, 33u}) {
        check<float>(inputs, units, rows);
        check<double>(inputs, units, rows);
      }
  for (std::size_t inputs : {48u, 257u})
    for (std::size_t units : {7u, 511u, 1100u}) {
      check<float>(inputs, units, gradient_block_rows<float>);
      check<double>(inputs, units, 65);
    }
}

BOOST_AUTO_TEST_CASE(a_sink_that_takes_none_finds_the_gradient_in_the_arena) {
  check<float>(100, 64, 3, false);
  check<double>(100, 64, 3, false);
}

BOOST_AUTO_TEST_CASE(the_gradient_of_many_rows_or_of_none_is_written) {
  check<float>(20, 30, gradient_block_rows<float> + 1);
  check<float>(20, 30, 0);
}
