// The pass through a flattened graph: its nodes, its memory, and gradients of values in unusual places.
#define BOOST_TEST_MODULE models_graph_pass
#include <boost/test/unit_test.hpp>

#include <cstddef>

#include "support/kokkos_fixture.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/layers/multi_head_attention.hpp"
#include "trireme/layers/select.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph_pass.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/tuples.hpp"
#include "unit/layers/gradient_check.hpp"

using namespace trireme;
using test::check_gradients;

namespace {

using Four = Extents<4>;
using Space = SpaceContext<Kokkos::DefaultHostExecutionSpace>;

template <class L, class In>
constexpr std::size_t nodes(L const&, In const&) {
  return std::remove_cvref_t<decltype(detail::wiring_of<Space, L, In>)>::node_count;
}

/// Bytes of a pass over 16 rows of layers that keep nothing of their own, in buffers of 16 numbers a row.
template <class L>
std::size_t buffers(L const& layer) {
  return detail::pass_workspace<float, Space>(layer, Extents<16>{}, 16) / (16 * 16 * sizeof(float));
}

}  // namespace

BOOST_AUTO_TEST_CASE(only_layers_that_compute_are_nodes) {
  static_assert(nodes(Sequential{Flatten{}}, Extents<2, 2>{}) == 0);
  static_assert(nodes(Sequential{Flatten{}, Dense<3>{}, Sequential{Dense<2>{}, Reshape<2>{}}}, Extents<2, 2>{}) == 2);
  static_assert(nodes(Residual{Dense<4>{}, Residual{Dense<4>{}}}, Four{}) == 4);
  static_assert(nodes(Sequential{Fork{Dense<4>{}, Skip{}}, Select<1, 0>{}, Concatenate{}}, Four{}) == 2);
  static_assert(nodes(Add{Dense<4>{}}, Four{}) == 1);
  static_assert(nodes(Sequential{Frozen{Sequential{Dense<4>{}, Dense<4>{}}}, Dense<4>{}}, Four{}) == 2);
}

BOOST_AUTO_TEST_CASE(gradients_share_memory_and_values_stay) {
  // Two values between three layers, and their gradients.
  BOOST_TEST(buffers(Sequential{Dense<16>{}, Dense<16>{}, Dense<16>{}}) == 4u);
  // However deep: eight values and two buffers of gradients.
  BOOST_TEST(buffers(Sequential{Dense<16>{}, Dense<16>{}, Dense<16>{}, Dense<16>{}, Dense<16>{}, Dense<16>{},
                                Dense<16>{}, Dense<16>{}, Dense<16>{}}) == 10u);
  // The branch's output has a buffer; its gradient is that of the sum, and dx is added from one of its own.
  BOOST_TEST(buffers(Residual{Dense<16>{}}) == 2u);
  // Nested models take no more than the same layers in one.
  BOOST_TEST(buffers(Sequential{Sequential{Dense<16>{}, Dense<16>{}}, Sequential{Dense<16>{}}}) == 4u);
  // Branches write where the tuple lies.
  BOOST_TEST(buffers(Fork{Dense<16>{}, Dense<16>{}}) == 1u);
}

BOOST_AUTO_TEST_CASE(outputs_may_be_inputs_or_occur_several_times) {
  check_gradients(Sequential{Fork{Skip{}, Skip{}}}, Four{});
  check_gradients(Sequential{Dense<3, Tanh>{}, Fork{Skip{}, Skip{}, Dense<2>{}}}, Four{});
  check_gradients(Sequential{Dense<3, Tanh>{}, Fork{Skip{}, Dense<2>{}}}, Four{});
  check_gradients(Sequential{Each{Dense<3, Tanh>{}}, Select<1, 0>{}}, Parts<Four, Four>{});
  check_gradients(Sequential{Each{Dense<3, Tanh>{}}, Select<1>{}}, Parts<Four, Four>{});
  check_gradients(Parallel{Skip{}, Dense<3>{}}, Parts<Four, Extents<2>>{});
}

BOOST_AUTO_TEST_CASE(values_that_no_layer_takes_have_no_gradient) {
  check_gradients(Sequential{Fork{Dense<4, Tanh>{}, Dense<2>{}}, Select<1>{}}, Four{});
  check_gradients(Sequential{Select<1>{}, Dense<3>{}}, Parts<Four, Extents<2>>{});
}

BOOST_AUTO_TEST_CASE(values_taken_several_times_get_all_gradients) {
  check_gradients(Add{Skip{}, Skip{}}, Four{});
  check_gradients(Sequential{Dense<4, Tanh>{}, Add{Skip{}, Skip{}, Dense<4, Tanh>{}}}, Four{});
  check_gradients(Sequential{Dense<4, Tanh>{}, Concatenate{Skip{}, Dense<3, Tanh>{}, Skip{}}, Dense<2>{}}, Four{});
  check_gradients(Residual{Dense<4, Tanh>{}, Residual{Dense<4, Tanh>{}, Residual{Dense<4>{}}}}, Four{});
  check_gradients(Add{Residual{Dense<4, Tanh>{}}, Sequential{Dense<4, Tanh>{}, Residual{Dense<4, Tanh>{}}}}, Four{});
}

BOOST_AUTO_TEST_CASE(tuples_go_through_layers_that_take_them_whole) {
  using Steps = Extents<3, 4>;
  check_gradients(Sequential{Fork{Dense<4, Tanh>{}, Dense<4>{}}, MultiHeadAttention<2, 3>{}}, Steps{});
  check_gradients(Sequential{Fork{Skip{}, Dense<4>{}}, MultiHeadAttention<2, 3>{}}, Steps{});
  check_gradients(Sequential{Fork{Dense<4, Tanh>{}, Dense<4>{}}, Each{Dense<3, Tanh>{}}, Add{}}, Steps{});
  check_gradients(Sequential{Each{Dense<3, Tanh>{}}, Each{Dense<2>{}}, Concatenate{}}, Parts<Steps, Steps>{});
  check_gradients(Sequential{Each{Dense<3, Tanh>{}}, Parallel{Dense<2, Tanh>{}, Skip{}}, Concatenate{}},
                  Parts<Steps, Steps>{});
  check_gradients(
      Sequential{Fork{Dense<4, Tanh>{}, Dense<4>{}}, Fork{Select<0>{}, Select<1>{}, Add{}}, Each{Dense<3>{}}}, Steps{});
}

BOOST_AUTO_TEST_CASE(extents_known_at_run_time_are_planned_then) {
  Extents<dynamic> const four{{4}};
  check_gradients(Residual{Dense<dynamic, Tanh>{.units = 4}, Residual{Dense<dynamic>{.units = 4}}}, four);
  check_gradients(Sequential{Fork{Dense<dynamic, Tanh>{.units = 3}, Dense<2>{}}, Concatenate{}, Dense<2>{}}, four);
}

BOOST_AUTO_TEST_CASE(frozen_layers_within_branches_pass_gradients_on) {
  check_gradients(Sequential{Dense<4, Tanh>{}, Add{Frozen{Dense<4, Tanh>{}}, Frozen{Residual{Dense<4, Tanh>{}}}}},
                  Four{});
  check_gradients(Frozen{Fork{Skip{}, Flatten{}}}, Extents<2, 2>{});
  check_gradients(Each{Frozen{Sequential{Flatten{}, Dense<3, Tanh>{}}}}, Parts<Extents<2, 2>, Extents<2, 2>>{});
}
