// ranks: 1 2 3 4
// Law 6: what is wrong with the data is thrown on all ranks, as one sentence, and nothing hangs.
#define BOOST_TEST_MODULE errors
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/learning_rate_scheduler.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/plot_model.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

Communicator const& world() { return test::environment().world(); }
std::size_t last_rank() { return world().size() - 1; }
bool on_last_rank() { return world().rank() == last_rank(); }
/// How an error of the last rank alone begins.
std::string origin() { return world().size() == 1 ? "" : fmt::format("on rank {}: ", last_rank()); }

struct Fixture {
  MultiWorkerMirroredStrategy<> strategy{world()};
  test::Samples<float> samples = test::mlp_samples<float>(13);
  decltype(compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{}, Accuracy{})) model =
      compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});

  template <class Data, class... Callbacks>
  void train(Data const& data, Callbacks&&... callbacks) {
    fit(strategy, model, data.batch(GlobalBatch{4}), {.verbose = false}, std::forward<Callbacks>(callbacks)...);
  }
};

template <class E, class F>
std::string message_of(F&& f) {
  return test::uniform_message_of<E>(world(), std::forward<F>(f));
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_label_out_of_range_is_named_on_all_ranks, Fixture) {
  samples.y[11] = 4;
  auto const text = message_of<ValueError>([&] { train(samples.data().named("digits")); });
  BOOST_TEST(text == "label 4 at index 11 of digits is outside of [0, 4)");
  BOOST_TEST(model.engine().iteration() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_label_out_of_range_among_the_samples_of_one_rank_is_named_on_all, Fixture) {
  if (on_last_rank()) samples.y[2] = -1;
  auto const data = data::from_local_slices(strategy, samples.x, samples.y).named("own");
  BOOST_TEST(message_of<ValueError>([&] { train(data); }) ==
             origin() + "label -1 at index 2 of own is outside of [0, 4)");
}

BOOST_FIXTURE_TEST_CASE(samples_of_other_extents_are_an_error_that_names_both, Fixture) {
  samples = test::make_samples<float>(13, {7}, 4);
  auto const text = message_of<ShapeError>([&] { train(samples.data().named("wide")); });
  BOOST_TEST(text == "samples of wide have the extents (7,), but the model takes (6,)");
  auto const only_inputs = data::from_tensor_slices(samples.x).batch(GlobalBatch{4});
  BOOST_TEST(contains(message_of<ShapeError>([&] { predict(strategy, model, only_inputs); }), "(7,)"));
  auto const whole = samples.data().batch(GlobalBatch{4});
  BOOST_TEST(contains(message_of<ShapeError>([&] { evaluate(strategy, model, whole); }), "(7,)"));
}

BOOST_FIXTURE_TEST_CASE(samples_of_other_extents_on_one_rank_are_an_error_on_all, Fixture) {
  if (on_last_rank()) samples = test::make_samples<float>(13, {7}, 4);
  BOOST_TEST(contains(message_of<ShapeError>([&] { train(samples.data()); }), origin() + "samples of"));
}

BOOST_FIXTURE_TEST_CASE(data_that_differ_where_they_should_be_the_same_are_an_error_on_all_ranks, Fixture) {
  if (world().size() == 1) return;
  if (on_last_rank()) samples.x(12, 5) += 0.5f;
  auto const text = message_of<Error>([&] { train(samples.data()); });
  BOOST_TEST(text == origin() +
                         "the training data differ from those of rank 0; for data that each rank owns, use "
                         "from_local_slices");
}

BOOST_FIXTURE_TEST_CASE(data_of_other_length_on_one_rank_are_an_error_on_all_ranks, Fixture) {
  if (world().size() == 1) return;
  if (on_last_rank()) samples = test::mlp_samples<float>(12);
  BOOST_TEST(message_of<Error>([&] { train(samples.data()); }) ==
             origin() +
                 "from_tensor_slices of the training data has the number of samples 12 where rank 0 has the "
                 "number of samples 13; for data that each rank owns, use from_local_slices");
}

BOOST_FIXTURE_TEST_CASE(values_of_other_extents_and_another_parameter_on_one_rank_are_an_error_on_all, Fixture) {
  std::string const kernel = model.weight_names().front(), bias = model.weight_names().back();
  auto const before = model.weights(bias);
  std::vector<float> const values(before.size() + (on_last_rank() ? 1 : 0), 3.f);
  BOOST_TEST(
      contains(message_of<ShapeError>([&] { model.set_weights(bias, values); }),
               fmt::format("{}'{}' has extents (4,), and cannot be set to values of extents (5,)", origin(), bias)));
  if (world().size() > 1) {
    auto const other = [&] {
      model.set_weights(on_last_rank() ? kernel : bias, model.weights(on_last_rank() ? kernel : bias));
    };
    BOOST_TEST(message_of<ValueError>(other) ==
               fmt::format("set_weights: rank {} has the parameter {} where rank 0 has {}", last_rank(), kernel, bias));
  }
  BOOST_TEST((model.weights(bias) == before));
}

BOOST_FIXTURE_TEST_CASE(what_is_done_with_the_data_otherwise_on_one_rank_is_named_on_all_ranks, Fixture) {
  if (world().size() == 1) return;
  std::uint64_t const last = on_last_rank() ? 1 : 0;
  auto const says = [&](auto const& data) {
    return message_of<ValueError>([&] { fit(strategy, model, data, {.verbose = false}); });
  };
  auto const data = samples.data();
  BOOST_TEST(says(data.batch(GlobalBatch{4 + last})) ==
             origin() + "batch of the training data has the size 5 where rank 0 has the size 4");
  BOOST_TEST(says(data.shuffle(13, 7 + last).batch(GlobalBatch{4})) ==
             origin() + "shuffle of the training data has the seed 8 where rank 0 has the seed 7");
  BOOST_TEST(says(data.batch(GlobalBatch{4}).repeat(last == 0 ? -1 : 3).take(2)) ==
             origin() +
                 "repeat of the training data has the number of passes 3 where rank 0 has the number of passes "
                 "without end");
  BOOST_TEST(says((last == 0 ? data.shuffle(13, 7).take(9) : data.take(9).shuffle(13, 7)).batch(GlobalBatch{4})) ==
             origin() + "the transformations of the training data differ: take where rank 0 has shuffle");
  BOOST_TEST(says((last == 0 ? data : data.take(9)).batch(GlobalBatch{4})) ==
             origin() + "the transformations of the training data differ: take where rank 0 has samples");
  auto const digits = data.named("digits").batch(PerReplicaBatch{4 + last});
  BOOST_TEST(message_of<ValueError>([&] { evaluate(strategy, model, digits); }) ==
             origin() +
                 "batch of the test data (digits) has the size per replica 5 where rank 0 has the size per "
                 "replica 4");
  BOOST_TEST(model.engine().iteration() == 0u);
}

BOOST_FIXTURE_TEST_CASE(data_without_a_sample_are_an_error_on_all_ranks_that_names_them, Fixture) {
  auto const all = samples.data();
  GlobalBatch const four{4};
  auto const trains = [&](auto const& data) {
    return message_of<ValueError>([&] { fit(strategy, model, data, {.epochs = 2, .verbose = false}); });
  };
  std::string const empty = "the training data hold no sample";
  for (auto const& data : {all.take(0), all.skip(13), all.repeat(0), all.take(0).repeat().take(9)})
    BOOST_TEST(trains(data.batch(four)) == empty);
  BOOST_TEST(trains(all.batch(four).skip(4)) ==
             "the training data have no batch: take, skip or repeat leave none of their 13 samples");
  BOOST_TEST(trains(data::from_local_slices(strategy, std::vector<float>(), std::vector<std::int32_t>())
                        .map({test::mlp_inputs}, [](auto, auto) {})
                        .batch(four)) == empty);
  auto const none = data::from_generator(
      {test::mlp_inputs}, {}, [] { return [](std::span<float>, std::span<std::int32_t>) { return false; }; });
  for (auto const& data :
       {none, none.repeat().take(9), none.shuffle(5, 1), none.cache(), none.repeat().take(9).cache()})
    BOOST_TEST(trains(data.batch(four).prefetch(1)) == empty);
  BOOST_TEST(trains(none.repeat().batch(four).take(2).cache()) == empty);
  BOOST_TEST(model.engine().iteration() == 0u);

  BOOST_TEST(message_of<ValueError>([&] {
               fit(strategy, model, all.batch(four), validation(all.take(0).named("held out").batch(four)),
                   {.verbose = false});
             }) == "the validation data (held out) hold no sample");
  BOOST_TEST(model.engine().iteration() == 0u);
  BOOST_TEST(message_of<ValueError>([&] {
               fit(strategy, model, all.batch(four), validation(none.batch(four)), {.verbose = false});
             }) == "the validation data hold no sample");
  BOOST_TEST(message_of<ValueError>([&] { evaluate(strategy, model, all.take(0).batch(four)); }) ==
             "the test data hold no sample");
  BOOST_TEST(message_of<ValueError>([&] { evaluate(strategy, model, none.batch(four)); }) ==
             "the test data hold no sample");
  for (auto const& y : {predict(strategy, model, all.take(0).batch(four)), predict(strategy, model, none.batch(four))})
    BOOST_TEST((y.shape() == xt::xarray<float>::shape_type{0, test::classes}));
}

BOOST_FIXTURE_TEST_CASE(a_rank_without_samples_of_its_own_trains_tests_and_predicts_with_the_others, Fixture) {
  if (on_last_rank() && world().size() > 1) samples = test::mlp_samples<float>(0);
  auto const own = data::from_local_slices(strategy, samples.x, samples.y).batch(GlobalBatch{4});
  fit(strategy, model, own, validation(own), {.verbose = false});
  evaluate(strategy, model, own);
  BOOST_TEST(predict(strategy, model, own).shape(0) == 13 * std::max<std::size_t>(world().size() - 1, 1));
  fit(strategy, model, own.repeat(), {.steps_per_epoch = 30, .verbose = false});
}

BOOST_FIXTURE_TEST_CASE(more_steps_than_the_data_have_batches_are_an_error_on_all_ranks, Fixture) {
  auto const batches = samples.data().batch(GlobalBatch{4});
  auto const trains = [&](auto const& data, std::size_t steps) {
    return message_of<ValueError>(
        [&] { fit(strategy, model, data, {.epochs = 3, .steps_per_epoch = steps, .verbose = false}); });
  };
  BOOST_TEST(trains(batches, 5) == "steps_per_epoch is 5, but the training data have 4 batches: repeat() gives more");
  BOOST_TEST(message_of<ValueError>([&] { evaluate(strategy, model, batches, {.steps = 5}); }) ==
             "steps is 5, but the test data have 4 batches: repeat() gives more");
  BOOST_TEST(message_of<ValueError>([&] { fit(strategy, model, batches.repeat(), {.verbose = false}); }) ==
             "the training data have no end: give them a take(), or set steps_per_epoch");
  BOOST_TEST(message_of<ValueError>([&] {
               evaluate(strategy, model, samples.data().repeat().batch(GlobalBatch{4}));
             }) == "the test data have no end: give them a take(), or set steps");
  BOOST_TEST(message_of<ValueError>([&] { predict(strategy, model, batches.repeat()); }) ==
             "the data to predict have no end: give them a take()");
  BOOST_TEST(model.engine().iteration() == 0u);

  auto const generated = data::from_generator({test::mlp_inputs}, {}, [] {
                           return [i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
                             if (i == 13) return false;
                             std::fill(x.begin(), x.end(), 0.1f);
                             y[0] = i++ % 4;
                             return true;
                           };
                         }).batch(GlobalBatch{4});
  BOOST_TEST(trains(generated, 3) ==
             "the training data ended after 4 batches, but steps_per_epoch = 3 needs 6: repeat() makes them go on");
  BOOST_TEST(trains(generated.prefetch(2), 4) ==
             "the training data ended after 4 batches, but steps_per_epoch = 4 needs 8: repeat() makes them go on");
  BOOST_TEST(message_of<ValueError>([&] { evaluate(strategy, model, generated, {.steps = 5}); }) ==
             "the test data ended after 4 batches, but steps = 5 needs 5: repeat() makes them go on");
  evaluate(strategy, model, generated, {.steps = 4});
  BOOST_TEST(trains(generated.repeat(), 3) == "");
}

// At the first batch of 4 that differs: 14 and 13 samples are as many batches, and 9 are fewer.
BOOST_FIXTURE_TEST_CASE(a_generator_of_another_length_on_one_rank_is_an_error_on_all, Fixture) {
  for (int const length : {14, 9, 0}) {
    auto const generated =
        data::from_generator({test::mlp_inputs}, {}, [=] {
          return [i = 0, n = on_last_rank() ? length : 13](std::span<float> x, std::span<std::int32_t> y) mutable {
            if (i == n) return false;
            std::fill(x.begin(), x.end(), 0.1f);
            y[0] = i++ % 4;
            return true;
          };
        }).batch(GlobalBatch{4});
    if (world().size() == 1) return;
    auto const says = [&](char const* data) {
      return fmt::format(
          "rank {} has drawn {} samples of {} where rank 0 has drawn {}: a generator has to give all "
          "ranks the same samples",
          last_rank(), length, data,
          length == 14  ? 13
          : length == 9 ? 12
                        : 4);
    };
    BOOST_TEST(message_of<ValueError>([&] { evaluate(strategy, model, generated); }) == says("the test data"));
    BOOST_TEST(message_of<ValueError>([&] { predict(strategy, model, generated); }) == says("the data to predict"));
  }
}

// What a cache has read is known before the first batch, so that training does not begin.
BOOST_FIXTURE_TEST_CASE(a_cached_generator_of_another_length_on_one_rank_is_an_error_before_training, Fixture) {
  if (world().size() == 1) return;
  for (int const length : {9, 14}) {
    auto const samples_of_rank = data::from_generator({test::mlp_inputs}, {}, [=] {
      return [i = 0, n = on_last_rank() ? length : 13](std::span<float> x, std::span<std::int32_t> y) mutable {
        if (i == n) return false;
        std::fill(x.begin(), x.end(), 0.1f);
        y[0] = i++ % 4;
        return true;
      };
    });
    auto const says = [&](int drawn, char const* units, int first) {
      return fmt::format(
          "rank {} has drawn {} {} of the training data where rank 0 has drawn {}: a generator has to give all "
          "ranks the same samples",
          last_rank(), drawn, units, first);
    };
    auto const error = [&](auto const& data) {
      return message_of<ValueError>([&] { fit(strategy, model, data, {.epochs = 2, .verbose = false}); });
    };
    auto const expected = length == 14 ? says(14, "samples", 13) : says(3, "batches", 4);
    BOOST_TEST(error(samples_of_rank.cache().batch(GlobalBatch{4})) == expected);
    BOOST_TEST(error(samples_of_rank.batch(GlobalBatch{4}).cache()) == expected);
    if (length == 9) BOOST_TEST(error(samples_of_rank.batch(GlobalBatch{4}).take(9).cache()) == expected);
    BOOST_TEST(model.engine().iteration() == 0u);
    // Of a part of the batches the samples are counted at the epoch's end.
    if (length == 14) BOOST_TEST(error(samples_of_rank.batch(GlobalBatch{4}).take(9).cache()) == expected);
  }
}

BOOST_FIXTURE_TEST_CASE(a_path_with_a_value_that_the_first_save_would_not_find_is_an_error_before_training, Fixture) {
  auto const data = samples.data().batch(GlobalBatch{4});
  auto const says = [&](std::size_t frequency, auto&&... callbacks) {
    return message_of<ValueError>([&] {
      fit(strategy, model, data, validation(data),
          {.epochs = 2, .validation_freq = frequency, .class_weight = {}, .verbose = false}, callbacks...);
    });
  };
  ModelCheckpoint<"val_loss"> by_loss{.path = "{val_loss:.2f}.npz"};
  BOOST_TEST(says(2, by_loss) ==
             "ModelCheckpoint: the path '{val_loss:.2f}.npz' has the field 'val_loss', but with validation_freq = 2 "
             "epoch 1 ends without validation");
  ModelCheckpoint<"val_loss"> by_rate{.path = "{learning_rate}.npz"};
  auto const schedule = [](std::size_t, double rate) { return rate; };
  BOOST_TEST(says(1, by_rate, LearningRateScheduler{schedule}) ==
             "ModelCheckpoint: the path '{learning_rate}.npz' has the field 'learning_rate', which a later callback "
             "logs: give that one before it");
  BOOST_TEST(model.engine().iteration() == 0u);
}

BOOST_FIXTURE_TEST_CASE(validation_data_without_a_name_are_called_so_in_messages, Fixture) {
  auto wrong = test::mlp_samples<float>(5, 3);
  wrong.y[4] = 99;
  auto const says = [&](auto const& tests) {
    return message_of<ValueError>([&] {
      fit(strategy, model, samples.data().batch(GlobalBatch{4}), validation(tests.batch(GlobalBatch{5})),
          {.verbose = false});
    });
  };
  BOOST_TEST(says(wrong.data()) == "label 99 at index 4 of the validation data is outside of [0, 4)");
}

BOOST_FIXTURE_TEST_CASE(a_dataset_that_was_moved_is_as_it_was, Fixture) {
  auto data = samples.data();
  auto const moved = std::move(data);
  auto batches = data.batch(GlobalBatch{4});
  auto const of_moved = std::move(batches);
  auto const a = evaluate(strategy, model, batches), b = evaluate(strategy, model, of_moved);
  test::check_same_logs(a, b, 0);
  BOOST_TEST(data.size().value() == moved.size().value());
}

BOOST_FIXTURE_TEST_CASE(validation_data_are_checked_before_any_training, Fixture) {
  auto wrong = test::mlp_samples<float>(5, 3);
  wrong.y[4] = 99;
  auto const text = message_of<ValueError>([&] {
    fit(strategy, model, samples.data().batch(GlobalBatch{4}),
        validation(wrong.data().named("held out").batch(GlobalBatch{4})), {.verbose = false});
  });
  BOOST_TEST(text == "label 99 at index 4 of held out is outside of [0, 4)");
  BOOST_TEST(model.engine().iteration() == 0u);
}

BOOST_FIXTURE_TEST_CASE(class_weights_beside_sample_weights_are_an_error_on_all_ranks, Fixture) {
  auto const text = message_of<ValueError>([&] {
    fit(strategy, model, samples.weighted_data().batch(GlobalBatch{4}), {.class_weight = {1, 2}, .verbose = false});
  });
  BOOST_TEST(contains(text, "class_weight and sample weights"));
}

BOOST_FIXTURE_TEST_CASE(a_path_that_cannot_be_written_is_an_error_of_the_chief_thrown_on_all_ranks, Fixture) {
  std::string const folder = "/proc/no/such/folder/";
  BOOST_TEST(contains(message_of<FileError>([&] { train(samples.data(), CSVLogger{.path = folder + "log.csv"}); }),
                      folder + "log.csv"));
  BOOST_TEST(contains(
      message_of<FileError>([&] { train(samples.data(), ModelCheckpoint<"loss">{.path = folder + "best.npz"}); }),
      folder));
  BOOST_TEST(contains(
      message_of<FileError>([&] { train(samples.data(), BackupAndRestore{.path = folder + "run.npz"}); }), folder));
  BOOST_TEST(contains(message_of<FileError>([&] { model.save_weights(folder + "w.npz"); }), folder));
  BOOST_TEST(contains(message_of<FileError>([&] { plot_model(model, folder + "model.svg"); }), folder));
  BOOST_TEST(model.engine().iteration() == 0u);  // all of it was known before training
}

BOOST_FIXTURE_TEST_CASE(a_name_that_cannot_be_written_is_an_error_of_all_ranks_before_training, Fixture) {
  for (char const* path : {"model.h5", "model.keras", "model.hdf5", "model", "{epoch}-{loss:.2f}.h5"})
    BOOST_TEST(message_of<FileError>([&] { train(samples.data(), ModelCheckpoint<"loss">{.path = path}); })
                   .starts_with(fmt::format("{}: ModelCheckpoint cannot write it, since it is no name of a file of "
                                            "weights, which ends in ",
                                            path)));
  BOOST_TEST(message_of<FileError>([&] {
               train(samples.data(), BackupAndRestore{.path = "run"});
             }).starts_with("run: BackupAndRestore cannot write it, since it is no name of a checkpoint"));
  BOOST_TEST(message_of<FileError>([&] {
               model.save_weights("model.h5");
             }).starts_with("model.h5: is no name of a file of weights, which ends in "));
  BOOST_TEST(contains(message_of<ValueError>([&] { train(samples.data(), CSVLogger{.path = "a", .separator = ""}); }),
                      "the separator ''"));
  BOOST_TEST(model.engine().iteration() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_not_there_is_an_error_on_all_ranks_and_changes_nothing, Fixture) {
  auto const before = test::weight_bits(model);
  for (char const* path : {"/no/such/file.npz", "/no/such/file.weights.h5"})
    BOOST_TEST(contains(message_of<FileError>([&] { model.load_weights(path); }), path));
  BOOST_TEST(test::weight_bits(model) == before);
}

BOOST_FIXTURE_TEST_CASE(after_an_error_the_same_model_trains, Fixture) {
  auto wrong = samples;
  wrong.y[0] = -3;
  message_of<ValueError>([&] { train(wrong.data()); });
  train(samples.data());
  BOOST_TEST(model.engine().iteration() == 4u);
  test::check_equal_on_all(world(), model);
}

BOOST_FIXTURE_TEST_CASE(an_error_that_all_ranks_throw_by_themselves_is_caught_and_training_goes_on, Fixture) {
  for (std::size_t fails : {0u, 2u}) {
    auto const message = fmt::format("no more on rank {}", world().rank());
    BOOST_CHECK_EXCEPTION(
        train(samples.data(), LambdaCallback{.on_train_batch_end =
                                                 [&](auto& run) {
                                                   if (run.batch() != fails) return;
                                                   if (on_last_rank())  // the others wait for it
                                                     std::this_thread::sleep_for(std::chrono::milliseconds(50));
                                                   throw std::runtime_error(message);
                                                 }}),
        std::runtime_error, [&](auto const& error) { return error.what() == message; });
    BOOST_TEST(world().allreduce_and(true).value());
  }
  train(samples.data());
  test::check_equal_on_all(world(), model);
}

BOOST_FIXTURE_TEST_CASE(a_call_within_a_hook_that_would_change_the_totals_is_an_error_on_all_ranks, Fixture) {
  auto const data = samples.data().batch(GlobalBatch{4});
  auto const evaluates = [&](auto&) { evaluate(strategy, model, data); };
  BOOST_TEST(message_of<ValueError>([&] {
               train(samples.data(), LambdaCallback{.on_train_batch_end = [&](auto&) { train(samples.data()); }});
             }).starts_with("'fit' was called within 'fit' of the same model, "));
  BOOST_TEST(message_of<ValueError>([&] {
               train(samples.data(), LambdaCallback{.on_train_batch_begin = [&](auto&) {
                       model.train_on_batch(samples.x, samples.y);
                     }});
             }).starts_with("'train_on_batch' was called within 'fit' of the same model, "));
  BOOST_TEST(message_of<ValueError>([&] {
               evaluate(strategy, model, data, {}, LambdaCallback{.on_test_batch_end = evaluates});
             }).starts_with("'evaluate' was called within 'evaluate' of the same model, "));
  train(samples.data(), LambdaCallback{.on_train_batch_end = evaluates});
  test::check_equal_on_all(world(), model);
}
