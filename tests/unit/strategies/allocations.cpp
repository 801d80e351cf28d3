// A steady step of one process allocates nothing: not the model's mathematics, not the optimizer, not the data.
#define BOOST_TEST_MODULE allocations
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/steady_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "trireme/data/from_generator.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(what_is_allocated_is_counted) {
  auto const before = test::allocations();
  std::vector<int> const some(100);
  auto const after_new = test::allocations();
  BOOST_TEST((after_new - before).news == 1u);
  void* volatile const p = std::malloc(100);
  std::free(p);
  auto const after_malloc = test::allocations();
#ifdef TRIREME_TEST_COUNTS_MALLOC
  BOOST_TEST((after_malloc - after_new).mallocs == 1u);
#endif
  BOOST_TEST((after_malloc - after_new).news == 0u);
  test::ViewHooks const hooks;
  Kokkos::View<double*, Kokkos::HostSpace> const view("view", 100);
  BOOST_TEST((test::allocations() - after_malloc).views == 1u);
}

BOOST_AUTO_TEST_CASE(a_dense_step_with_dropout_and_penalties_allocates_nothing) {
  auto const samples = test::mlp_samples<float>(61), others = test::mlp_samples<float>(27, 2);
  auto const train = samples.data().batch(GlobalBatch{5}), tests = others.data().batch(GlobalBatch{4});
  test::check_steady(OneDeviceStrategy<>(), test::mlp(), Adam{}, train, tests);
  test::check_steady(MirroredStrategy<>(3), test::mlp(), Adam{}, train, tests);
}

BOOST_AUTO_TEST_CASE(a_convolutional_step_allocates_nothing) {
  auto const samples = test::cnn_samples<float>(61), others = test::cnn_samples<float>(27, 2);
  auto const train = samples.data().batch(GlobalBatch{5}), tests = others.data().batch(GlobalBatch{4});
  test::check_steady(OneDeviceStrategy<>(), test::cnn(), Adam{}, train, tests);
  test::check_steady(MirroredStrategy<>(3), test::cnn(), Adam{}, train, tests);
}

BOOST_AUTO_TEST_CASE(clipping_allocates_nothing) {
  auto const samples = test::mlp_samples<float>(61);
  auto const train = samples.weighted_data().batch(GlobalBatch{5});
  for (SGD const& optimizer :
       {SGD{.learning_rate = 0.1, .clipnorm = 0.1}, SGD{.learning_rate = 0.1, .global_clipnorm = 0.1},
        SGD{.learning_rate = 0.1, .clipvalue = 0.1}})
    test::check_steady(OneDeviceStrategy<>(), test::mlp(), optimizer, train, train);
}

BOOST_AUTO_TEST_CASE(shuffled_prefetched_mapped_cached_and_repeated_data_allocate_nothing) {
  auto const samples = test::mlp_samples<float>(61);
  auto const data = samples.data();
  auto const twice = [](std::span<float const> x, std::span<float> y) {
    std::transform(x.begin(), x.end(), y.begin(), [](float value) { return 2 * value; });
  };
  std::size_t const size = test::mlp_inputs;
  auto const check = [&](auto const& train, std::optional<std::size_t> steps = 12) {
    test::check_steady(OneDeviceStrategy<>(), test::mlp(), Adam{}, train, train, true,
                       {.epochs = 3, .steps_per_epoch = steps, .verbose = false});
  };
  check(data.shuffle(61, 7).batch(GlobalBatch{5}));
  check(data.shuffle(61, 7).batch(GlobalBatch{5}).prefetch(2));
  check(data.map({size}, twice).cache().shuffle(61, 7).batch(GlobalBatch{5}).prefetch(3));
  check(data.map({size}, twice).batch(GlobalBatch{5}).repeat(2));
  check(data.shuffle(61, 7).repeat(3).batch(GlobalBatch{5}).prefetch(2));
  auto const generated = data::from_generator({size}, {}, [&samples] {
    return [&samples, next = std::size_t{0}](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (next == samples.size()) return false;
      std::copy_n(samples.x.data() + next * x.size(), x.size(), x.data());
      y[0] = samples.y[next++];
      return true;
    };
  });
  check(generated.shuffle(10, 7).batch(GlobalBatch{5}).prefetch(2), std::nullopt);
}

BOOST_AUTO_TEST_CASE(a_predictor_that_was_called_before_allocates_nothing) {
  auto const model = compile(OneDeviceStrategy<>(), test::cnn());
  auto const predictor = model.predictor();
  auto const samples = test::cnn_samples<float>(300);
  std::vector<float> y(300 * test::classes);
  std::size_t const row = samples.x.size() / 300;
  auto const infer = [&](std::size_t rows) {
    predictor.infer(std::span(samples.x.data(), rows * row), std::span(y.data(), rows * test::classes));
  };
  auto const check = [&] {
    for (std::size_t const rows : {300u, 1u, 7u}) infer(rows);
    auto const before = test::allocations();
    for (std::size_t const rows : {1u, 300u, 64u, 1u}) infer(rows);
    auto const made = test::allocations() - before;
    BOOST_TEST(made.news + made.views + made.mallocs == 0u);
  };
  check();
  test::ViewHooks const hooks;
  auto const before = test::allocations().views;
  infer(300);
  BOOST_TEST(test::allocations().views == before);
}
