#define BOOST_TEST_MODULE callbacks_tensor_board
#include <boost/test/unit_test.hpp>

#include "trireme/callbacks/tensor_board.hpp"

#ifndef TRIREME_HAVE_PROTOZERO

BOOST_AUTO_TEST_CASE(a_build_without_protozero_has_its_options) {
  trireme::TensorBoard const board{.log_dir = "logs", .update_freq = 10};
  BOOST_TEST(board.update_freq.batches == 10u);
}

#else

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "trireme/core/error.hpp"

#include "../io/event_records.hpp"
#include "../io/folder.hpp"
#include "scripted_run.hpp"

namespace tr = trireme;
using tr::test::uniform;

namespace {

struct ScriptedRun : tr::test::ScriptedRun {
  std::uint64_t step() const { return step_now; }
  std::uint64_t step_now = 0;
};

struct Point {
  std::string tag{};
  std::uint64_t step = 0;
  double value = 0;
  bool operator==(Point const&) const = default;
};
std::ostream& operator<<(std::ostream& out, Point const& point) {
  return out << point.tag << ' ' << point.step << ' ' << point.value;
}

/// Where the boards of a test write.
struct Board : tr::test::Folder {
  std::string log_dir() const { return file("logs"); }

  std::vector<std::string> files(char const* run) const {
    std::vector<std::string> names;
    if (!std::filesystem::exists(root / "logs" / run)) return names;
    for (auto const& entry : std::filesystem::directory_iterator(root / "logs" / run)) names.push_back(entry.path());
    std::sort(names.begin(), names.end());
    return names;
  }

  /// The warning that events of a run were removed and later ones are kept.
  std::string removed(char const* run) const {
    return "warning: TensorBoard: the events in " + log_dir() + "/" + run +
           " were removed during the run; a new file there has those that follow";
  }

  /// What the file of this number has, after its version.
  std::vector<Point> points(char const* run, std::size_t number = 0) const {
    auto const names = files(run);
    BOOST_TEST_REQUIRE(number < names.size());
    auto const records = tr::test::read_records(tr::test::text_of(names[number]));
    BOOST_TEST_REQUIRE(!records.empty());
    BOOST_TEST(tr::test::decode(records[0]).file_version == "brain.Event:2");
    std::vector<Point> found;
    for (std::size_t i = 1; i < records.size(); ++i) {
      auto const event = tr::test::decode(records[i]);
      found.push_back({event.tag, event.step, event.value});
    }
    return found;
  }
};

/// Epochs of three steps and a test; all values can be floats.
void train_epoch(tr::TensorBoard& board, ScriptedRun& run, std::size_t epoch) {
  double const value = static_cast<double>(epoch);
  run.epoch_now = epoch;
  run.logs().clear();
  board.on_epoch_begin(run);
  for (run.batch_now = 0; run.batch_now < 3; ++run.batch_now) {
    ++run.step_now;
    run.batch_logs.set("loss", uniform(1.5 + value));
    run.batch_logs.set("accuracy", uniform(0.25));
    board.on_train_batch_end(run);
  }
  run.logs().set("loss", uniform(0.5 + value));
  run.logs().set("accuracy", uniform(0.25));
  board.on_test_begin(run);
  run.logs().set("val_loss", uniform(0.75 + value));
  board.on_test_end(run);
  board.on_epoch_end(run);
}

void train(tr::TensorBoard& board, ScriptedRun& run, std::size_t epochs) {
  run.names = {"loss", "accuracy", "val_loss"};
  run.rate = 0.125;
  board.on_train_begin(run);
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) train_epoch(board, run, epoch);
  board.on_train_end(run);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(values_of_epochs_and_tests_are_in_the_folders_and_under_the_tags_of_keras, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  train(board, run, 2);
  std::vector<Point> const on_train{
      {"epoch_loss", 0, 0.5}, {"epoch_accuracy", 0, 0.25}, {"epoch_learning_rate", 0, 0.125},
      {"epoch_loss", 1, 1.5}, {"epoch_accuracy", 1, 0.25}, {"epoch_learning_rate", 1, 0.125}};
  std::vector<Point> const on_validation{{"evaluation_loss_vs_iterations", 3, 0.75},
                                         {"epoch_loss", 0, 0.75},
                                         {"evaluation_loss_vs_iterations", 6, 1.75},
                                         {"epoch_loss", 1, 1.75}};
  BOOST_TEST(points("train") == on_train, boost::test_tools::per_element());
  BOOST_TEST(points("validation") == on_validation, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(running_values_are_asked_for_at_every_so_many_steps_only, Board) {
  tr::TensorBoard board{.log_dir = log_dir(), .update_freq = 2};
  ScriptedRun run;
  run.step_now = 10;  // of an earlier fit
  train(board, run, 1);
  std::vector<Point> const expected{{"batch_loss", 12, 1.5},
                                    {"batch_accuracy", 12, 0.25},
                                    {"epoch_loss", 0, 0.5},
                                    {"epoch_accuracy", 0, 0.25},
                                    {"epoch_learning_rate", 0, 0.125}};
  BOOST_TEST(points("train") == expected, boost::test_tools::per_element());
  BOOST_TEST(run.collectives == 5u);  // beginning; values of the batch and their writing; test; epoch
}

BOOST_FIXTURE_TEST_CASE(no_batch_costs_a_collective_if_epochs_alone_are_written, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  train(board, run, 1);
  BOOST_TEST(run.collectives == 3u);
}

BOOST_FIXTURE_TEST_CASE(an_epoch_is_in_the_file_when_it_ends_and_another_fit_has_a_file_of_its_own, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  board.on_train_begin(run);
  train_epoch(board, run, 0);
  BOOST_TEST(points("train").size() == 3u);
  train_epoch(board, run, 1);
  BOOST_TEST(points("train").size() == 6u);
  BOOST_TEST(points("validation").size() == 4u);
  train(board, run, 1);  // the first did not end
  BOOST_TEST(files("train").size() == 2u);
  BOOST_TEST(points("train", 0).size() == 6u);
  BOOST_TEST(points("train", 1).size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_rate_that_is_logged_before_it_changes_is_written_as_it_is_now, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  board.on_train_begin(run);
  run.logs().set("learning_rate", uniform(1));
  run.rate = 0.5;
  board.on_epoch_end(run);
  std::vector<Point> const expected{{"epoch_learning_rate", 0, 0.5}};
  BOOST_TEST(points("train") == expected, boost::test_tools::per_element());
  BOOST_TEST(files("validation").empty());  // a fit without validation
}

BOOST_FIXTURE_TEST_CASE(evaluation_alone_writes_its_values_over_the_steps_made, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  run.step_now = 6;
  run.epoch_count = 0;
  board.on_test_begin(run);
  run.logs().set("loss", uniform(0.5));
  board.on_test_end(run);
  std::vector<Point> const expected{{"evaluation_loss_vs_iterations", 6, 0.5}};
  BOOST_TEST(points("validation") == expected, boost::test_tools::per_element());
  BOOST_TEST(files("train").empty());
}

BOOST_FIXTURE_TEST_CASE(evaluation_after_a_fit_that_an_error_left_writes_its_values, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run, evaluation;
  board.on_train_begin(run);
  evaluation.step_now = 2;
  evaluation.epoch_count = 0;
  board.on_test_begin(evaluation);
  evaluation.logs().set("loss", uniform(0.5));
  board.on_test_end(evaluation);
  std::vector<Point> const expected{{"evaluation_loss_vs_iterations", 2, 0.5}};
  BOOST_TEST(points("validation") == expected, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(steps_per_second_are_written_where_asked_for, Board) {
  tr::TensorBoard board{.log_dir = log_dir(), .update_freq = tr::UpdateFreq::batch, .write_steps_per_second = true};
  ScriptedRun run;
  train(board, run, 1);
  std::map<std::string, std::size_t> count;
  for (auto const& point : points("train")) {
    ++count[point.tag];
    if (point.tag.ends_with("steps_per_second")) BOOST_TEST(point.value > 1);
  }
  BOOST_TEST(count["batch_steps_per_second"] == 3u);
  BOOST_TEST(count["epoch_steps_per_second"] == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_folder_that_cannot_be_written_to_is_an_error_before_training, Board) {
  std::ofstream(log_dir()) << "a file";
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  BOOST_TEST(tr::test::message_of<tr::FileError>([&] { board.on_train_begin(run); }) ==
             log_dir() + "/train: the folder cannot be made: Not a directory");
}

BOOST_FIXTURE_TEST_CASE(a_folder_removed_during_training_is_made_again_with_a_warning, Board) {
  tr::TensorBoard board{.log_dir = log_dir(), .update_freq = 3};
  ScriptedRun run;
  run.names = {"loss", "accuracy", "val_loss"};
  run.rate = 0.125;
  board.on_train_begin(run);
  train_epoch(board, run, 0);
  BOOST_TEST(run.messages.empty());
  std::filesystem::remove_all(root / "logs");
  train_epoch(board, run, 1);
  std::vector<Point> const on_train{{"batch_loss", 6, 2.5},
                                    {"batch_accuracy", 6, 0.25},
                                    {"epoch_loss", 1, 1.5},
                                    {"epoch_accuracy", 1, 0.25},
                                    {"epoch_learning_rate", 1, 0.125}};
  std::vector<Point> const on_validation{{"evaluation_loss_vs_iterations", 6, 1.75}, {"epoch_loss", 1, 1.75}};
  BOOST_TEST(points("train") == on_train, boost::test_tools::per_element());
  BOOST_TEST(points("validation") == on_validation, boost::test_tools::per_element());
  std::vector<std::string> const warnings{removed("train"), removed("validation")};
  BOOST_TEST(run.messages == warnings, boost::test_tools::per_element());
  train_epoch(board, run, 2);
  board.on_train_end(run);
  BOOST_TEST(run.messages.size() == 2u);
  BOOST_TEST(points("train").size() == 10u);
  BOOST_TEST(points("validation").size() == 4u);
}

BOOST_FIXTURE_TEST_CASE(an_event_file_removed_or_moved_during_training_is_begun_anew_with_a_warning, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  board.on_train_begin(run);
  train_epoch(board, run, 0);
  std::filesystem::remove(files("train").at(0));
  train_epoch(board, run, 1);
  BOOST_TEST(files("train").size() == 1u);
  BOOST_TEST(points("train").size() == 3u);
  BOOST_TEST(run.messages == std::vector{removed("train")}, boost::test_tools::per_element());
  std::filesystem::rename(root / "logs", root / "kept");
  train_epoch(board, run, 2);
  BOOST_TEST(points("train").size() == 3u);
  BOOST_TEST(points("validation").size() == 2u);
  BOOST_TEST(run.messages.size() == 3u);
}

BOOST_FIXTURE_TEST_CASE(a_folder_that_cannot_be_made_again_is_one_warning_and_no_end_of_training, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  run.names = {"loss", "accuracy"};
  run.rate = 0.125;
  board.on_train_begin(run);
  std::filesystem::remove_all(root / "logs");
  std::ofstream(log_dir()) << "a file";
  for (std::size_t epoch = 0; epoch < 2; ++epoch) board.on_epoch_end(run);
  std::vector<std::string> const warnings{"warning: TensorBoard: the events in " + log_dir() +
                                          "/train were removed during the run, and later ones are lost too: " +
                                          log_dir() + "/train: the folder cannot be made: Not a directory"};
  BOOST_TEST(run.messages == warnings, boost::test_tools::per_element());
  std::filesystem::remove(root / "logs");
  run.epoch_now = 2;
  board.on_epoch_end(run);
  std::vector<Point> const later{{"epoch_learning_rate", 2, 0.125}};
  BOOST_TEST(points("train") == later, boost::test_tools::per_element());
  BOOST_TEST(run.messages.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_a_full_disk_does_not_let_begin_again_leaves_nothing_and_is_one_warning, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  run.names = {"loss"};
  run.rate = 0.125;
  board.on_train_begin(run);
  std::filesystem::remove_all(root / "logs");
  {
    tr::test::FileSizeLimit const full(0);
    for (run.epoch_now = 0; run.epoch_now < 3; ++run.epoch_now) board.on_epoch_end(run);
  }
  BOOST_TEST(files("train").empty());
  BOOST_TEST_REQUIRE(run.messages.size() == 1u);
  BOOST_TEST(run.messages[0].starts_with("warning: TensorBoard: the events in " + log_dir() +
                                         "/train were removed during the run, and later ones are lost too: "));
  BOOST_TEST(run.messages[0].ends_with(": cannot be written: File too large"));
  board.on_epoch_end(run);
  BOOST_TEST(files("train").size() == 1u);
  BOOST_TEST(points("train") == std::vector<Point>({{"epoch_learning_rate", 3, 0.125}}),
             boost::test_tools::per_element());
  BOOST_TEST(run.messages.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_disk_that_fills_up_during_training_costs_the_events_of_that_time_and_one_warning, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  run.names = {"loss"};
  run.rate = 0.125;
  board.on_train_begin(run);
  board.on_epoch_end(run);
  std::string const file = files("train").at(0);
  {
    tr::test::FileSizeLimit const full(std::filesystem::file_size(file) + 10);  // a part of a record
    for (run.epoch_now = 1; run.epoch_now < 3; ++run.epoch_now) board.on_epoch_end(run);
  }
  std::string const warning = "warning: TensorBoard: events in " + log_dir() +
                              "/train cannot be written, and are lost until they can: " + file +
                              ": cannot be written: File too large";
  BOOST_TEST(run.messages == std::vector{warning}, boost::test_tools::per_element());
  board.on_epoch_end(run);
  std::vector<Point> const expected{{"epoch_learning_rate", 0, 0.125}, {"epoch_learning_rate", 3, 0.125}};
  BOOST_TEST(files("train").size() == 1u);
  BOOST_TEST(points("train") == expected, boost::test_tools::per_element());
  BOOST_TEST(run.messages.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_folder_that_is_removed_to_make_room_is_a_warning_too, Board) {
  tr::TensorBoard board{.log_dir = log_dir()};
  ScriptedRun run;
  run.names = {"loss"};
  board.on_train_begin(run);
  {
    tr::test::FileSizeLimit const full(std::filesystem::file_size(files("train").at(0)));
    board.on_epoch_end(run);
  }
  std::filesystem::remove_all(root / "logs");
  board.on_epoch_end(run);
  BOOST_TEST_REQUIRE(run.messages.size() == 2u);
  BOOST_TEST(run.messages[1] == "warning: TensorBoard: the events in " + log_dir() +
                                    "/train were removed during the run; a new file there has those that follow");
}

BOOST_FIXTURE_TEST_CASE(only_the_chief_writes, Board) {
  tr::TensorBoard board{.log_dir = log_dir(), .update_freq = 2};
  ScriptedRun run;
  run.is_chief = false;
  run.step_now = 10;
  train(board, run, 1);
  BOOST_TEST(!std::filesystem::exists(log_dir()));
  BOOST_TEST(run.collectives == 5u);  // as many as on the chief
}

BOOST_FIXTURE_TEST_CASE(tensorboard_itself_finds_the_tags_steps_and_values, Board) {
  if (std::system("python3 -c 'import tensorboard' 2> /dev/null") != 0) {
    std::puts("not compared with TensorBoard's own reader: python3 has no module tensorboard here");
    return;
  }
  tr::TensorBoard board{.log_dir = log_dir(), .update_freq = 2};
  ScriptedRun run;
  train(board, run, 2);
  std::string const output = file("found");
  std::string const command =
      "python3 " TRIREME_TESTS_DIRECTORY "/unit/callbacks/read_events.py " + log_dir() + " > " + output;
  BOOST_TEST_REQUIRE(std::system(command.c_str()) == 0);
  BOOST_TEST(tr::test::text_of(output) ==
             "train batch_accuracy 2 0.25\ntrain batch_accuracy 4 0.25\ntrain batch_accuracy 6 0.25\n"
             "train batch_loss 2 1.5\ntrain batch_loss 4 2.5\ntrain batch_loss 6 2.5\n"
             "train epoch_accuracy 0 0.25\ntrain epoch_accuracy 1 0.25\n"
             "train epoch_learning_rate 0 0.125\ntrain epoch_learning_rate 1 0.125\n"
             "train epoch_loss 0 0.5\ntrain epoch_loss 1 1.5\n"
             "validation epoch_loss 0 0.75\nvalidation epoch_loss 1 1.75\n"
             "validation evaluation_loss_vs_iterations 3 0.75\nvalidation evaluation_loss_vs_iterations 6 1.75\n");
}

#endif
