// ranks: 1 2 3 4
// What happens to the weights of stages besides training: files, snapshots, single tensors; and what a stage takes.
#define BOOST_TEST_MODULE pipeline_state
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/steady_steps.hpp"

#include <cstddef>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }
using Strategy = PipelineStrategy<Kokkos::DefaultExecutionSpace>;

auto architecture() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{},           Frozen{Dense<8, Tanh>{}},
                    Dense<7, Tanh>{},          SyncBatchNormalization<>{}, Dense<test::classes>{}};
}

template <class S>
auto compiled(S const& strategy, std::uint64_t seed = 11) {
  return compile<double>(strategy, architecture(), Adam{.learning_rate = 1e-2},
                         SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = seed});
}

auto batches() {
  static auto const samples = test::mlp_samples<double>(41);
  return samples.data().batch(GlobalBatch{5});
}

FitOptions quiet(std::size_t epochs) { return {.epochs = epochs, .verbose = false}; }

/// A file that all ranks name alike, gone at the end.
struct SharedFile {
  std::string path =
      (std::filesystem::temp_directory_path() / ("trireme_pipeline_" + std::to_string(::getpid()) + ".npz")).string();
  SharedFile() { world().broadcast(path); }
  ~SharedFile() {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove(path);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_file_of_stages_is_read_by_one_device_and_by_other_stages) {
  OneDeviceStrategy<> const one;
  Strategy const strategy(world()), single(world(), {.stages = 1});
  auto model = compiled(strategy);
  fit(strategy, model, batches(), quiet(1));
  SharedFile const file;
  model.save_weights(file.path);
  auto whole = compiled(one, 12);
  auto again = compiled(strategy, 12), other = compiled(single, 12);
  whole.load_weights(file.path);
  again.load_weights(file.path);
  other.load_weights(file.path);
  test::check_same_weights(model, whole, 0);
  test::check_same_weights(again, whole, 0);
  test::check_same_weights(other, whole, 0);
  detail::HostState<double> state, expected;
  again.engine().gather_state(state);
  whole.engine().gather_state(expected);
  if (world().is_chief()) {
    BOOST_TEST(state.slots.size() == 2u);
    for (std::size_t slot = 0; slot < 2; ++slot)
      BOOST_TEST(state.slots[slot] == expected.slots[slot], boost::test_tools::per_element());
  } else {
    BOOST_TEST(state.parameters.empty());
  }
  fit(strategy, model, batches(), quiet(1));
  fit(strategy, again, batches(), quiet(1));
  test::check_same_weights(again, model, 0);
}

BOOST_AUTO_TEST_CASE(the_best_weights_come_back_and_tensors_can_be_set) {
  Strategy const strategy(world());
  auto model = compiled(strategy);
  xt::xarray<double> values = model.weights("dense_3/kernel");
  values += 0.5 + static_cast<double>(world().rank());
  model.set_weights("dense_3/kernel", values);
  auto const set = model.weights("dense_3/kernel");
  values -= static_cast<double>(world().rank());
  BOOST_TEST(test::distance(set, values) <= 1e-15);
  EarlyStopping<"loss"> stopping{.min_delta = 10, .patience = 2, .restore_best_weights = true};
  auto const history = fit(strategy, model, batches(), quiet(6), stopping);
  BOOST_TEST(history.epochs.size() == 3u);  // no epoch is better by 10 than the first
  auto first = compiled(strategy);
  first.set_weights("dense_3/kernel", set);
  fit(strategy, first, batches(), quiet(1));
  test::check_same_weights(model, first, 0);
}

BOOST_AUTO_TEST_CASE(a_step_of_stages_allocates_nothing) {
  auto const samples = test::mlp_samples<float>(61), others = test::mlp_samples<float>(27, 2);
  test::check_steady(Strategy(world(), {.micro_batches = 3}), architecture(),
                     SGD{.learning_rate = 0.1, .global_clipnorm = 0.1}, samples.data().batch(GlobalBatch{5}),
                     others.data().batch(GlobalBatch{4}), false, {.epochs = 3, .verbose = false},
                     {Parallelism::intra_op});
}

BOOST_AUTO_TEST_CASE(stages_that_a_model_does_not_have_are_one_error_on_all_ranks) {
  Strategy const strategy(world());
  auto const place = [&] {
    compile(strategy, Sequential{Input<3>{}, Dense<2>{}}, SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  };
  if (world().size() == 1) return place();
  BOOST_CHECK_EXCEPTION(place(), ValueError, [](ValueError const& error) {
    return error.uniform() && std::string(error.what()).find("cut into 1 stages at most") != std::string::npos;
  });
}
