// The epoch and step that messages name are those of calls that have not returned, or that an error has left.
#define BOOST_TEST_MODULE positions
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <string>
#include <vector>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/core/error.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/mpi/fault/diagnosis.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

std::string position() { return detail::position(detail::status()); }

/// Calls f at the end of each epoch, and notes the positions around that.
template <class F>
struct AtEpochEnd {
  std::vector<std::string>* positions;
  F f;
  template <class Run>
  void on_epoch_end(Run&) const {
    positions->push_back(position());
    f();
    positions->push_back(position());
  }
};

struct Fixture {
  OneDeviceStrategy<> strategy;
  decltype(compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{})) model =
      compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  test::Samples<float> samples = test::mlp_samples<float>(8);
  decltype(samples.data().batch(GlobalBatch{4})) data = samples.data().batch(GlobalBatch{4});
  std::vector<std::string> positions;

  template <class F>
  void train(F f) {
    fit(strategy, model, data, {.epochs = 2, .verbose = false}, AtEpochEnd<F>{&positions, f});
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_call_that_returns_leaves_no_position, Fixture) {
  train([] {});
  BOOST_TEST(positions.back() == ", in epoch 2 after step 4");
  BOOST_TEST(position() == "");
  evaluate(strategy, model, data);
  BOOST_TEST(position() == "");
  predict(strategy, model, data);
  BOOST_TEST(position() == "");
}

BOOST_FIXTURE_TEST_CASE(a_call_within_a_callback_leaves_the_position_of_training, Fixture) {
  auto other = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  train([&] { evaluate(strategy, other, data); });
  BOOST_TEST(positions == (std::vector<std::string>{", in epoch 1 after step 2", ", in epoch 1 after step 2",
                                                    ", in epoch 2 after step 4", ", in epoch 2 after step 4"}),
             boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(an_error_leaves_its_position_until_another_call, Fixture) {
  BOOST_CHECK_THROW(train([] { throw Error("the callback fails"); }), Error);
  BOOST_TEST(position() == ", in epoch 1 after step 2");
  train([] {});
  BOOST_TEST(position() == "");
}

BOOST_FIXTURE_TEST_CASE(calls_that_train_nothing_have_the_position_of_training_around_them_or_none, Fixture) {
  auto const check = [&](std::string const& expected) {
    positions.clear();
    auto const note = [&](auto&) { positions.push_back(position()); };
    evaluate(strategy, model, data, {}, LambdaCallback{.on_test_batch_end = note});
    predict(strategy, model, data, LambdaCallback{.on_predict_batch_end = note});
    BOOST_TEST(positions == std::vector<std::string>(4, expected), boost::test_tools::per_element());
  };
  check("");
  BOOST_CHECK_THROW(train([] { throw Error("the callback fails"); }), Error);
  check("");     // not that of the call before
  train([] {});  // other steps than those of the model below
  auto other = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  fit(strategy, other, data, {.verbose = false},
      LambdaCallback{.on_epoch_end = [&](auto&) { check(", in epoch 1 after step 2"); }});
}
