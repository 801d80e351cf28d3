// What fit, evaluate and predict do with epochs, steps, validation and state.
#define BOOST_TEST_MODULE fit
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/printed.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/progress_bar.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"
#include "trireme/compile.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/fit.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_absolute_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

struct Fixture {
  OneDeviceStrategy<> strategy;
  test::Samples<double> samples = test::mlp_samples<double>(23), held_out = test::mlp_samples<double>(7, 2);

  auto compiled() const {
    return compile<double>(strategy, test::mlp(), Adam{.learning_rate = 0.01},
                           SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 6});
  }
  auto data() const { return samples.data().shuffle(23, 4).batch(GlobalBatch{5}); }  // 5 batches an epoch
  auto tests() const { return validation(held_out.data().batch(GlobalBatch{3})); }
};

using Epochs = std::vector<std::size_t>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_second_fit_goes_on_where_the_first_ended, Fixture) {
  auto once = compiled(), twice = compiled();
  fit(strategy, once, data(), {.epochs = 4, .verbose = false});
  auto const first = fit(strategy, twice, data(), {.epochs = 2, .verbose = false});
  auto const second = fit(strategy, twice, data(), {.epochs = 4, .initial_epoch = 2, .verbose = false});
  BOOST_TEST(first.epochs == (Epochs{0, 1}), boost::test_tools::per_element());
  BOOST_TEST(second.epochs == (Epochs{2, 3}), boost::test_tools::per_element());
  BOOST_TEST(twice.engine().iteration() == 20u);
  BOOST_TEST(test::weight_bits(twice) == test::weight_bits(once));
}

BOOST_FIXTURE_TEST_CASE(a_loop_of_fits_meets_the_orders_of_one_fit, Fixture) {
  auto once = compiled(), in_loop = compiled();
  fit(strategy, once, data(), {.epochs = 4, .verbose = false});
  fit(strategy, in_loop, data(), {.verbose = false});
  fit(strategy, in_loop, data(), {.epochs = 2, .verbose = false});
  auto moved = std::move(in_loop);
  fit(strategy, moved, data(), {.verbose = false});
  BOOST_TEST(test::weight_bits(moved) == test::weight_bits(once));
  // A course goes on behind a first one, too.
  fit(strategy, once, data(), {.epochs = 3, .verbose = false});
  fit(strategy, moved, data(), {.verbose = false});
  fit(strategy, moved, data(), {.epochs = 3, .initial_epoch = 1, .verbose = false});
  BOOST_TEST(test::weight_bits(moved) == test::weight_bits(once));
}

BOOST_FIXTURE_TEST_CASE(a_further_fit_of_some_steps_begins_a_pass_of_its_own, Fixture) {
  auto const generated = data::from_generator<double, std::int32_t>({test::mlp_inputs}, {}, [&] {
    return [&, i = std::size_t{0}](std::span<double> x, std::span<std::int32_t> y) mutable {
      if (i == samples.size()) return false;
      std::copy_n(samples.x.data() + i * test::mlp_inputs, test::mlp_inputs, x.begin());
      y[0] = samples.y[i++];
      return true;
    };
  });
  auto const check = [&](auto const& shuffled) {
    std::vector<std::vector<double>> losses;  // of an epoch's batches
    auto model = compile<double>(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<test::classes>{}},
                                 SGD{.learning_rate = 0}, SparseCategoricalCrossentropy{.from_logits = true});
    for (int call = 0; call < 3; ++call)
      fit(strategy, model, shuffled.batch(GlobalBatch{5}), {.epochs = 2, .steps_per_epoch = 2, .verbose = false},
          LambdaCallback{.on_epoch_begin = [&](auto&) { losses.push_back({}); },
                         .on_train_batch_end = [&](auto& run) { losses.back().push_back(run.loss()); }});
    for (std::size_t i = 0; i < losses.size(); ++i)
      for (std::size_t j = 0; j < i; ++j) BOOST_TEST((losses[i] != losses[j]), "epochs " << i << " and " << j);
  };
  check(samples.data().shuffle(23, 4));
  check(generated.shuffle(23, 4));
}

BOOST_FIXTURE_TEST_CASE(each_epoch_has_its_own_order_and_starts_its_means_anew, Fixture) {
  auto model = compiled(), unshuffled = compiled();
  auto const history = fit(strategy, model, data(), {.epochs = 30, .verbose = false});
  fit(strategy, unshuffled, samples.data().batch(GlobalBatch{5}), {.epochs = 30, .verbose = false});
  BOOST_TEST(history["loss"].back() < history["loss"].front());
  BOOST_TEST(test::weight_bits(model) != test::weight_bits(unshuffled));
}

BOOST_FIXTURE_TEST_CASE(the_progress_bar_shows_the_running_loss, Fixture) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::tmpfile(), std::fclose);
  auto model = compiled();
  double first = 0;
  fit(strategy, model, data(), {.verbose = false}, ProgressBar{.output = file.get(), .terminal = true},
      LambdaCallback{.on_train_batch_end = [&](auto& run) {
        if (run.batch() == 0) first = run.loss();
      }});
  std::rewind(file.get());
  std::string training;
  for (int c = std::fgetc(file.get()); c != EOF; c = std::fgetc(file.get())) training += static_cast<char>(c);
  BOOST_TEST(training.find(formatted("/step - loss: {:.4f} - accuracy: ", first)) != std::string::npos, training);
}

BOOST_FIXTURE_TEST_CASE(steps_per_epoch_cuts_an_epoch_short, Fixture) {
  auto model = compiled();
  std::vector<std::size_t> batches;
  fit(strategy, model, data(), {.epochs = 2, .steps_per_epoch = 2, .verbose = false},
      LambdaCallback{.on_epoch_begin = [&](auto& run) { batches.push_back(run.batches()); }});
  BOOST_TEST(model.engine().iteration() == 4u);
  BOOST_TEST(batches == (Epochs{2, 2}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(at_the_end_of_an_epoch_batches_are_those_of_training_again, Fixture) {
  auto model = compiled();
  Epochs in_test, at_end;
  fit(strategy, model, data(), tests(), {.epochs = 2, .validation_freq = 2, .verbose = false},
      LambdaCallback{.on_test_end =
                         [&](auto& run) {
                           in_test.push_back(run.batch());
                           in_test.push_back(run.batches());
                         },
                     .on_epoch_end =
                         [&](auto& run) {
                           at_end.push_back(run.batch());
                           at_end.push_back(run.batches());
                         }});
  BOOST_TEST(in_test == (Epochs{2, 3}), boost::test_tools::per_element());
  BOOST_TEST(at_end == (Epochs{4, 5, 4, 5}), boost::test_tools::per_element());
}

// Keras 3.15 logs these losses for batches of 2 of the samples 0 to 9, and a model whose loss is the sample.
BOOST_AUTO_TEST_CASE(epochs_of_some_steps_go_through_all_data_as_in_keras) {
  OneDeviceStrategy<> const strategy;
  std::vector<double> const x{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, y(10, 0);
  auto const data = data::from_tensor_slices(x, y).batch(GlobalBatch{2});
  auto const losses = [&](FitOptions const& options) {
    auto model = compile<double>(strategy, Sequential{Input<1>{}, Dense<1>{.kernel_initializer = Ones{}}},
                                 SGD{.learning_rate = 0}, MeanAbsoluteError{});
    return fit(strategy, model, data, options)["loss"];
  };
  using Losses = std::vector<double>;
  BOOST_TEST(
      losses({.epochs = 7, .steps_per_epoch = 2, .verbose = false}) == (Losses{1.5, 5.5, 8.5, 1.5, 5.5, 8.5, 1.5}),
      boost::test_tools::per_element());
  BOOST_TEST(losses({.epochs = 5, .steps_per_epoch = 3, .verbose = false}) == (Losses{2.5, 7.5, 2.5, 7.5, 2.5}),
             boost::test_tools::per_element());
  BOOST_TEST(losses({.epochs = 4, .steps_per_epoch = 4, .verbose = false}) == (Losses{3.5, 8.5, 3.5, 8.5}),
             boost::test_tools::per_element());
  // Not as in Keras, which would begin with the first samples: what a run of 5 epochs would have gone on with.
  BOOST_TEST(
      losses({.epochs = 5, .initial_epoch = 2, .steps_per_epoch = 2, .verbose = false}) == (Losses{8.5, 1.5, 5.5}),
      boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(epochs_of_some_steps_read_each_sample_once_a_pass) {
  OneDeviceStrategy<> const strategy;
  int read = 0;
  auto const generated = data::from_generator<double, double>({1}, {}, [&read] {
    return [&read](std::span<double> x, std::span<double> y) {
      ++read;
      x[0] = y[0] = 0;
      return true;
    };
  });
  auto model = compile<double>(strategy, Sequential{Input<1>{}, Dense<1>{}}, SGD{}, MeanAbsoluteError{});
  auto const batches = generated.repeat().take(10).batch(GlobalBatch{2});
  for (auto const& data : {batches, batches.prefetch(2)}) {
    read = 0;
    LambdaCallback const waits{.on_train_begin = [](auto&) {  // for a thread that would read by itself
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }};
    // Five batches in three epochs, twice.
    fit(strategy, model, data, {.epochs = 6, .steps_per_epoch = 2, .verbose = false}, waits);
    BOOST_TEST(read == 20);
  }
}

BOOST_FIXTURE_TEST_CASE(epochs_of_some_steps_shuffle_the_data_once_a_pass, Fixture) {
  auto whole = compiled(), parts = compiled();
  std::vector<std::size_t> batches;
  fit(strategy, whole, data(), {.epochs = 2, .verbose = false});
  fit(strategy, parts, data(), {.epochs = 4, .steps_per_epoch = 3, .verbose = false},
      LambdaCallback{.on_epoch_begin = [&](auto& run) { batches.push_back(run.batches()); }});
  BOOST_TEST(batches == (Epochs{3, 2, 3, 2}), boost::test_tools::per_element());
  BOOST_TEST(test::weight_bits(parts) == test::weight_bits(whole));
}

BOOST_FIXTURE_TEST_CASE(steps_per_epoch_gives_endless_data_their_epochs, Fixture) {
  auto model = compiled();
  fit(strategy, model, data().repeat(), {.epochs = 2, .steps_per_epoch = 8, .verbose = false});
  BOOST_TEST(model.engine().iteration() == 16u);
}

BOOST_FIXTURE_TEST_CASE(validation_freq_validates_every_so_many_epochs, Fixture) {
  auto model = compiled();
  auto const history = fit(strategy, model, data(), tests(), {.epochs = 5, .validation_freq = 2, .verbose = false});
  BOOST_TEST(history["loss"].size() == 5u);
  BOOST_TEST(history["val_loss"].size() == 2u);
}

BOOST_FIXTURE_TEST_CASE(the_last_validation_is_what_evaluate_says_of_the_trained_model, Fixture) {
  auto model = compiled();
  auto const history = fit(strategy, model, data(), tests(), {.epochs = 2, .verbose = false});
  auto const logs = evaluate(strategy, model, tests().data);
  BOOST_TEST(logs.names() == "loss, accuracy");
  BOOST_TEST(logs.find("loss")->value() == history["val_loss"].back());
  BOOST_TEST(logs.find("accuracy")->value() == history["val_accuracy"].back());
  BOOST_TEST(test::weight_bits(model) != 0u);
}

BOOST_FIXTURE_TEST_CASE(evaluate_and_predict_leave_the_model_as_it_is, Fixture) {
  auto model = compiled();
  auto const before = test::weight_bits(model);
  evaluate(strategy, model, tests().data);
  predict(strategy, model, tests().data);
  BOOST_TEST(test::weight_bits(model) == before);
  BOOST_TEST(model.engine().iteration() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_callback_may_evaluate_the_model_of_its_run, Fixture) {
  auto model = compiled(), alone = compiled();
  std::vector<double> losses;
  auto const history = fit(strategy, model, data(), tests(), {.epochs = 3, .verbose = false},
                           LambdaCallback{.on_epoch_end = [&](auto& run) {
                             auto const logs = evaluate(strategy, run.model(), tests().data);
                             losses.push_back(logs.find("loss")->value());
                             BOOST_TEST(predict(strategy, run.model(), tests().data).shape(0) == 7u);
                           }});
  fit(strategy, alone, data(), {.epochs = 3, .verbose = false});
  BOOST_TEST(losses == history["val_loss"], boost::test_tools::per_element());
  BOOST_TEST(test::weight_bits(model) == test::weight_bits(alone));
}

BOOST_FIXTURE_TEST_CASE(calls_within_hooks_leave_the_totals_of_the_pass_around_them, Fixture) {
  auto model = compiled(), alone = compiled();
  auto const evaluates = [&](auto& run) { evaluate(strategy, run.model(), data()); };
  auto const history = fit(strategy, model, data(), tests(), {.epochs = 3, .verbose = false},
                           LambdaCallback{.on_epoch_begin = evaluates,
                                          .on_train_batch_begin = evaluates,
                                          .on_train_batch_end = evaluates,
                                          .on_test_end = evaluates});
  auto const expected = fit(strategy, alone, data(), tests(), {.epochs = 3, .verbose = false});
  for (char const* name : {"loss", "accuracy", "val_loss", "val_accuracy"})
    BOOST_TEST(history[name] == expected[name], boost::test_tools::per_element());

  auto const trains = [&](auto& run) { fit(strategy, run.model(), data(), tests(), {.verbose = false}); };
  auto const longer = fit(strategy, model, data(), tests(), {.verbose = false}, LambdaCallback{.on_epoch_end = trains});
  auto const same = fit(strategy, alone, data(), tests(), {.verbose = false});
  for (char const* name : {"loss", "val_loss"})
    BOOST_TEST(longer[name] == same[name], boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(a_call_that_would_change_the_totals_of_the_pass_around_it_is_refused, Fixture) {
  auto model = compiled();
  auto const evaluates = [&](auto&) { evaluate(strategy, model, data()); };
  auto const trains = [&](auto&) { fit(strategy, model, data(), {.verbose = false}); };
  auto const validates = [&](auto&) { fit(strategy, model, data(), tests(), {.verbose = false}); };
  auto const takes_a_batch = [&](auto&) { model.train_on_batch(samples.x, samples.y); };
  auto const in_fit = [&](auto const& callback) {
    return test::message_of<ValueError>([&] { fit(strategy, model, data(), tests(), {.verbose = false}, callback); });
  };
  auto const in_evaluate = [&](auto const& callback) {
    return test::message_of<ValueError>([&] { evaluate(strategy, model, data(), {}, callback); });
  };
  auto const refused = [](char const* call, char const* around) {
    return formatted(
        "'{}' was called within '{}' of the same model, whose loss and metrics it would change; call it in a hook "
        "after the last batch, such as on_epoch_end or on_test_end, or for another model",
        call, around);
  };
  BOOST_TEST(in_fit(LambdaCallback{.on_test_batch_end = evaluates}) == refused("evaluate", "fit"));
  BOOST_TEST(in_fit(LambdaCallback{.on_test_batch_begin = validates}) == refused("fit", "fit"));
  BOOST_TEST(in_fit(LambdaCallback{.on_epoch_begin = trains}) == refused("fit", "fit"));
  BOOST_TEST(in_fit(LambdaCallback{.on_train_batch_begin = trains}) == refused("fit", "fit"));
  BOOST_TEST(in_fit(LambdaCallback{.on_train_batch_end = takes_a_batch}) == refused("train_on_batch", "fit"));
  BOOST_TEST(in_evaluate(LambdaCallback{.on_test_begin = evaluates}) == refused("evaluate", "evaluate"));
  BOOST_TEST(in_evaluate(LambdaCallback{.on_test_batch_begin = evaluates}) == refused("evaluate", "evaluate"));
  BOOST_TEST(in_evaluate(LambdaCallback{.on_test_batch_end = validates}) == refused("fit", "evaluate"));
  // Errors end the passes around them; training within a test that it does not add to is taken.
  BOOST_TEST(in_fit(LambdaCallback{.on_epoch_end = [](auto&) {}}) == "");
  BOOST_TEST(in_evaluate(LambdaCallback{.on_test_batch_end = trains}) == "");
  BOOST_TEST(in_evaluate(LambdaCallback{.on_test_end = takes_a_batch}) == "");
}

BOOST_FIXTURE_TEST_CASE(predictions_explain_the_loss_and_accuracy_that_evaluate_gives, Fixture) {
  auto model = compiled();
  fit(strategy, model, data(), {.verbose = false});
  auto const y = predict(strategy, model, tests().data);
  double loss = 0, right = 0;
  for (std::size_t i = 0; i < held_out.size(); ++i) {
    double total = 0;
    std::size_t largest = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      total += std::exp(y(i, k));
      if (y(i, k) > y(i, largest)) largest = k;
    }
    loss += std::log(total) - y(i, static_cast<std::size_t>(held_out.y[i]));
    right += largest == static_cast<std::size_t>(held_out.y[i]) ? 1 : 0;
  }
  double penalty = 0;  // of the first kernel, as test::mlp() says
  for (double w : model.weights("dense/kernel")) penalty += 1e-2 * w * w;
  auto const logs = evaluate(strategy, model, tests().data);
  test::check_close(logs.find("loss")->value(), loss / 7 + penalty, 1e-13, "loss");
  test::check_close(logs.find("accuracy")->value(), right / 7, 1e-15, "accuracy");
}

BOOST_FIXTURE_TEST_CASE(evaluate_can_be_given_a_number_of_steps, Fixture) {
  auto model = compiled();
  auto const first_three = test::Samples<double>{
      to_xarray(held_out.x.data(), {3, test::mlp_inputs}), {held_out.y.begin(), held_out.y.begin() + 3}, {}};
  test::check_same_logs(evaluate(strategy, model, tests().data, {.steps = 1}),
                        evaluate(strategy, model, first_three.data().batch(GlobalBatch{3})), 1e-15);
}

BOOST_FIXTURE_TEST_CASE(a_sample_weight_scales_the_loss_and_its_gradient_but_not_the_count, Fixture) {
  // Weight 2 everywhere: twice the data loss, the same penalty and accuracy.
  auto model = compiled();
  std::vector<double> const two(held_out.size(), 2.0), one(held_out.size(), 1.0);
  auto const value = [&](std::vector<double> const& weight, char const* name) {
    auto const data = data::from_tensor_slices(held_out.x, held_out.y, weight).batch(GlobalBatch{3});
    return evaluate(strategy, model, data).find(name)->value();
  };
  double penalty = 0;
  for (double w : model.weights("dense/kernel")) penalty += 1e-2 * w * w;
  test::check_close(value(two, "loss") - penalty, 2 * (value(one, "loss") - penalty), 1e-13, "loss");
  BOOST_TEST(value(two, "accuracy") == value(one, "accuracy"));
}

BOOST_FIXTURE_TEST_CASE(class_weights_are_the_sample_weights_of_their_classes, Fixture) {
  auto by_class = compiled(), by_sample = compiled();
  std::vector<double> const of_class{0.5, 2, 1, 3};
  std::vector<double> weight;
  for (auto label : samples.y) weight.push_back(of_class[static_cast<std::size_t>(label)]);
  auto const a = fit(strategy, by_class, samples.data().batch(GlobalBatch{5}),
                     {.epochs = 2, .class_weight = of_class, .verbose = false});
  auto const b = fit(strategy, by_sample, data::from_tensor_slices(samples.x, samples.y, weight).batch(GlobalBatch{5}),
                     {.epochs = 2, .verbose = false});
  BOOST_TEST(test::weight_bits(by_class) == test::weight_bits(by_sample));
  test::check_same_history(a, b, 0);
}

BOOST_FIXTURE_TEST_CASE(prefetching_and_mapping_change_nothing_but_the_inputs, Fixture) {
  auto plain = compiled(), ahead = compiled();
  auto const half = [](std::span<double const> in, std::span<double> out) {
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] / 2;
  };
  test::Samples<double> halved = samples;
  for (double& x : halved.x) x /= 2;
  fit(strategy, plain, halved.data().shuffle(23, 4).batch(GlobalBatch{5}), {.epochs = 2, .verbose = false});
  fit(strategy, ahead, samples.data().map({6}, half).shuffle(23, 4).batch(GlobalBatch{5}).prefetch(2),
      {.epochs = 2, .verbose = false});
  BOOST_TEST(test::weight_bits(plain) == test::weight_bits(ahead));
}

BOOST_FIXTURE_TEST_CASE(a_loss_that_is_no_number_ends_training, Fixture) {
  samples.x(7, 3) = std::numeric_limits<double>::infinity();
  samples.x(7, 4) = std::numeric_limits<double>::quiet_NaN();
  auto model = compiled();
  fit(strategy, model, samples.data().batch(GlobalBatch{5}), {.epochs = 3, .verbose = false}, TerminateOnNaN{});
  BOOST_TEST(model.engine().iteration() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_message_that_stdout_does_not_take_does_not_end_training, Fixture) {
  int const full = ::open("/dev/full", O_WRONLY);
  if (full < 0) return;
  auto model = compiled();
  std::size_t epochs = 0;
  std::string error;
  try {
    test::StdoutScope const scope(full);
    epochs = fit(strategy, model, data(), {.epochs = 9, .verbose = false},
                 EarlyStopping<"loss">{.min_delta = 100, .patience = 1, .verbose = true})
                 .epochs.size();
  } catch (std::exception const& e) {
    error = e.what();
  }
  ::close(full);
  BOOST_TEST(error == "");
  BOOST_TEST(epochs == 2u);
}
