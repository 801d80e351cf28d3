// ranks: 1 2 3 4   labels: law
// Law 1 for models of several inputs and outputs, with layers that branches share and losses that leave positions out.
#define BOOST_TEST_MODULE several_outputs
#include "support/kokkos_fixture.hpp"
#include "support/tuple_models.hpp"

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <vector>

#include "trireme/data/from_local_slices.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using namespace trireme::test::tuples;

namespace {

using Scalars = std::tuple<float, double>;

template <class T, class Architecture>
void check_law(Architecture const& architecture, double factor) {
  auto const& world = test::environment().world();
  for (std::size_t batch : {7u, 2u})
    trained<T>(OneDeviceStrategy<>(), architecture, Parallelism::intra_op, batch,
               [&](auto const& reference, auto const& expected, auto const& predicted, auto const& evaluated) {
                 for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                   trained<T>(MultiWorkerMirroredStrategy<>(world, {}, 256), architecture, plan, batch,
                              [&](auto const& model, History const& history, auto const& prediction, auto const& logs) {
                                BOOST_TEST_CONTEXT("batches of " << batch) {
                                  double const limit = factor * test::tolerance<T>;
                                  test::check_same_weights(model, reference, limit);
                                  test::check_same_history(history, expected, limit);
                                  test::check_same_logs(logs, evaluated, limit);
                                  BOOST_TEST(test::distance(prediction[0], predicted[0]) <= limit);
                                  BOOST_TEST(test::distance(prediction[1], predicted[1]) <= limit);
                                  test::check_equal_on_all(world, model);
                                }
                              });
               });
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(shared_towers_train_on_ranks_as_on_one_device, T, Scalars) { check_law<T>(towers(), 3); }

BOOST_AUTO_TEST_CASE_TEMPLATE(shared_statistics_of_the_global_batch_do_not_depend_on_the_ranks, T, Scalars) {
  check_law<T>(normalized_towers(), 30);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_decoder_trains_on_ranks_as_on_one_device, T, Scalars) { check_law<T>(decoder(), 30); }

BOOST_AUTO_TEST_CASE(ranks_may_own_their_tuples) {
  auto const& world = test::environment().world();
  std::size_t const rank = world.rank(), ranks = world.size();
  Samples<double> const all(11, 1);
  // Rank r has the samples r, r + ranks, ...; with 4 ranks the last one gets none.
  std::vector<double> first, second, number;
  std::vector<std::int32_t> kinds;
  std::size_t count = 0;
  for (std::size_t i = rank; i < 11 && !(ranks == 4 && rank == 3); i += ranks, ++count) {
    first.insert(first.end(), all.first.x.data() + i * 12, all.first.x.data() + (i + 1) * 12);
    second.insert(second.end(), all.second.x.data() + i * 8, all.second.x.data() + (i + 1) * 8);
    number.push_back(all.number.data()[i]);
    for (std::size_t t = 0; t < steps; ++t) kinds.push_back(all.kinds[i * steps + t]);
  }
  MultiWorkerMirroredStrategy<> const strategy(world);
  auto const tensor = [&](auto const& values, std::vector<std::size_t> extents) {
    using V = typename std::decay_t<decltype(values)>::value_type;
    extents.insert(extents.begin(), count);
    return HostTensor<V>{nullptr, values.data(), extents, {}};
  };
  auto const own = data::from_local_slices(strategy, std::tuple{tensor(first, {steps, 4}), tensor(second, {2, 4})},
                                           std::tuple{tensor(number, {1}), tensor(kinds, {steps})});
  auto model = compile<double>(strategy, towers(), SGD{}, losses());
  auto const logs = evaluate(strategy, model, own.batch(GlobalBatch{5}));
  // The same samples, on one device.
  std::vector<std::size_t> const counts = world.allgather(count);
  std::size_t total = 0;
  for (std::size_t c : counts) total += c;
  BOOST_TEST(own.size().value() == total);
  if (total != 11) return;
  OneDeviceStrategy<> const one;
  auto reference = compile<double>(one, towers(), SGD{}, losses());
  test::check_same_logs(logs,
                        evaluate(one, reference, data::from_tensor_slices(all.x(), all.y()).batch(GlobalBatch{11})),
                        test::tolerance<double>);
}
