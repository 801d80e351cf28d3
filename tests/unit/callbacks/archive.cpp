#define BOOST_TEST_MODULE callbacks_archive
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "trireme/callbacks/archive.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/history.hpp"
#include "trireme/callbacks/learning_rate_scheduler.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/progress.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"
#include "trireme/core/error.hpp"

#include "scripted_run.hpp"
#include "support/archived_engine.hpp"
#include "unit/io/folder.hpp"

namespace tr = trireme;
using tr::test::message_of;

namespace {

using tr::test::ArchivedEngine;
using Archive = tr::Archive<ArchivedEngine>;
static_assert(tr::ResumableEngine<ArchivedEngine>);

ArchivedEngine engine;

/// What `to` is after it has been given the state of `from`.
template <class V>
V& restore(V& from, V& to) {
  Archive saving(engine, "run.h5");
  saving("it", from);
  Archive loading(engine, "run.h5", saving.tensors());
  loading("it", to);
  loading.require_complete();
  return to;
}

enum class Colour { red, green };
struct Own {
  Colour colour = Colour::red;
  bool flag = false;
  std::int8_t small = 0;
  std::uint64_t large = 0;
  float single = 0;
  double exact = 0;
  std::string text{};
  std::optional<double> perhaps{};
  std::optional<std::string> absent{"x"};
  std::vector<std::string> names{};
  std::vector<float> values{};
  std::vector<std::pair<std::string, std::vector<double>>> series{};
  struct Inner {
    long count = 0;
    template <class A>
    void state(A& archive) {
      archive("count", count);
    }
  } inner{};

  template <class A>
  void state(A& archive) {
    archive("colour", colour);
    archive("flag", flag);
    archive("small", small);
    archive("large", large);
    archive("single", single);
    archive("exact", exact);
    archive("text", text);
    archive("perhaps", perhaps);
    archive("absent", absent);
    archive("names", names);
    archive("values", values);
    archive("series", series);
    archive("inner", inner);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(values_of_all_kinds_come_back_to_the_bit) {
  Own from;
  from.colour = Colour::green;
  from.flag = true;
  from.small = -100;
  from.large = ~std::uint64_t{0};
  from.single = 0.1f;
  from.exact = std::numeric_limits<double>::denorm_min();
  from.text = "a\0b\nc";
  from.perhaps = -std::numeric_limits<double>::infinity();
  from.absent.reset();
  from.names = {"", "two words", "ü"};
  from.values = {0.1f, -0.0f};
  from.series = {{"loss", {0.1, 0.2}}, {"none", {}}};
  from.inner.count = -5;
  Own to;
  to.names = {"longer", "than", "that", "one"};
  restore(from, to);
  BOOST_TEST((to.colour == Colour::green));
  BOOST_TEST(to.flag);
  BOOST_TEST(to.small == -100);
  BOOST_TEST(to.large == from.large);
  BOOST_TEST(to.single == 0.1f);
  BOOST_TEST(to.exact == from.exact);
  BOOST_TEST(to.text == from.text);
  BOOST_TEST((to.perhaps == from.perhaps));
  BOOST_TEST(!to.absent.has_value());
  BOOST_TEST((to.names == from.names));
  BOOST_TEST((to.values == from.values));
  BOOST_TEST(std::signbit(to.values[1]));
  BOOST_TEST((to.series == from.series));
  BOOST_TEST(to.inner.count == -5);
}

BOOST_AUTO_TEST_CASE(a_callback_goes_on_as_the_one_whose_state_it_was_given) {
  // Twice the same run: once by one callback, once by one after the other.
  std::vector<double> const values{3, 2, 2.5, 2.6, 1.9, 2, 2.1, 2.2, 2.3, 2.4};
  for (std::size_t kill = 0; kill < values.size(); ++kill) {
    using Stopping = tr::EarlyStopping<"val_loss">;
    using Plateau = tr::ReduceLROnPlateau<"val_loss">;
    using Checkpoint = tr::ModelCheckpoint<"val_loss">;
    auto const made = [] {
      return std::tuple<Stopping, Plateau, Checkpoint, tr::History>{
          Stopping{.patience = 3, .restore_best_weights = true}, Plateau{.factor = 0.5, .patience = 2, .cooldown = 2},
          Checkpoint{.path = "{epoch}.npz", .save_best_only = true}, tr::History{}};
    };
    auto whole = made(), first = made(), second = made();
    tr::test::ScriptedRun run, halves;
    std::vector<bool> stops, stops_of_halves;
    auto const begin = [](auto& callbacks, auto& r) {
      r.names = {"val_loss"};
      std::get<0>(callbacks).on_train_begin(r);
      std::get<1>(callbacks).on_train_begin(r);
      std::get<2>(callbacks).on_train_begin(r);
    };
    auto const epoch = [&](auto& callbacks, auto& r, std::size_t e, std::vector<bool>& stop) {
      r.epoch_now = e;
      r.weights = static_cast<int>(10 * e);
      r.logs().clear();
      r.logs().set("val_loss", tr::test::uniform(values[e]));
      stop.push_back(std::get<0>(callbacks).on_epoch_end(r).value() == tr::Control::stop);
      std::get<1>(callbacks).on_epoch_end(r);
      std::get<2>(callbacks).on_epoch_end(r);
      std::get<3>(callbacks).on_epoch_end(r);
    };
    begin(whole, run);
    begin(first, halves);
    begin(second, halves);
    for (std::size_t e = 0; e < values.size(); ++e) {
      epoch(whole, run, e, stops);
      if (e == kill) restore(first, second);
      epoch(e < kill ? first : second, halves, e, stops_of_halves);
    }
    BOOST_TEST((stops == stops_of_halves));
    BOOST_TEST(run.rate == halves.rate);
    BOOST_TEST(run.rate < 1);
    BOOST_TEST((run.saved == halves.saved));
    BOOST_TEST((std::get<3>(whole).values == std::get<3>(second).values));
    BOOST_TEST((std::get<3>(whole).epochs == std::get<3>(second).epochs));
    std::get<0>(whole).on_train_end(run);
    std::get<0>(second).on_train_end(halves);
    BOOST_TEST(run.weights == 40);
    BOOST_TEST(halves.weights == 40);
  }
}

BOOST_AUTO_TEST_CASE(a_log_of_a_resumed_run_has_no_line_twice) {
  tr::test::Folder folder;
  tr::CSVLogger first{.path = folder.file("log.csv")}, second{.path = folder.file("log.csv")};
  tr::test::ScriptedRun run;
  run.names = {"loss"};
  auto const epoch = [&](tr::CSVLogger& logger, std::size_t e) {
    run.epoch_now = e;
    run.logs().set("loss", tr::test::uniform(static_cast<double>(e)));
    logger.on_epoch_end(run);
  };
  first.on_train_begin(run);
  epoch(first, 0);
  Archive saving(engine, "run.h5");
  saving("it", first);
  epoch(first, 1);  // after the checkpoint: a resumed run does this once more
  epoch(first, 2);
  second.on_train_begin(run);
  Archive loading(engine, "run.h5", saving.tensors());
  loading("it", second);
  epoch(second, 1);
  BOOST_TEST(tr::test::text_of(folder.file("log.csv")) == "epoch,loss\n0,0\n1,1\n");
}

BOOST_AUTO_TEST_CASE(a_schedule_that_remembers_something_is_asked_for_it) {
  struct Schedule {
    int calls = 0;
    double operator()(std::size_t) { return 1.0 / ++calls; }
    void state(Archive& archive) { archive("calls", calls); }
  };
  tr::LearningRateScheduler<Schedule> first{.schedule = {.calls = 7}}, second{.schedule = {}};
  BOOST_TEST(restore(first, second).schedule.calls == 7);
}

BOOST_AUTO_TEST_CASE(callbacks_without_a_state_take_no_place_and_other_callbacks_are_an_error) {
  tr::TerminateOnNaN none;
  tr::EarlyStopping<> stopping{.wait = 2};
  tr::ReduceLROnPlateau<> plateau{.wait = 3};
  auto saved = std::tie(none, stopping, plateau);
  Archive saving(engine, "run.h5");
  saving("callbacks", saved);

  auto swapped = std::tie(none, plateau, stopping);
  auto fewer = std::tie(none, stopping);
  Archive a(engine, "run.h5", saving.tensors()), b(engine, "run.h5", saving.tensors());
  BOOST_TEST(
      message_of<tr::FileError>([&] { a("callbacks", swapped); }) ==
      "run.h5: has no value 'callbacks/0/cooldown_counter': a run goes on with the strategy, validation and callbacks "
      "that it had, these in their order");
  b("callbacks", fewer);
  BOOST_TEST(message_of<tr::FileError>([&] { b.require_complete(); }).starts_with("run.h5: holds "));
}

BOOST_AUTO_TEST_CASE(what_has_to_be_the_same_and_is_not_is_named) {
  Archive saving(engine, "run.h5");
  saving.same("is of another model", "model", std::uint64_t{1});
  saving.same("was placed otherwise", "placement", std::string("4 processes"));
  Archive loading(engine, "run.h5", saving.tensors());
  BOOST_TEST(message_of<tr::FileError>([&] { loading.same("is of another model", "model", std::uint64_t{2}); }) ==
             "run.h5: holds a run that is of another model");
  BOOST_TEST(message_of<tr::FileError>([&] {
               loading.same("was placed otherwise", "placement", std::string("2 processes"));
             }) == "run.h5: holds a run that was placed otherwise: 4 processes there, and 2 processes here");
}

BOOST_AUTO_TEST_CASE(a_run_that_was_placed_otherwise_goes_on_where_it_may_and_keeps_its_sums) {
  tr::SingleProcess const one;
  std::vector<double> four{1, 2, 10, 20, 100, 200, 1000, 2000};
  Archive saving(engine, "run.h5");
  saving.placed("was placed otherwise", "placement", one, "4 partitions");
  saving.summands("sums", one, four, 2);
  BOOST_TEST(!saving.moved());

  Archive same(engine, "run.h5", saving.tensors());
  std::vector<double> again(8);
  same.placed("was placed otherwise", "placement", one, "4 partitions");
  same.summands("sums", one, again, 2);
  BOOST_TEST((again == four));
  BOOST_TEST(!same.moved());

  Archive refused(engine, "run.h5", saving.tensors());
  refused.placed("was placed otherwise", "placement", one, "3 partitions");
  BOOST_TEST(message_of<tr::FileError>([&] { refused.require_placement(); }) ==
             "run.h5: holds a run that was placed otherwise: 4 partitions there, and 3 partitions here; "
             "BackupAndRestore{.placement = Placement::any} goes on here, where results no longer agree to the bit");
  for (std::size_t const partitions : {1u, 3u, 5u}) {
    Archive moved(engine, "run.h5", saving.tensors(), tr::Placement::any);
    std::vector<double> own(2 * partitions, 7.0), expected(2 * partitions, 0.0);
    expected[0] = 1111, expected[1] = 2222;
    moved.placed("was placed otherwise", "placement", one, std::to_string(partitions) + " partitions");
    moved.summands("sums", one, own, 2);
    BOOST_TEST((own == expected));
    BOOST_TEST(moved.moved());
    moved.require_placement();
  }
  std::vector<double> three(6);
  Archive damaged(engine, "run.h5", saving.tensors());
  damaged.placed("was placed otherwise", "placement", one, "4 partitions");
  BOOST_TEST(message_of<tr::FileError>([&] { damaged.summands("sums", one, three, 2); }) ==
             "run.h5: has 8 values 'sums' in place of 6");
}

BOOST_AUTO_TEST_CASE(an_epoch_that_was_begun_is_ended_even_if_training_is_to_stop) {
  tr::Progress at{.epoch = 2, .batch = 1, .stop = true};
  BOOST_TEST(at.goes_on(3));
  at.end_epoch();
  BOOST_TEST(!at.goes_on(10));
  tr::Progress to;
  BOOST_TEST(restore(at, to).epoch == 3u);
  BOOST_TEST(to.stop);
}
