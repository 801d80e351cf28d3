// ranks: 2 3
// Data of another kind on one rank: one sentence on all ranks, before training.
#define BOOST_TEST_MODULE differing_data
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Dataset = data::Dataset<float, std::int32_t>;
using Strategies = std::tuple<MultiWorkerMirroredStrategy<Space>, ShardedStrategy<Space, 3>>;

Communicator const& world() { return test::environment().world(); }
bool on_last_rank() { return world().size() > 1 && world().rank() == world().size() - 1; }

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(data_of_another_kind_on_one_rank_are_an_error_of_all_before_training, Strategy,
                              Strategies) {
  auto const samples = test::mlp_samples<float>(12);
  auto const generated = [&](std::size_t size) {
    return data::from_generator({test::mlp_inputs}, {}, [&samples, size] {
      return [&samples, size, i = std::size_t{0}](std::span<float> x, std::span<std::int32_t> y) mutable {
        if (i == size) return false;
        std::copy_n(samples.x.data() + i * test::mlp_inputs, test::mlp_inputs, x.data());
        y[0] = samples.y[i++];
        return true;
      };
    });
  };
  // What from_local_slices of all ranks would make, without its collective call.
  auto const local = [&] {
    std::vector<std::size_t> const sizes(world().size(), samples.size());
    return data::from_local_slices(data::LocalSizes{sizes, world().rank()}, samples.x, samples.y);
  };
  std::vector<std::function<Dataset()>> const kinds{
      [&] { return samples.data(); },         local,
      [&] { return generated(12); },          [&] { return generated(12).cache(); },
      [&] { return samples.data().cache(); }, [&] { return samples.data().repeat(); },
      [&] { return generated(12).repeat(); }, [&] { return local().repeat(); }};
  if (world().size() == 1) return;
  Strategy const strategy(world());
  auto model = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const good = samples.data().batch(GlobalBatch{4});
  for (std::size_t most = 0; most < kinds.size(); ++most)
    for (std::size_t last = 0; last < kinds.size(); ++last) {
      if (most == last) continue;
      auto const differing = kinds[on_last_rank() ? last : most]().batch(GlobalBatch{4});
      auto const sentence = [&](char const* which) {
        return fmt::format("on rank {}: the transformations of the {} data differ: ", world().size() - 1, which);
      };
      auto const training = test::uniform_message_of<ValueError>(
          world(), [&] { fit(strategy, model, differing, {.steps_per_epoch = 3, .verbose = false}); });
      auto const test = test::uniform_message_of<ValueError>(
          world(), [&] { fit(strategy, model, good, validation(differing.take(3)), {.verbose = false}); });
      BOOST_TEST(training.starts_with(sentence("training")), most << ' ' << last << ' ' << training);
      BOOST_TEST(test.starts_with(sentence("validation")), most << ' ' << last << ' ' << test);
    }
  BOOST_TEST(model.engine().iteration() == 0u);
}
