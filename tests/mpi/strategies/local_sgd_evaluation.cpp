// ranks: 1 2 3 4
// Between two means of LocalSGD each rank has weights of its own: evaluation, predictions and copies are those of their
// mean, as files are, and training is not changed by them.
#define BOOST_TEST_MODULE local_sgd_evaluation
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }
LocalSGD<MultiWorkerMirroredStrategy<>, 8> strategy() {
  return LocalSGD<MultiWorkerMirroredStrategy<>, 8>(MultiWorkerMirroredStrategy<>(world()));
}

template <class Hidden = Dense<9, Tanh>>
auto model_of(auto const& strategy, Hidden const& hidden = {}) {
  return compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, hidden, Dense<test::classes>{}},
                         SGD{.learning_rate = 0.3}, SparseCategoricalCrossentropy{.from_logits = true},
                         CompileOptions{.seed = 6});
}

test::Samples<double> const& samples() {
  static auto const all = test::mlp_samples<double>(12);
  return all;
}
void train(auto& model, int steps) {
  for (int i = 0; i < steps; ++i) model.train_on_batch(samples().x, samples().y);
}
double loss_of(auto& model, std::size_t batch) {
  return evaluate(strategy(), model, samples().data().batch(GlobalBatch{batch})).find("loss")->value();
}
auto predicted(auto& model, std::size_t batch) {
  return predict(strategy(), model, data::from_tensor_slices(samples().x).batch(GlobalBatch{batch}));
}

}  // namespace

BOOST_AUTO_TEST_CASE(evaluation_and_predictions_are_those_of_the_weights_that_are_saved) {
  auto model = model_of(strategy());
  train(model, 3);
  std::uint64_t const own = test::weight_bits(model);
  double const in_one = loss_of(model, 12), one_by_one = loss_of(model, 1);
  auto const whole = predicted(model, 12), rows = predicted(model, 1);
  BOOST_TEST(test::weight_bits(model) == own);

  model.save_weights("local_sgd_mean.npz");
  auto mean = model_of(strategy());
  mean.load_weights("local_sgd_mean.npz");
  test::check_close(in_one, loss_of(mean, 12), 1e-14, "a batch of all samples");
  test::check_close(one_by_one, in_one, 1e-14, "batches of a sample");
  auto const expected = predicted(mean, 12);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    test::check_close(whole.data()[i], expected.data()[i], 1e-14, "a prediction");
    test::check_close(rows.data()[i], expected.data()[i], 1e-14, "a prediction of a sample alone");
  }

  auto copy = model_of(strategy());
  copy.copy_weights(model);
  BOOST_TEST(test::weight_bits(copy) == test::weight_bits(mean));
}

BOOST_AUTO_TEST_CASE(evaluations_and_shared_layers_do_not_change_training) {
  auto plain = model_of(strategy());
  auto shared = model_of(strategy(), Shared{Dense<9, Tanh>{}});
  for (int step = 0; step < 10; ++step) {
    train(plain, 1);
    train(shared, 1);
    loss_of(shared, 4);
    predicted(shared, 5);
    BOOST_TEST(test::weight_bits(shared) == test::weight_bits(plain), "step " << step);
  }
}

BOOST_AUTO_TEST_CASE(a_model_gets_the_mean_of_a_shared_layer) {
  Shared const layer{Dense<9, Tanh>{}};
  auto trained = model_of(strategy(), layer), other = model_of(strategy(), layer);
  train(trained, 3);
  std::vector<double> mean(static_cast<std::size_t>(test::mlp_inputs) * 9);
  auto const own = trained.weights("dense/kernel"), given = other.weights("dense/kernel");
  std::copy(own.begin(), own.end(), mean.begin());
  world().allreduce_sum(mean);
  for (std::size_t i = 0; i < mean.size(); ++i)
    test::check_close(given.data()[i], mean[i] / static_cast<double>(world().size()), 1e-14, "a shared weight");
}

BOOST_AUTO_TEST_CASE(a_model_gets_the_mean_within_an_epoch_too) {
  Shared const layer{Dense<9, Tanh>{}};
  auto trained = model_of(strategy(), layer), other = model_of(strategy(), layer);
  auto plain = model_of(strategy());
  auto const data = samples().data().batch(GlobalBatch{3});
  auto const check = [&](auto&) {
    auto const own = trained.weights("dense/kernel");
    BOOST_TEST((other.weights("dense/kernel") == own));
    loss_of(other, 4);
    std::vector<double> mean(own.begin(), own.end());
    world().allreduce_sum(mean);
    auto const given = other.weights("dense/kernel");
    for (std::size_t i = 0; i < mean.size(); ++i)
      test::check_close(given.data()[i], mean[i] / static_cast<double>(world().size()), 1e-14, "a shared weight");
  };
  fit(strategy(), plain, data, {.epochs = 2, .verbose = false});
  fit(strategy(), trained, data, {.epochs = 2, .verbose = false}, LambdaCallback{.on_train_batch_end = check});
  BOOST_TEST(test::weight_bits(trained) == test::weight_bits(plain));
}

namespace {

template <class F>
struct AtTestEnd {
  F f;
  template <class Run>
  void on_test_end(Run const&) const {
    f();
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(weights_that_a_hook_of_an_evaluation_sets_stay) {
  auto model = model_of(strategy());
  train(model, 3);
  xt::xarray<double> const set = xt::ones<double>({std::size_t{9}, std::size_t{test::classes}});
  evaluate(strategy(), model, samples().data().batch(GlobalBatch{4}), {},
           AtTestEnd{[&] { model.set_weights("dense_1/kernel", set); }});
  BOOST_TEST((model.weights("dense_1/kernel") == set));
}

BOOST_AUTO_TEST_CASE(training_in_a_hook_of_an_evaluation_of_the_mean_is_an_error) {
  if (world().size() == 1) return;
  auto model = model_of(strategy());
  train(model, 3);
  std::uint64_t const own = test::weight_bits(model);
  BOOST_TEST(test::uniform_message_of<ValueError>(world(),
                                                  [&] {
                                                    evaluate(strategy(), model, samples().data().batch(GlobalBatch{4}),
                                                             {}, AtTestEnd{[&] { train(model, 1); }});
                                                  }) ==
             "training within 'evaluate' or 'predict' of the same model, which uses the mean of the weights that "
             "processes have: train when that has ended");
  BOOST_TEST(test::weight_bits(model) == own);
}
