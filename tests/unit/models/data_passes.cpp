// The passes over the data that several calls of fit make: of runs that are resumed, after weights from a file, and in
// hooks of another call.
#define BOOST_TEST_MODULE models_data_passes
#include "support/killer.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "unit/io/folder.hpp"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

struct Fixture : test::Folder {
  OneDeviceStrategy<> strategy;
  test::Samples<double> samples = test::mlp_samples<double>(22);

  auto batches() { return samples.data().shuffle(22, 4).batch(GlobalBatch{5}); }
  auto compiled() {
    return compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{}, Dense<test::classes>{}},
                           Adam{.learning_rate = 0.03}, SparseCategoricalCrossentropy{.from_logits = true},
                           CompileOptions{.seed = 6});
  }
};

struct FailsAtTheEnd {
  bool fails;
  template <class Run>
  void on_train_end(Run const&) const {
    if (fails) throw std::runtime_error("no space left");
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_fit_behind_one_that_resumes_as_complete_meets_the_same_orders, Fixture) {
  auto const run = [&](std::string const& name, bool fails, std::size_t killed_in_second) {
    auto model = compiled();
    fit(strategy, model, batches(), {.epochs = 3, .verbose = false},
        BackupAndRestore{.path = file((name + "_first.npz").c_str()), .delete_checkpoint = false},
        FailsAtTheEnd{fails});
    fit(strategy, model, batches(), {.epochs = 3, .verbose = false},
        BackupAndRestore{.path = file((name + "_second.npz").c_str()), .delete_checkpoint = false},
        test::Killer{killed_in_second});
    return test::weight_bits(model);
  };
  std::uint64_t const whole = run("whole", false, test::never);
  BOOST_CHECK_THROW(run("cut", false, 2), test::Killed);
  BOOST_TEST(run("cut", false, test::never) == whole);
  BOOST_CHECK_THROW(run("failed", true, test::never), std::runtime_error);
  BOOST_TEST(run("failed", false, test::never) == whole);
}

BOOST_FIXTURE_TEST_CASE(a_course_goes_on_from_weights_of_a_file_in_a_model_that_has_trained_on, Fixture) {
  auto once = compiled(), back = compiled(), anew = compiled();
  fit(strategy, once, batches(), {.epochs = 4, .verbose = false});
  fit(strategy, back, batches(), {.epochs = 3, .verbose = false},
      ModelCheckpoint<"loss">{.path = file("epoch_{epoch}.npz")});
  back.load_weights(file("epoch_2.npz"));
  fit(strategy, back, batches(), {.epochs = 4, .initial_epoch = 2, .verbose = false});
  BOOST_TEST(test::weight_bits(back) == test::weight_bits(once));
  // From epoch 0 on it is another course.
  back.load_weights(file("epoch_2.npz"));
  anew.load_weights(file("epoch_2.npz"));
  fit(strategy, back, batches(), {.verbose = false});
  fit(strategy, anew, batches(), {.verbose = false});
  BOOST_TEST(test::weight_bits(back) != test::weight_bits(anew));
}

BOOST_FIXTURE_TEST_CASE(a_fit_in_a_hook_of_a_resumed_one_meets_the_orders_that_it_would_have_had, Fixture) {
  // Epochs of two batches, of which several make a pass.
  auto const trained = [&](std::size_t steps) {
    auto model = compiled();
    fit(strategy, model, batches(), {.epochs = 4, .steps_per_epoch = 2, .verbose = false},
        BackupAndRestore{.path = file("run.npz")}, test::Killer{steps},
        LambdaCallback{.on_epoch_end = [&](auto&) { fit(strategy, model, batches(), {.verbose = false}); }});
    return test::weight_bits(model);
  };
  std::uint64_t const whole = trained(test::never);
  for (std::size_t const steps : {2u, 4u, 6u}) {
    BOOST_CHECK_THROW(trained(steps), test::Killed);
    BOOST_TEST(trained(test::never) == whole);
  }
}

BOOST_FIXTURE_TEST_CASE(a_fit_in_a_hook_of_another_has_orders_of_its_own, Fixture) {
  auto model = compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<test::classes>{}},
                               Adam{.learning_rate = 0}, SparseCategoricalCrossentropy{.from_logits = true});
  std::vector<std::vector<double>> losses;  // of an epoch's batches
  auto const note = [&] {
    return LambdaCallback{.on_epoch_begin = [&](auto&) { losses.push_back({}); },
                          .on_train_batch_end = [&](auto& run) { losses.back().push_back(run.loss()); }};
  };
  fit(strategy, model, batches(), {.epochs = 3, .verbose = false}, note(), LambdaCallback{.on_epoch_end = [&](auto&) {
        for (int call = 0; call < 2; ++call) fit(strategy, model, batches(), {.verbose = false}, note());
      }});
  fit(strategy, model, batches(), {.epochs = 2, .verbose = false}, note());
  BOOST_REQUIRE(losses.size() == 11u);
  for (std::size_t i = 0; i < losses.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) BOOST_TEST((losses[i] != losses[j]), "epochs " << i << " and " << j);
}
