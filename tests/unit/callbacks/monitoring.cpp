// What the traces of tests/parity/callbacks do not hold: errors, warnings, snapshots, combinations.
#define BOOST_TEST_MODULE callbacks_monitoring
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "trireme/callbacks/dispatch.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/learning_rate_scheduler.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"

#include "scripted_run.hpp"

namespace tr = trireme;
using tr::test::ScriptedRun;
using tr::test::uniform;

namespace {

template <class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (tr::ValueError const& error) {
    BOOST_TEST(error.uniform());
    return error.what();
  }
  return "nothing was thrown";
}

/// Collects the names of a callback's state.
struct Names {
  std::string text;
  template <class Member>
  void operator()(std::string_view name, Member&) {
    text += std::string(name) + " ";
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_nan_in_the_first_epoch_stops_nothing_even_with_patience_one) {
  tr::EarlyStopping<"val_loss"> callback{.patience = 1};
  ScriptedRun run;
  callback.on_train_begin(run);
  run.logs().set("val_loss", uniform(std::nan("")));
  BOOST_TEST((callback.on_epoch_end(run).value() == tr::Control::proceed));
  BOOST_TEST(callback.wait == 1u);
  run.epoch_now = 1;
  BOOST_TEST((callback.on_epoch_end(run).value() == tr::Control::stop));
  BOOST_TEST(run.messages.size() == 1u);  // reported once
  BOOST_TEST(run.messages.at(0) ==
             "warning: EarlyStopping: 'val_loss' is NaN in epoch 1, which is never an improvement");
}

// Keras 3.15 counts the weights that it keeps first as the best, and their epoch too.
BOOST_AUTO_TEST_CASE(weights_of_a_first_epoch_that_is_nan_are_restored_by_the_name_of_their_epoch) {
  tr::EarlyStopping<"val_loss"> callback{
      .patience = 1, .restore_best_weights = true, .start_from_epoch = 2, .verbose = true};
  ScriptedRun run;
  callback.on_train_begin(run);
  run.epoch_now = 2;
  run.logs().set("val_loss", uniform(std::nan("")));
  callback.on_epoch_end(run);
  BOOST_TEST(callback.best_epoch == 2u);
  callback.on_train_end(run);
  BOOST_TEST(run.messages.back() == "Restoring the weights of epoch 3");
}

BOOST_AUTO_TEST_CASE(a_metric_without_direction_is_named_before_training) {
  ScriptedRun run;
  tr::ReduceLROnPlateau<"val_score"> callback;
  std::string const message = message_of([&] { callback.on_train_begin(run); });
  BOOST_TEST(message.find("'val_score'") != std::string::npos);
  tr::ReduceLROnPlateau<"val_score"> told{.mode = tr::Mode::max};
  told.on_train_begin(run);
}

/// The message of the error with which a callback refuses a run: `fit` marks it as uniform.
std::string refusal_of(auto const& callback, ScriptedRun const& run) {
  try {
    callback.output_files(run);
  } catch (tr::ValueError const& error) {
    return error.what();
  }
  return "nothing was thrown";
}

BOOST_AUTO_TEST_CASE(a_checkpoint_names_the_unknown_field_and_those_there_are) {
  ScriptedRun run;
  run.names = {"loss", "val_loss", "learning_rate"};
  auto const refusal = [&](auto const& callback) { return refusal_of(callback, run); };
  tr::ModelCheckpoint<"val_loss"> callback{.path = "{epoch}-{val_f1:.2f}.weights.h5"};
  BOOST_TEST(refusal(callback) ==
             "ModelCheckpoint: the path '{epoch}-{val_f1:.2f}.weights.h5' has the field 'val_f1', but at the end of an "
             "epoch there are only: epoch, loss, val_loss, learning_rate");
  tr::ModelCheckpoint<"val_loss"> batch{.path = "{epoch}-{batch}.weights.h5"};
  BOOST_TEST(refusal(batch).find("'batch'") != std::string::npos);
  tr::ModelCheckpoint<"val_loss"> by_batch{.path = "{epoch}-{val_loss}.weights.h5", .save_freq = 3};
  BOOST_TEST(refusal(by_batch).find("'val_loss'") != std::string::npos);
  tr::ModelCheckpoint<"loss"> rate{.path = "{epoch}-{learning_rate}.weights.h5", .save_freq = 3};
  BOOST_TEST(
      refusal(rate) ==
      "ModelCheckpoint: the path '{epoch}-{learning_rate}.weights.h5' has the field 'learning_rate', but during an "
      "epoch there are only: epoch, batch, loss");
  tr::ModelCheckpoint<"val_loss"> format{.path = "{epoch:q}.weights.h5"};
  BOOST_TEST(refusal(format).find("{epoch:q}") != std::string::npos);
  tr::ModelCheckpoint<"val_loss"> open{.path = "{epoch"};
  BOOST_TEST(refusal(open) == "the file name '{epoch' lacks a '}'");
  tr::ModelCheckpoint<"val_loss"> none{};
  BOOST_TEST(refusal(none) == "ModelCheckpoint needs a .path");
}

BOOST_AUTO_TEST_CASE(a_checkpoint_by_batches_looks_at_metrics_only_when_it_saves) {
  ScriptedRun run;
  run.names = {"loss"};
  run.batch_logs.set("loss", uniform(2));
  tr::ModelCheckpoint<"loss"> callback{.path = "{{x}}{epoch}-{batch}.npz", .save_freq = 2};
  callback.on_train_begin(run);
  run.collectives = 0;
  callback.on_train_batch_end(run);
  callback.on_train_batch_end(run);
  BOOST_TEST(run.collectives == 1u);  // the file; nothing is compared, and no field asks for a value
  BOOST_TEST(run.saved.at(0) == "{x}1-1.npz");
  tr::ModelCheckpoint<"loss"> best{.path = "best.npz", .save_best_only = true, .save_freq = 2};
  best.on_train_begin(run);
  run.collectives = 0;
  best.on_train_batch_end(run);
  BOOST_TEST(run.collectives == 0u);
  best.on_train_batch_end(run);
  BOOST_TEST(run.collectives == 2u);
  BOOST_TEST(run.saved.at(1) == "best.npz");
}

// Keras saves after each of these batches.
BOOST_AUTO_TEST_CASE(a_best_checkpoint_by_batches_needs_a_value_that_batches_have) {
  ScriptedRun run;
  run.names = {"loss", "accuracy", "val_loss", "val_accuracy", "learning_rate"};
  run.metrics_named = {"loss", "accuracy"};
  auto const refusal = [&](auto const& callback) { return refusal_of(callback, run); };
  auto const refused = [](std::string const& monitor) {
    return "ModelCheckpoint: save_best_only monitors '" + monitor +
           "', but during an epoch there are only: loss, accuracy";
  };
  tr::ModelCheckpoint<> validation{.path = "b.npz", .save_best_only = true, .save_freq = {500}};
  BOOST_TEST(refusal(validation) == refused("val_loss"));
  tr::ModelCheckpoint<"learning_rate"> rate{.path = "b.npz", .save_best_only = true, .save_freq = {500}};
  BOOST_TEST(refusal(rate) == refused("learning_rate"));
  tr::ModelCheckpoint<"accuracy"> metric{.path = "b.npz", .save_best_only = true, .save_freq = {500}};
  BOOST_TEST(refusal(metric) == "nothing was thrown");
  tr::ModelCheckpoint<> by_epoch{.path = "b.npz", .save_best_only = true};
  BOOST_TEST(refusal(by_epoch) == "nothing was thrown");
  tr::ModelCheckpoint<> each{.path = "b.npz", .save_freq = {500}};  // compares nothing
  BOOST_TEST(refusal(each) == "nothing was thrown");
}

BOOST_AUTO_TEST_CASE(where_the_monitored_value_is_missing_the_best_file_stays) {
  ScriptedRun run;
  tr::ModelCheckpoint<"val_loss"> best{.path = "best.npz", .save_best_only = true};
  tr::ModelCheckpoint<"val_loss"> every{.path = "last.npz"};
  best.on_train_begin(run);
  every.on_train_begin(run);
  std::vector<std::size_t> saved;
  for (std::size_t epoch = 0; epoch < 6; ++epoch) {  // as with validation_freq = 2
    run.epoch_now = epoch;
    run.epoch_logs = {};
    run.logs().set("loss", uniform(1));
    if (epoch % 2 == 1) run.logs().set("val_loss", uniform(epoch == 3 ? 3.0 : 2.0 - 0.1 * double(epoch)));
    run.saved.clear();
    best.on_epoch_end(run);
    if (!run.saved.empty()) saved.push_back(epoch);
    every.on_epoch_end(run);
    BOOST_TEST(run.saved.back() == "last.npz");  // which compares nothing
  }
  BOOST_TEST(saved == (std::vector<std::size_t>{1, 5}), boost::test_tools::per_element());
  BOOST_TEST(run.messages == std::vector<std::string>{"warning: ModelCheckpoint found no 'val_loss' among: loss; with "
                                                      "save_best_only it saves nothing then"},
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(best_weights_come_back_whoever_ended_training) {
  tr::EarlyStopping<"loss"> callback{.patience = 9, .restore_best_weights = true, .verbose = true};
  ScriptedRun run;
  callback.on_train_begin(run);
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    run.epoch_now = epoch;
    run.weights = 10 + static_cast<int>(epoch);
    run.logs().set("loss", uniform(epoch == 1 ? 1 : 2));
    callback.on_epoch_end(run);
  }
  callback.on_train_end(run);
  BOOST_TEST(run.weights == 11);
  BOOST_TEST(run.messages.back() == "Restoring the weights of epoch 2");
  BOOST_TEST(!callback.best_weights);  // whose memory may not outlive the Environment
}

BOOST_AUTO_TEST_CASE(no_decision_of_the_library_needs_a_vote) {
  static_assert(!tr::needs_vote<tr::hooks::EpochEnd, ScriptedRun, tr::EarlyStopping<>, tr::ReduceLROnPlateau<>,
                                tr::ModelCheckpoint<>, tr::TerminateOnNaN>);
  static_assert(!tr::needs_vote<tr::hooks::TrainBatchEnd, ScriptedRun, tr::TerminateOnNaN, tr::ModelCheckpoint<>>);
  static_assert(tr::require_callback<tr::EarlyStopping<>&, ScriptedRun>());
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_not_finite_ends_training) {
  ScriptedRun run;
  tr::TerminateOnNaN const callback;
  run.batch_logs.set("loss", uniform(1));
  BOOST_TEST((callback.on_train_batch_end(run).value() == tr::Control::proceed));
  for (double const loss : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    run.batch_logs.set("loss", uniform(loss));
    BOOST_TEST((callback.on_train_batch_end(run).value() == tr::Control::stop));
  }
  BOOST_TEST(run.messages.at(0) == "Epoch 1, batch 1: the loss is nan, so training ends");
  tr::TerminateOnNaN const strict{.raise_error = true};
  BOOST_CHECK_EXCEPTION(strict.on_train_batch_end(run), tr::Error, [](tr::Error const& error) {
    return error.uniform() && error.what() == std::string("TerminateOnNaN: the loss is inf in epoch 1 after batch 1");
  });
}

BOOST_AUTO_TEST_CASE(a_schedule_sees_the_epoch_and_the_rate_and_is_logged) {
  ScriptedRun run;
  run.epoch_now = 3;
  run.rate = 0.5;
  tr::LearningRateScheduler both{.schedule = [](std::size_t epoch, double rate) { return rate * double(epoch); }};
  both.on_epoch_begin(run);
  BOOST_TEST(run.rate == 1.5);
  both.on_epoch_end(run);
  BOOST_TEST(run.logs().find("learning_rate")->value() == 1.5);
  tr::LearningRateScheduler epoch_only{.schedule = [](std::size_t epoch) { return 1.0 / double(epoch + 1); }};
  epoch_only.on_epoch_begin(run);
  BOOST_TEST(run.rate == 0.25);
  tr::LearningRateScheduler broken{.schedule = [](std::size_t) { return std::nan(""); }};
  BOOST_CHECK_THROW(broken.on_epoch_begin(run), tr::ValueError);
}

BOOST_AUTO_TEST_CASE(lambdas_are_hooks_and_absent_ones_are_nothing) {
  int calls = 0;
  auto callback = tr::LambdaCallback{.on_train_batch_end =
                                         [&](ScriptedRun const&) {
                                           ++calls;
                                           return tr::Control::stop;
                                         },
                                     .on_epoch_end = [&](auto& run) { run.weights = ++calls; }};
  static_assert(!tr::calls_hook<tr::hooks::TrainBegin, decltype(callback), ScriptedRun>);
  static_assert(tr::needs_vote<tr::hooks::TrainBatchEnd, ScriptedRun, decltype(callback)>);
  static_assert(!tr::detail::has_any_hook<tr::LambdaCallback<>, ScriptedRun>(tr::hooks::All{}));
  std::tuple callbacks{callback};
  ScriptedRun run;
  tr::notify<tr::hooks::TrainBegin>(callbacks, run);
  BOOST_TEST(calls == 0);
  BOOST_TEST(tr::notify<tr::hooks::TrainBatchEnd>(callbacks, run).local_request);
  tr::notify<tr::hooks::EpochEnd>(callbacks, run);
  BOOST_TEST(run.weights == 2);
}

BOOST_AUTO_TEST_CASE(what_a_resumed_run_needs_can_be_enumerated) {
  Names names;
  tr::EarlyStopping<> stopping;
  stopping.state(names);
  BOOST_TEST(names.text == "wait best best_epoch stopped_epoch best_weights ");
  names.text.clear();
  tr::ModelCheckpoint<> checkpoint;
  checkpoint.state(names);
  BOOST_TEST(names.text == "best batches_since_save ");
}
