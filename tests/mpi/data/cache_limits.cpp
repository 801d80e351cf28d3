// ranks: 1 2 3
// Training on the first batches of a generator without end, which are cached.
#define BOOST_TEST_MODULE cache_limits
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }

/// Row i % 12 of 12 samples, of which more than 1000 are an error instead of a full memory.
auto endless(test::Samples<float> const& samples, std::shared_ptr<std::size_t> const& produced) {
  return data::from_generator({test::mlp_inputs}, {}, [&samples, produced] {
    return [&samples, produced, i = std::size_t{0}](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == 1000) throw std::runtime_error("read on");
      std::size_t const row = i++ % samples.size();
      std::copy_n(samples.x.data() + row * test::mlp_inputs, test::mlp_inputs, x.data());
      y[0] = samples.y[row];
      ++*produced;
      return true;
    };
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_epoch_trains_on_the_batches_that_the_generator_gave_once) {
  MultiWorkerMirroredStrategy<> const strategy{world()};
  auto const samples = test::mlp_samples<float>(12);
  auto const trained = [&](auto const& data) {
    auto model = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
    fit(strategy, model, data, validation(data), {.epochs = 3, .verbose = false});
    return model;
  };
  auto const check = [&](auto const& data, auto const& reference, std::size_t expected,
                         std::shared_ptr<std::size_t> const& produced) {
    test::check_same_weights(trained(data), trained(reference), 0);
    BOOST_TEST(*produced == expected);
  };
  std::size_t const ranks = world().size();
  auto const all = samples.data();
  {
    auto const produced = std::make_shared<std::size_t>(0);
    check(endless(samples, produced).batch(GlobalBatch{5}).take(2).cache(), all.take(10).batch(GlobalBatch{5}), 10,
          produced);
  }
  {
    auto const produced = std::make_shared<std::size_t>(0);
    check(endless(samples, produced).batch(GlobalBatch{4}).skip(1).take(2).cache().prefetch(1),
          all.skip(4).batch(GlobalBatch{4}), 12, produced);
  }
  {
    auto const produced = std::make_shared<std::size_t>(0);
    check(endless(samples, produced).repeat().batch(PerReplicaBatch{2}).take(2).cache(),
          all.take(4 * ranks).batch(PerReplicaBatch{2}), 2 * ranks + 2 * (world().rank() + 1),  // its last row
          produced);
  }
  {
    auto const produced = std::make_shared<std::size_t>(0);
    check(endless(samples, produced).take(7).cache().batch(GlobalBatch{4}), all.take(7).batch(GlobalBatch{4}), 7,
          produced);
  }
}
