// Where a run can be when it is interrupted, besides after a batch: in validation, at an epoch's end, when it was to
// stop, in data without an end; and what is no run to go on with.
#define BOOST_TEST_MODULE resume_elsewhere
#include "support/kokkos_fixture.hpp"
#include "support/printed.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <Kokkos_Core.hpp>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/schedules/exponential_decay.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using Lines = std::vector<std::string>;
using boost::test_tools::per_element;

namespace {

struct Killed {};

/// Ends the process the n-th time that one of its hooks is called.
struct Killer {
  std::size_t batch_ends = never, tests = never, epoch_ends = never;
  static constexpr std::size_t never = ~std::size_t{0};
  static void strike(std::size_t& left) {
    if (left != never && left-- == 0) throw Killed();
  }
  void on_train_batch_end(auto&) { strike(batch_ends); }
  void on_test_batch_end(auto&) { strike(tests); }
  void on_epoch_end(auto&) { strike(epoch_ends); }
};

/// Resumes two runs, of which the second does not fit.
struct Two {
  std::string good, bad;
  void on_train_resume(auto& run) {
    run.resume(good);
    if (!bad.empty()) BOOST_CHECK_THROW(run.resume(bad), FileError);
  }
};

/// Refuses a run whose callback had another value.
struct Strict {
  int value = 0;
  void on_epoch_end(auto&) {}
  void state(auto& archive) {
    int found = value;
    archive("value", found);
    if (found != value) throw std::runtime_error("another value");
  }
};

struct Fixture : test::Folder {
  OneDeviceStrategy<> strategy;
  test::Samples<float> samples = test::mlp_samples<float>(23), held_out = test::mlp_samples<float>(7, 2);
  std::string path = file("run.npz");

  auto compiled(std::uint64_t seed = 6) const {
    return compile(strategy, test::mlp(), Adam{.learning_rate = 0.01},
                   SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = seed});
  }
  auto data() const { return samples.data().shuffle(23, 4).batch(GlobalBatch{5}); }  // 5 batches an epoch
  auto tests() const { return validation(held_out.data().batch(GlobalBatch{3})); }

  /// Interrupts a fit with each of these, and then checks that it ends as one that is not interrupted.
  template <class Data>
  void check_law(Data const& train, FitOptions options, SaveFreq freq, std::vector<Killer> const& killers) {
    options.verbose = false;
    auto whole = compiled(), resumed = compiled();
    auto const expected = fit(strategy, whole, train, tests(), options);
    for (Killer const& killer : killers) {
      auto killed = compiled();
      BOOST_CHECK_THROW(fit(strategy, killed, train, tests(), options, Killer(killer),
                            BackupAndRestore{.path = path, .save_freq = freq}),
                        Killed);
    }
    // The state of the killer itself is none.
    auto const history =
        fit(strategy, resumed, train, tests(), options, Killer{}, BackupAndRestore{.path = path, .save_freq = freq});
    BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(whole));
    BOOST_TEST((history.values == expected.values));
    BOOST_TEST((history.epochs == expected.epochs), per_element());
  }
};

auto generated(std::size_t size) {
  return data::from_generator({test::mlp_inputs}, {}, [size](std::uint64_t pass) {
    return [size, pass, i = std::size_t{0}](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i == size) return false;
      for (std::size_t j = 0; j < x.size(); ++j) x[j] = static_cast<float>((i * 7 + j * 3 + pass * 5) % 11) / 11;
      y[0] = static_cast<std::int32_t>((i++ + pass) % test::classes);
      return true;
    };
  });
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(in_validation_and_at_an_epochs_end, Fixture) {
  check_law(data(), {.epochs = 4}, 5, {Killer{.tests = 4}, Killer{.tests = 1}, Killer{.epoch_ends = 0}});
  check_law(data(), {.epochs = 4}, SaveFreq::epoch, {Killer{.tests = 4}, Killer{.epoch_ends = 1}});
  check_law(data(), {.epochs = 5, .initial_epoch = 2, .validation_freq = 2}, 2, {Killer{.batch_ends = 8}});
}

BOOST_FIXTURE_TEST_CASE(in_epochs_of_a_part_of_the_data, Fixture) {
  // 3 batches and 2 in turn.
  check_law(data(), {.epochs = 5, .steps_per_epoch = 3}, 2, {Killer{.batch_ends = 4}, Killer{.batch_ends = 6}});
  check_law(data(), {.epochs = 5, .steps_per_epoch = 3}, SaveFreq::epoch, {Killer{.batch_ends = 8}});
}

BOOST_FIXTURE_TEST_CASE(in_data_without_an_end, Fixture) {
  // 8 batches an epoch out of 5 in a pass.
  check_law(data().repeat(), {.epochs = 4, .steps_per_epoch = 8}, 3,
            {Killer{.batch_ends = 9}, Killer{.batch_ends = 6}, Killer{.batch_ends = 9}});
  check_law(data().repeat(), {.epochs = 4, .steps_per_epoch = 8}, SaveFreq::epoch, {Killer{.batch_ends = 10}});
}

BOOST_FIXTURE_TEST_CASE(in_generators_that_end_or_do_not, Fixture) {
  check_law(generated(23).batch(GlobalBatch{5}), {.epochs = 3}, 2, {Killer{.batch_ends = 7}});
  check_law(generated(~std::size_t{0}).batch(GlobalBatch{5}).prefetch(2), {.epochs = 3, .steps_per_epoch = 4}, 3,
            {Killer{.batch_ends = 3}, Killer{.batch_ends = 6}});
  // Shuffled within a window while a thread reads ahead, and cut off within a pass.
  check_law(generated(23).shuffle(7, 3).take(19).batch(GlobalBatch{5}).prefetch(2), {.epochs = 3}, 2,
            {Killer{.batch_ends = 5}, Killer{.batch_ends = 3}});
  // One that ends within an epoch, which goes on with its next pass.
  check_law(generated(33).batch(GlobalBatch{5}).repeat(), {.epochs = 5, .steps_per_epoch = 4}, 2,
            {Killer{.batch_ends = 6}, Killer{.batch_ends = 4}, Killer{.batch_ends = 4}});
}

BOOST_FIXTURE_TEST_CASE(after_it_was_to_stop_within_an_epoch, Fixture) {
  auto const stops = [] {
    return LambdaCallback{
        .on_train_batch_end = [](auto& run) { return run.step() == 8 ? Control::stop : Control::proceed; }};
  };
  auto whole = compiled(), killed = compiled(), resumed = compiled();
  auto const expected = fit(strategy, whole, data(), tests(), {.epochs = 4, .verbose = false}, stops());
  BackupAndRestore backup{.path = path, .save_freq = 1};
  BOOST_CHECK_THROW(
      fit(strategy, killed, data(), tests(), {.epochs = 4, .verbose = false}, stops(), Killer{.epoch_ends = 1}, backup),
      Killed);
  auto const history =
      fit(strategy, resumed, data(), tests(), {.epochs = 4, .verbose = false}, stops(), Killer{}, backup);
  BOOST_TEST(resumed.engine().iteration() == 8u);
  BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(whole));
  BOOST_TEST((history.values == expected.values));
}

BOOST_FIXTURE_TEST_CASE(at_its_end_where_the_checkpoint_is_kept, Fixture) {
  BackupAndRestore kept{.path = path, .save_freq = 7, .delete_checkpoint = false, .verbose = true};
  auto first = compiled(), second = compiled();
  auto const expected = fit(strategy, first, data(), tests(), {.epochs = 2, .verbose = false}, kept);
  History history;
  BOOST_TEST(test::printed([&] {
               history = fit(strategy, second, data(), tests(), {.epochs = 2, .verbose = false}, kept);
             }) == "Nothing is left to train: the run in " + path + " is complete, after epoch 2\n");
  BOOST_TEST(test::weight_bits(second) == test::weight_bits(first));
  BOOST_TEST((history.values == expected.values));
  BOOST_TEST(std::filesystem::exists(path));

  auto longer = compiled(), whole = compiled();  // two epochs more
  BOOST_TEST(test::printed([&] { fit(strategy, longer, data(), tests(), {.epochs = 4, .verbose = false}, kept); }) ==
             "Going on with epoch 3 after 0 of its batches, from " + path + "\n");
  fit(strategy, whole, data(), tests(), {.epochs = 4, .verbose = false});
  BOOST_TEST(test::weight_bits(longer) == test::weight_bits(whole));
}

BOOST_FIXTURE_TEST_CASE(at_its_end_where_a_later_callback_failed, Fixture) {
  BackupAndRestore backup{.path = path, .save_freq = 3};
  bool is_full = true;
  std::size_t batches = 0;
  auto const report = [&] {
    return LambdaCallback{.on_train_batch_end = [&](auto&) { ++batches; },
                          .on_train_end =
                              [&](auto&) {
                                if (is_full) throw FileError("report.txt", "cannot be written: no space left");
                              }};
  };
  auto failed = compiled(), resumed = compiled();
  BOOST_CHECK_THROW(fit(strategy, failed, data(), {.epochs = 2, .verbose = false}, backup, report()), FileError);
  BOOST_TEST(batches == 10u);
  BOOST_TEST(std::filesystem::exists(path));
  is_full = false;
  fit(strategy, resumed, data(), {.epochs = 2, .verbose = false}, backup, report());
  BOOST_TEST(batches == 11u);  // the last save was one batch before the end
  BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(failed));
  BOOST_TEST(!std::filesystem::exists(path));
}

BOOST_FIXTURE_TEST_CASE(with_a_schedule_the_rate_follows_from_the_step, Fixture) {
  auto const made = [&] {
    return compile(
        strategy, test::mlp(),
        SGD{.learning_rate = ExponentialDecay{.initial_learning_rate = 0.1, .decay_steps = 3, .decay_rate = 0.7},
            .momentum = 0.9},
        SparseCategoricalCrossentropy{.from_logits = true});
  };
  auto whole = made(), killed = made(), resumed = made();
  BackupAndRestore backup{.path = path, .save_freq = 2};
  fit(strategy, whole, data(), {.epochs = 3, .verbose = false});
  BOOST_CHECK_THROW(fit(strategy, killed, data(), {.epochs = 3, .verbose = false}, Killer{.batch_ends = 8}, backup),
                    Killed);
  fit(strategy, resumed, data(), {.epochs = 3, .verbose = false}, Killer{}, backup);
  BOOST_TEST(test::weight_bits(resumed) == test::weight_bits(whole));
}

BOOST_FIXTURE_TEST_CASE(hooks_are_called_where_the_run_goes_on, Fixture) {
  Lines lines;
  auto const note = [&](char const* what) {
    return [&lines, what](auto& run) {
      lines.push_back(fmt::format("{} {} {}", what, run.epoch(), run.progress().batch));
    };
  };
  auto const note_next = [&](auto& run) {
    lines.push_back(fmt::format("epoch resume {} {}, next {}", run.epoch(), run.progress().batch, run.batch()));
  };
  auto const notes = [&] {
    return LambdaCallback{.on_train_begin = note("begin"),
                          .on_train_resume = note("resume"),
                          .on_epoch_begin = note("epoch begin"),
                          .on_epoch_resume = note_next,
                          .on_epoch_end = note("epoch end"),
                          .on_save_point = note("save point"),
                          .on_train_end = note("end"),
                          .on_train_complete = note("complete")};
  };
  BackupAndRestore backup{.path = path, .save_freq = 3};
  auto killed = compiled(), resumed = compiled();
  BOOST_CHECK_THROW(fit(strategy, killed, data(), {.epochs = 2, .verbose = false}, Killer{.batch_ends = 3}, backup),
                    Killed);
  fit(strategy, resumed, data(), {.epochs = 2, .verbose = false}, Killer{}, backup, notes());
  BOOST_TEST(lines == (Lines{"begin 0 0", "resume 0 3", "epoch resume 0 3, next 3", "save point 0 4", "save point 0 5",
                             "epoch end 0 5", "save point 1 0", "epoch begin 1 0", "save point 1 1", "save point 1 2",
                             "save point 1 3", "save point 1 4", "save point 1 5", "epoch end 1 5", "save point 2 0",
                             "end 2 0", "complete 2 0"}),
             per_element());
}

BOOST_FIXTURE_TEST_CASE(other_validation_data_are_refused, Fixture) {
  BackupAndRestore backup{.path = path, .save_freq = 2};
  FitOptions const options{.epochs = 2, .verbose = false};
  auto killed = compiled(), model = compiled();
  BOOST_CHECK_THROW(fit(strategy, killed, data(), tests(), options, Killer{.epoch_ends = 0}, backup), Killed);
  BOOST_TEST(test::message_of<FileError>([&] {
               fit(strategy, model, data(), validation(samples.data().batch(GlobalBatch{3})), options, Killer{},
                   backup);
             }) == path + ": holds a run that was validated on other data");
  BOOST_TEST(test::message_of<FileError>([&] {
               fit(strategy, model, data(), options, Killer{}, backup);
             }).find("the strategy, validation and callbacks that it had") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_graph_wired_otherwise_is_refused_and_other_models_that_share_layers_are_not, Fixture) {
  BackupAndRestore backup{.path = path};
  FitOptions const options{.epochs = 2, .verbose = false};
  Shared const shared{Dense<test::mlp_inputs>{}};
  auto const trained = [&]<class Joined>(Joined const& joined, Killer const& killer) {
    auto model = compile(strategy,
                         Graph{Input<test::mlp_inputs>{}, node<"a">(shared), node<"b">(Dense<test::mlp_inputs>{}),
                               joined, node<"d">(Dense<test::classes>{})},
                         Adam{}, SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 6});
    fit(strategy, model, data(), options, Killer(killer), backup);
  };
  auto const joined = node<"c", "a", "b">(Concatenate{});
  {
    auto probe =
        compile(strategy, Sequential{Input<test::mlp_inputs>{}, shared, Dense<1>{}}, SGD{}, MeanSquaredError{});
    BOOST_CHECK_THROW(trained(joined, Killer{.epoch_ends = 1}), Killed);
  }
  // Of a long type what is around the difference.
  BOOST_TEST(
      test::message_of<FileError>([&] { trained(node<"c", "b", "a">(Concatenate{}), Killer{}); }) ==
      path + R"(: holds a run of another model: the model ...e<6>>, "a">, Node<Dense<6>, "b">, )"
             R"(Node<Concatenate<>, "c", "a", "b">, Node<Dense<4>, "d">>, Adam, SparseCategoricalCrossentropy> there, )"
             R"(and ...e<6>>, "a">, Node<Dense<6>, "b">, Node<Concatenate<>, "c", "b", "a">, Node<Dense<4>, )"
             R"("d">>, Adam, SparseCategoricalCrossentropy> here)");
  trained(joined, Killer{});
}

BOOST_FIXTURE_TEST_CASE(a_run_that_went_on_keeps_its_place_when_another_is_refused, Fixture) {
  // Saved in a second fit, whose passes over the data are not the first ones; a first one alone goes on.
  auto const trained = [&](auto const& train, Killer const& killer, auto&&... callbacks) {
    auto model = compiled();
    if (killer.batch_ends != Killer::never) fit(strategy, model, data(), {.epochs = 1, .verbose = false});
    fit(strategy, model, train, {.epochs = 3, .verbose = false}, Killer(killer), callbacks...);
    return test::weight_bits(model);
  };
  std::string const bad = file("bad.npz");
  for (std::string const& file : {path, bad}) {
    auto const train = samples.data().shuffle(23, file == path ? 4 : 5).batch(GlobalBatch{5});
    BOOST_CHECK_THROW(trained(train, Killer{.batch_ends = 8}, BackupAndRestore{.path = file, .save_freq = 2}), Killed);
  }
  auto const once = trained(data(), Killer{}, Two{path, {}});
  BOOST_TEST(trained(data(), Killer{}, Two{path, bad}) == once);
}

BOOST_FIXTURE_TEST_CASE(an_error_of_a_callbacks_state_leaves_the_model_as_it_was, Fixture) {
  BackupAndRestore backup{.path = path, .save_freq = 2};
  FitOptions const options{.epochs = 2, .verbose = false};
  auto killed = compiled(), model = compiled(), expected = compiled();
  BOOST_CHECK_THROW(fit(strategy, killed, data(), options, Strict{1}, Killer{.batch_ends = 6}, backup), Killed);
  BOOST_CHECK_THROW(fit(strategy, model, data(), options, Strict{2}, Killer{}, backup), std::runtime_error);
  fit(strategy, model, data(), options), fit(strategy, expected, data(), options);
  BOOST_TEST(test::weight_bits(model) == test::weight_bits(expected));
}

BOOST_FIXTURE_TEST_CASE(a_refused_run_leaves_model_and_callbacks_as_they_were, Fixture) {
  BackupAndRestore backup{.path = path, .save_freq = 2};
  FitOptions const options{.epochs = 2, .verbose = false};
  auto killed = compiled(), model = compiled(), expected = compiled();
  BOOST_CHECK_THROW(
      fit(strategy, killed, data(), tests(), options, EarlyStopping<"loss">{.patience = 7}, Killer{.batch_ends = 8},
          LambdaCallback{.on_epoch_end = [](auto& run) { run.set_learning_rate(0.004); }}, backup),
      Killed);
  fit(strategy, model, data(), {.epochs = 1, .verbose = false}),
      fit(strategy, expected, data(), {.epochs = 1, .verbose = false});
  EarlyStopping<"loss"> stopping{.patience = 7};
  BOOST_CHECK_THROW(fit(strategy, model, samples.data().shuffle(23, 5).batch(GlobalBatch{5}), tests(), options,
                        stopping, Killer{}, LambdaCallback{.on_epoch_end = [](auto&) {}}, backup),
                    FileError);
  BOOST_TEST(model.engine().iteration() == expected.engine().iteration());
  BOOST_TEST(model.engine().optimizer().learning_rate() == expected.engine().optimizer().learning_rate());
  BOOST_TEST(!stopping.best.has_value());
  auto const history = fit(strategy, model, data(), options), others = fit(strategy, expected, data(), options);
  BOOST_TEST((history.values == others.values));
  BOOST_TEST(test::weight_bits(model) == test::weight_bits(expected));
}

BOOST_FIXTURE_TEST_CASE(another_model_other_data_or_another_placement_is_refused, Fixture) {
  BackupAndRestore backup{.path = path, .save_freq = 2};
  auto killed = compiled();
  FitOptions const options{.epochs = 2, .verbose = false};
  BOOST_CHECK_THROW(fit(strategy, killed, data(), options, Killer{.batch_ends = 3}, backup), Killed);
  auto const refused = [&](auto const& s, auto model, auto const& train, FitOptions const& o, auto&&... callbacks) {
    return test::message_of<FileError>([&] { fit(s, model, train, o, callbacks..., backup); });
  };
  BOOST_TEST(refused(strategy, compiled(7), data(), options) ==
             path + ": holds a run of another model: the seed 6 there, and 7 here");
  BOOST_TEST(refused(strategy,
                     compile(strategy,
                             Sequential{Input<test::mlp_inputs>{}, Dense<9, ReLU>{.kernel_regularizer = L2(1e-2)},
                                        Dropout{.rate = 0.5f}, Dense<test::classes>{}},
                             Adam{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                             CompileOptions{.seed = 6}),
                     data(), options)
                 .ends_with("holds a run of another model: layer 'dense' Dense<9, Tanh> there, and Dense<9, ReLU> "
                            "here"));
  BOOST_TEST(refused(strategy,
                     compile(strategy, test::mlp(), Adam{}, SparseCategoricalCrossentropy{}, Accuracy{},
                             CompileOptions{.seed = 6}),
                     data(), options) ==
             path +
                 ": holds a run of another model: SparseCategoricalCrossentropy::from_logits true there, and false "
                 "here");
  BOOST_TEST(refused(strategy, compiled(), samples.data().shuffle(23, 5).batch(GlobalBatch{5}), options) ==
             path + ": holds a run that was trained on other data, or with other class weights or steps per epoch");
  BOOST_TEST(refused(strategy, compiled(), data(), {.epochs = 2, .class_weight = {1, 2, 1, 1}, .verbose = false}) ==
             path + ": holds a run that was trained on other data, or with other class weights or steps per epoch");
  MirroredStrategy<> const mirrored(2);
  BOOST_TEST(refused(mirrored,
                     compile(mirrored, test::mlp(), Adam{.learning_rate = 0.01},
                             SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = 6}),
                     data(), options)
                 .find("holds a run that was placed otherwise: 1 processes with ") != std::string::npos);
  BOOST_TEST(refused(strategy,
                     compile(strategy, Sequential{Input<test::mlp_inputs>{}, Dense<test::classes>{}}, Adam{},
                             SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}),
                     data(), options)
                 .starts_with(path + ": holds a run of another model: "));
  auto const with = [&](auto optimizer, SparseCategoricalCrossentropy loss = {.from_logits = true}) {
    return compile(strategy, test::mlp(), optimizer, loss, Accuracy{}, CompileOptions{.seed = 6});
  };
  BOOST_TEST(refused(strategy, with(SGD{.momentum = 0.9}), data(), options) ==
             path + ": holds a run of another model: the optimizer Adam there, and SGD here");
  BOOST_TEST(refused(strategy, with(Adam{.learning_rate = ExponentialDecay{}}), data(), options) ==
             path + ": holds a run of another model: Adam::learning_rate a number there, and ExponentialDecay here");
  BOOST_TEST(refused(strategy, with(Adam{}, {.from_logits = true, .ignore_class = -1}), data(), options) ==
             path +
                 ": holds a run of another model: SparseCategoricalCrossentropy::ignore_class unset there, and -1 "
                 "here");
}

BOOST_FIXTURE_TEST_CASE(an_optimizer_of_another_state_is_refused, Fixture) {
  auto const trained = [&](double momentum, Killer const& killer) {
    auto model = compile(strategy, test::mlp(), SGD{.learning_rate = 0.01, .momentum = momentum},
                         SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 6});
    fit(strategy, model, data(), {.epochs = 2, .verbose = false}, Killer(killer),
        BackupAndRestore{.path = path, .save_freq = 2});
  };
  BOOST_CHECK_THROW(trained(0, Killer{.batch_ends = 3}), Killed);
  BOOST_TEST(test::message_of<FileError>([&] { trained(0.9, Killer{}); }) ==
             path + ": holds a run of another model: the optimizer's state SGD there, and SGD (momentum) here");
  trained(0, Killer{});
  BOOST_CHECK_THROW(trained(0.9, Killer{.batch_ends = 3}), Killed);
  BOOST_TEST(test::message_of<FileError>([&] { trained(0, Killer{}); }) ==
             path + ": holds a run of another model: the optimizer's state SGD (momentum) there, and SGD here");
  trained(0.8, Killer{});  // a number of a range
}

namespace {

std::vector<double> weights_of(auto const& model) { return model.engine().weights().host_parameters(); }

}  // namespace

BOOST_FIXTURE_TEST_CASE(other_threads_and_replicas_go_on_to_rounding_and_say_so, Fixture) {
  auto const doubles = test::mlp_samples<double>(23);
  auto const train = doubles.data().shuffle(23, 4).batch(GlobalBatch{5});
  auto const model_of = [](auto const& s) {
    return compile<double>(s, test::mlp(), Adam{.learning_rate = 0.01, .epsilon = 1e-3},
                           SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
                           CompileOptions{.seed = 6, .parallelism = Parallelism::samples});
  };
  FitOptions const options{.epochs = 3, .verbose = false};
  auto whole = model_of(strategy);
  auto const expected = fit(strategy, whole, train, options);
  auto const goes_on = [&](auto const& from, auto const& to, std::size_t batches) {
    auto killed = model_of(from);
    BackupAndRestore backup{.path = path, .save_freq = 2, .placement = Placement::any};
    BOOST_CHECK_THROW(fit(from, killed, train, options, Killer{.batch_ends = batches}, backup), Killed);
    auto model = model_of(to);
    History history;
    std::string const said = test::printed([&] { history = fit(to, model, train, options, Killer{}, backup); });
    BOOST_TEST(test::distance(weights_of(model), weights_of(whole)) <= test::tolerance<double>);
    test::check_same_history(history, expected, test::tolerance<double>);
    return said;
  };
#ifdef KOKKOS_ENABLE_SERIAL
  OneDeviceStrategy<Kokkos::Serial> const fewer_threads;
#else
  OneDeviceStrategy<> const fewer_threads;
#endif
  MirroredStrategy<> const replicas(5);
  for (std::size_t const batches : {3u, 7u}) {
    std::string const said = goes_on(strategy, replicas, batches);
    BOOST_TEST(said.starts_with("resumed (1 processes with "));
    BOOST_TEST(said.find(", 5 replicas in ") < said.find(") what was saved otherwise (1 processes with "));
    BOOST_TEST(said.ends_with("): results agree to rounding\n"));
    goes_on(strategy, fewer_threads, batches);
    goes_on(fewer_threads, strategy, batches);
    goes_on(replicas, fewer_threads, batches);
  }
  BOOST_TEST(goes_on(strategy, strategy, 3).empty());  // which is to the bit
}

BOOST_FIXTURE_TEST_CASE(batches_that_grow_with_the_replicas_are_not_those_of_the_run, Fixture) {
  MirroredStrategy<> const two(2), three(3);
  auto const model_of = [](auto const& s) {
    return compile(s, test::mlp(), Adam{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  };
  auto const train = samples.data().batch(PerReplicaBatch{2});
  BackupAndRestore backup{.path = path, .save_freq = 2, .placement = Placement::any};
  auto killed = model_of(two);
  auto other = model_of(three);
  FitOptions const options{.verbose = false};
  BOOST_CHECK_THROW(fit(two, killed, train, options, Killer{.batch_ends = 3}, backup), Killed);
  BOOST_TEST(test::message_of<FileError>([&] { fit(three, other, train, options, Killer{}, backup); }) ==
             path +
                 ": holds a run that took other global batches, whose size per replica was given: 4 samples there, "
                 "and 6 samples here");
}

BOOST_FIXTURE_TEST_CASE(statistics_of_a_replica_are_said_to_differ, Fixture) {
  auto const model_of = [](auto const& s) {
    return compile(
        s, Sequential{Input<test::mlp_inputs>{}, Dense<9, Tanh>{}, BatchNormalization<>{}, Dense<test::classes>{}},
        Adam{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});
  };
  MirroredStrategy<> const three(3);
  auto killed = model_of(strategy);
  auto other = model_of(three);
  FitOptions const options{.verbose = false};
  BackupAndRestore backup{.path = path, .save_freq = 2, .placement = Placement::any};
  BOOST_CHECK_THROW(fit(strategy, killed, data(), options, Killer{.batch_ends = 3}, backup), Killed);
  std::string const said = test::printed([&] { fit(three, other, data(), options, Killer{}, backup); });
  BOOST_TEST(
      said.ends_with("): results differ as BatchNormalization does, whose statistics are those of a replica's rows\n"));
}

BOOST_FIXTURE_TEST_CASE(a_path_that_cannot_be_is_an_error_before_training, Fixture) {
  auto model = compiled();
  FitOptions const options{.verbose = false};
  BOOST_TEST(test::message_of<ValueError>([&] { fit(strategy, model, data(), options, BackupAndRestore{}); }) ==
             "BackupAndRestore needs a .path");
  BOOST_TEST(
      test::message_of<FileError>([&] { fit(strategy, model, data(), options, BackupAndRestore{.path = "run"}); }) ==
      "run: BackupAndRestore cannot write it, since it is no name of a checkpoint, which ends in .h5 or .npz; use "
      "run.h5 or run.npz");
  BOOST_TEST(model.engine().iteration() == 0u);
}
