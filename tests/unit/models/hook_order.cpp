// The hooks that fit, evaluate and predict call, in the order that Keras has.
#define BOOST_TEST_MODULE hook_order
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;
using Lines = std::vector<std::string>;

namespace {

/// Writes down each call with where the run stands: "a: epoch_begin 1".
struct Recorder {
  std::string name;
  Lines* lines;

  void note(std::string const& what) { lines->push_back(name + what); }
  template <class Run>
  static std::string names(Run& run) {
    return run.logs().empty() ? "" : " " + run.logs().names();
  }

  template <class Run>
  void on_train_begin(Run&) {
    note("train_begin");
  }
  template <class Run>
  void on_train_end(Run&) {
    note("train_end");
  }
  template <class Run>
  void on_train_complete(Run&) {
    note("train_complete");
  }
  template <class Run>
  void on_epoch_begin(Run& run) {
    note(fmt::format("epoch_begin {}{}", run.epoch(), names(run)));
  }
  template <class Run>
  void on_epoch_end(Run& run) {
    note(fmt::format("epoch_end {}{}", run.epoch(), names(run)));
  }
  template <class Run>
  void on_train_batch_begin(Run& run) {
    note(fmt::format("batch_begin {} step {}", run.batch(), run.step()));
  }
  template <class Run>
  void on_train_batch_end(Run& run) {
    note(fmt::format("batch_end {} step {}", run.batch(), run.step()));
  }
  template <class Run>
  void on_test_begin(Run& run) {
    note("test_begin" + names(run));
  }
  template <class Run>
  void on_test_end(Run& run) {
    note("test_end" + names(run));
  }
  template <class Run>
  void on_test_batch_begin(Run& run) {
    note(fmt::format("test_batch_begin {}", run.batch()));
  }
  template <class Run>
  void on_test_batch_end(Run& run) {
    note(fmt::format("test_batch_end {}", run.batch()));
  }
  template <class Run>
  void on_predict_begin(Run&) {
    note("predict_begin");
  }
  template <class Run>
  void on_predict_end(Run&) {
    note("predict_end");
  }
  template <class Run>
  void on_predict_batch_begin(Run& run) {
    note(fmt::format("predict_batch_begin {}", run.batch()));
  }
  template <class Run>
  void on_predict_batch_end(Run& run) {
    note(fmt::format("predict_batch_end {}", run.batch()));
  }
};

struct Fixture {
  OneDeviceStrategy<> strategy;
  test::Samples<float> samples = test::mlp_samples<float>(5), held_out = test::mlp_samples<float>(3, 2);
  decltype(compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{}, Accuracy{})) model =
      compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  Lines lines;

  auto train() const { return samples.data().batch(GlobalBatch{3}); }
  auto tests() const { return validation(held_out.data().batch(GlobalBatch{2})); }
  void check(Lines const& expected) const { BOOST_TEST(lines == expected, boost::test_tools::per_element()); }
};

/// Requests to stop after a batch.
struct StopsAfter {
  std::size_t batch;
  template <class Run>
  Control on_train_batch_end(Run& run) {
    return run.batch() == batch ? Control::stop : Control::proceed;
  }
};

/// Requests to stop before the batches of an epoch.
struct StopsBefore {
  std::size_t epoch;
  template <class Run>
  Control on_epoch_begin(Run& run) {
    return run.epoch() == epoch ? Control::stop : Control::proceed;
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(fit_calls_the_hooks_in_keras_order_with_validation_every_second_epoch, Fixture) {
  fit(strategy, model, train(), tests(), {.epochs = 2, .validation_freq = 2, .verbose = false}, Recorder{"", &lines});
  check({"train_begin",  //
         "epoch_begin 0",
         "batch_begin 0 step 0",
         "batch_end 0 step 1",
         "batch_begin 1 step 1",
         "batch_end 1 step 2",
         "epoch_end 0 loss, accuracy",  //
         "epoch_begin 1",
         "batch_begin 0 step 2",
         "batch_end 0 step 3",
         "batch_begin 1 step 3",
         "batch_end 1 step 4",
         "test_begin loss, accuracy",
         "test_batch_begin 0",
         "test_batch_end 0",
         "test_batch_begin 1",
         "test_batch_end 1",
         "test_end loss, accuracy, val_loss, val_accuracy",     //
         "epoch_end 1 loss, accuracy, val_loss, val_accuracy",  //
         "train_end",
         "train_complete"});
}

BOOST_FIXTURE_TEST_CASE(callbacks_are_called_in_the_users_order_and_all_of_them_after_a_wish_to_stop, Fixture) {
  fit(strategy, model, train(), {.epochs = 1, .verbose = false}, Recorder{"a: ", &lines}, StopsAfter{0},
      Recorder{"b: ", &lines});
  check({"a: train_begin", "b: train_begin", "a: epoch_begin 0", "b: epoch_begin 0", "a: batch_begin 0 step 0",
         "b: batch_begin 0 step 0", "a: batch_end 0 step 1", "b: batch_end 0 step 1", "a: epoch_end 0 loss, accuracy",
         "b: epoch_end 0 loss, accuracy", "a: train_end", "b: train_end", "a: train_complete", "b: train_complete"});
}

// As in Keras 3.15: what the epoch logs is then of a batch, and not of none.
BOOST_FIXTURE_TEST_CASE(an_epoch_before_which_a_callback_asks_to_stop_has_one_batch, Fixture) {
  auto const history =
      fit(strategy, model, train(), {.epochs = 3, .verbose = false}, Recorder{"", &lines}, StopsBefore{1});
  check({"train_begin", "epoch_begin 0", "batch_begin 0 step 0", "batch_end 0 step 1", "batch_begin 1 step 1",
         "batch_end 1 step 2", "epoch_end 0 loss, accuracy", "epoch_begin 1", "batch_begin 0 step 2",
         "batch_end 0 step 3", "epoch_end 1 loss, accuracy", "train_end", "train_complete"});
  BOOST_TEST(history["loss"].at(1) > 0.1);
}

BOOST_FIXTURE_TEST_CASE(an_epoch_that_is_cut_short_is_still_validated_and_ended, Fixture) {
  fit(strategy, model, train(), tests(), {.epochs = 3, .verbose = false}, StopsAfter{0}, Recorder{"", &lines});
  check({"train_begin", "epoch_begin 0", "batch_begin 0 step 0", "batch_end 0 step 1", "test_begin loss, accuracy",
         "test_batch_begin 0", "test_batch_end 0", "test_batch_begin 1", "test_batch_end 1",
         "test_end loss, accuracy, val_loss, val_accuracy", "epoch_end 0 loss, accuracy, val_loss, val_accuracy",
         "train_end", "train_complete"});
}

BOOST_FIXTURE_TEST_CASE(evaluate_calls_the_hooks_of_a_test, Fixture) {
  evaluate(strategy, model, tests().data, {}, Recorder{"", &lines});
  check({"test_begin", "test_batch_begin 0", "test_batch_end 0", "test_batch_begin 1", "test_batch_end 1",
         "test_end loss, accuracy"});
}

BOOST_FIXTURE_TEST_CASE(predict_calls_the_hooks_of_a_prediction, Fixture) {
  predict(strategy, model, tests().data, Recorder{"", &lines});
  check({"predict_begin", "predict_batch_begin 0", "predict_batch_end 0", "predict_batch_begin 1",
         "predict_batch_end 1", "predict_end"});
}

BOOST_FIXTURE_TEST_CASE(an_exception_in_on_train_end_keeps_all_on_train_complete_from_their_call, Fixture) {
  auto const fails = LambdaCallback{.on_train_end = [](auto&) { throw std::runtime_error("enough"); }};
  BOOST_CHECK_THROW(fit(strategy, model, train(), {.epochs = 1, .verbose = false}, Recorder{"", &lines}, fails),
                    std::runtime_error);
  BOOST_TEST(lines.back() == "train_end");
}

BOOST_FIXTURE_TEST_CASE(an_exception_in_a_hook_leaves_fit_and_keeps_on_train_end_from_its_call, Fixture) {
  auto const fails = LambdaCallback{.on_train_batch_end = [](auto& run) {
    if (run.batch() == 1) throw std::runtime_error("enough");
  }};
  BOOST_CHECK_THROW(fit(strategy, model, train(), {.epochs = 2, .verbose = false}, Recorder{"", &lines}, fails),
                    std::runtime_error);
  BOOST_TEST(lines.back() == "batch_end 1 step 2");
}

namespace {
/// Adds a value to the logs, and changes one.
struct Edits {
  static constexpr std::array logs{std::string_view("double_loss")};
  template <class Run>
  void on_epoch_end(Run& run) {
    auto const loss = *run.logs().find("loss");
    run.logs().set("double_loss", loss.map([](double value) { return 2 * value; }));
    run.logs().set("accuracy", loss.map([](double) { return 0.25; }));
  }
};

struct Monitors {
  static constexpr std::string_view monitor = "double_loss";
  std::vector<double>* seen;
  template <class Run>
  void on_epoch_end(Run& run) {
    seen->push_back(run.logs().find(monitor)->value());
    seen->push_back(run.logs().find("accuracy")->value());
  }
};
}  // namespace

BOOST_FIXTURE_TEST_CASE(what_a_callback_writes_to_the_logs_is_seen_downstream_and_in_the_history, Fixture) {
  std::vector<double> seen;
  auto const history = fit(strategy, model, train(), {.epochs = 1, .verbose = false}, Edits{}, Monitors{&seen});
  BOOST_TEST(history["double_loss"][0] == 2 * history["loss"][0]);
  BOOST_TEST(history["accuracy"][0] == 0.25);
  BOOST_TEST(seen == (std::vector<double>{history["double_loss"][0], 0.25}), boost::test_tools::per_element());
}
