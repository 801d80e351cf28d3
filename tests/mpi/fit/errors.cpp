// ranks: 1 2 3 4
// Law 6: what is wrong with the data is thrown on all ranks, as one sentence, and nothing hangs.
#define BOOST_TEST_MODULE errors
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <string>

#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/data/from_local_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/compile.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/multi_worker_mirrored.hpp"

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

/// What f throws; the same on every rank, so that each can end in order.
template <class E, class F>
std::string message_of(F&& f) {
  std::string message;
  try {
    f();
  } catch (E const& error) {
    BOOST_TEST(error.uniform());
    message = error.what();
  }
  std::string of_chief = message;
  world().broadcast(of_chief);
  BOOST_TEST(message == of_chief);
  return message;
}

bool contains(std::string const& text, std::string const& part) { return text.find(part) != std::string::npos; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_label_out_of_range_is_named_on_all_ranks, Fixture) {
  samples.y[11] = 4;
  auto const text = message_of<ValueError>([&] { train(samples.data().named("digits")); });
  BOOST_TEST(text == "label 4 at index 11 of digits is outside of [0, 4)");
  BOOST_TEST(model.part().iteration() == 0u);
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
  BOOST_TEST(text == fmt::format("the data of rank {} differ from those of rank 0; for data that each rank owns, use "
                                 "from_local_slices",
                                 last_rank()));
}

BOOST_FIXTURE_TEST_CASE(data_of_other_length_on_one_rank_are_an_error_on_all_ranks, Fixture) {
  if (world().size() == 1) return;
  if (on_last_rank()) samples = test::mlp_samples<float>(12);
  BOOST_TEST(contains(message_of<Error>([&] { train(samples.data()); }),
                      fmt::format("the data of rank {} differ", last_rank())));
}

BOOST_FIXTURE_TEST_CASE(validation_data_are_checked_before_any_training, Fixture) {
  auto wrong = test::mlp_samples<float>(5, 3);
  wrong.y[4] = 99;
  auto const text = message_of<ValueError>([&] {
    fit(strategy, model, samples.data().batch(GlobalBatch{4}),
        validation(wrong.data().named("held out").batch(GlobalBatch{4})), {.verbose = false});
  });
  BOOST_TEST(text == "label 99 at index 4 of held out is outside of [0, 4)");
  BOOST_TEST(model.part().iteration() == 0u);
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
  BOOST_TEST(contains(message_of<FileError>([&] { model.save_weights(folder + "w.npz"); }), folder));
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
  BOOST_TEST(model.part().iteration() == 4u);
  test::check_equal_on_all(world(), model);
}
