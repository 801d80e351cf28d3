#define BOOST_TEST_MODULE callbacks_csv_logger
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <tuple>
#include <vector>

#include <unistd.h>

#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/dispatch.hpp"
#include "trireme/callbacks/hooks.hpp"

#include "scripted_run.hpp"

namespace tr = trireme;
using tr::test::ScriptedRun;
using tr::test::uniform;

namespace {

struct Folder {
  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("trireme_csv_" + std::to_string(static_cast<long>(getpid())));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string file() const { return (path / "log.csv").string(); }
};

std::string text_of(std::string const& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

void train(tr::CSVLogger& logger, ScriptedRun& run, std::size_t first, std::size_t last) {
  run.names = {"loss", "accuracy", "val_loss"};
  logger.on_train_begin(run);
  for (std::size_t epoch = first; epoch < last; ++epoch) {
    run.epoch_now = epoch;
    run.logs().clear();
    run.logs().set("loss", uniform(0.1 * static_cast<double>(epoch)));
    run.logs().set("accuracy", uniform(0.5));
    if (epoch % 2 == 1) run.logs().set("val_loss", uniform(1.25));
    logger.on_epoch_end(run);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(each_epoch_is_a_line_and_a_missing_value_is_na, Folder) {
  tr::CSVLogger logger{.path = file()};
  ScriptedRun run;
  train(logger, run, 0, 2);
  BOOST_TEST(text_of(file()) == "epoch,accuracy,loss,val_loss\n0,0.5,0,NA\n1,0.5,0.1,1.25\n");
  train(logger, run, 0, 1);
  BOOST_TEST(text_of(file()) == "epoch,accuracy,loss,val_loss\n0,0.5,0,NA\n");
}

BOOST_FIXTURE_TEST_CASE(appending_goes_on_under_the_header_that_is_there, Folder) {
  std::ofstream(file()) << "epoch;val_loss;loss;accuracy;seconds\n0;1;2;3;4\n";
  tr::CSVLogger logger{.path = file(), .separator = ";", .append = true};
  ScriptedRun run;
  train(logger, run, 1, 2);
  BOOST_TEST(text_of(file()) == "epoch;val_loss;loss;accuracy;seconds\n0;1;2;3;4\n1;1.25;0.1;0.5;NA\n");
}

BOOST_FIXTURE_TEST_CASE(a_header_without_a_column_of_this_run_is_refused, Folder) {
  std::ofstream(file()) << "epoch,loss,val_loss\n";
  tr::CSVLogger logger{.path = file(), .append = true};
  ScriptedRun run;
  BOOST_CHECK_EXCEPTION(train(logger, run, 0, 1), tr::FileError, [&](tr::FileError const& error) {
    return std::string(error.what()) == file() + ": cannot be appended to, since it has no column 'accuracy'";
  });
}

BOOST_FIXTURE_TEST_CASE(a_folder_that_is_not_there_is_an_error_before_training, Folder) {
  tr::CSVLogger logger{.path = (path / "absent" / "log.csv").string()};
  ScriptedRun run;
  BOOST_CHECK_EXCEPTION(tr::try_outputs(std::tie(logger), run), tr::FileError, [&](tr::FileError const& error) {
    return std::string(error.what()) ==
           logger.path + ": CSVLogger cannot write it, since there is no folder " + (path / "absent").string();
  });
}

BOOST_FIXTURE_TEST_CASE(a_separator_that_could_be_in_a_number_or_a_name_is_an_error_before_training, Folder) {
  std::ofstream(file()) << "epoch,loss\n0,1\n";
  ScriptedRun run;
  for (char const* separator : {"", ",,", "\"", "\n", "\r", "1", ".", "-", "+", "e", "N"}) {
    tr::CSVLogger logger{.path = file(), .separator = separator, .append = true};
    BOOST_CHECK_EXCEPTION(tr::try_outputs(std::tie(logger), run), tr::ValueError, [&](tr::ValueError const& error) {
      return error.uniform() &&
             std::string(error.what()) == std::string("CSVLogger: the separator '") + separator +
                                              "' is not one character that is in no number, such as ',', ';' or a tab";
    });
  }
  for (char const* separator : {",", ";", "\t", "|", " ", ":"}) {
    tr::CSVLogger const logger{.path = file(), .separator = separator};
    tr::try_outputs(std::tie(logger), run);
  }
  BOOST_TEST(text_of(file()) == "epoch,loss\n0,1\n");
}

BOOST_FIXTURE_TEST_CASE(a_file_that_cannot_be_appended_to_is_an_error_before_training, Folder) {
  std::ofstream(file()) << "epoch,loss\n";
  tr::CSVLogger logger{.path = file(), .append = true};
  ScriptedRun run;
  run.names = {"loss", "accuracy"};
  BOOST_CHECK_THROW(logger.on_train_begin(run), tr::FileError);
}

BOOST_FIXTURE_TEST_CASE(names_with_separators_and_quotes_are_found_again, Folder) {
  ScriptedRun run;
  run.names = {"a,b", "say \"c\"", "loss"};
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    tr::CSVLogger logger{.path = file(), .append = true};
    logger.on_train_begin(run);
    run.epoch_now = epoch;
    for (double value = 1; auto const& name : run.names) run.logs().set(name, uniform(value++));
    logger.on_epoch_end(run);
  }
  BOOST_TEST(text_of(file()) == "epoch,\"a,b\",loss,\"say \"\"c\"\"\"\n0,1,3,2\n1,1,3,2\n");
}

BOOST_FIXTURE_TEST_CASE(a_line_that_was_cut_short_stays_a_line_of_its_own, Folder) {
  std::ofstream(file()) << "epoch,accuracy,loss,val_loss\n0,0.";
  tr::CSVLogger logger{.path = file(), .append = true};
  ScriptedRun run;
  train(logger, run, 1, 2);
  BOOST_TEST(text_of(file()) == "epoch,accuracy,loss,val_loss\n0,0.\n1,0.5,0.1,1.25\n");
}

BOOST_FIXTURE_TEST_CASE(what_is_before_the_log_stays, Folder) {
  std::ofstream(file()) << "\nnotes";
  tr::CSVLogger logger{.path = file(), .append = true};
  ScriptedRun run;
  train(logger, run, 0, 1);
  BOOST_TEST(text_of(file()) == "\nnotes\nepoch,accuracy,loss,val_loss\n0,0.5,0,NA\n");
}

struct Stored {  // an archive
  std::vector<std::string> columns;
  std::uint64_t bytes = 0;
  bool is_read = false;
  void resumed(char const*, bool& flag) { flag = flag || is_read; }
  void operator()(char const* name, auto& value) {
    if constexpr (requires { value = columns; })
      is_read ? void(value = columns) : void(columns = value);
    else if (std::string(name) == "bytes")
      is_read ? void(value = bytes) : void(bytes = value);
  }
};

/// A run of epochs with a loss, whose logger writes a line each.
struct Logged {
  tr::CSVLogger logger;
  ScriptedRun run{};

  Logged(std::string const& file, bool append) : logger{.path = file, .append = append} {
    run.names = {"loss"};
    logger.on_train_begin(run);
  }
  Stored saved() {
    Stored checkpoint;
    logger.state(checkpoint);
    return checkpoint;
  }
  void resume(Stored checkpoint) {
    checkpoint.is_read = true;
    logger.state(checkpoint);
  }
  void epoch(std::size_t number, double loss) {
    run.epoch_now = number;
    run.logs().set("loss", uniform(loss));
    logger.on_epoch_end(run);
  }
  void end() {
    auto all = std::tie(logger);
    tr::notify<tr::hooks::TrainEnd>(all, run);
  }
  void warned_once(std::string const& sentence) const {
    BOOST_TEST(run.messages == std::vector<std::string>{sentence}, boost::test_tools::per_element());
  }
};

std::string others(std::string const& file) {
  return "warning: CSVLogger: " + file +
         " has lines of others behind those of the saved run; they stay, and lines of this run may be there twice";
}

std::string lost(std::string const& file) {
  return "warning: CSVLogger: " + file + " has lost lines of the saved run; those that follow are appended to it";
}

BOOST_FIXTURE_TEST_CASE(a_run_that_goes_on_drops_the_lines_behind_its_checkpoint, Folder) {
  for (bool const append : {false, true})
    for (std::size_t const saved : {0u, 1u, 2u}) {  // epochs before the checkpoint
      std::string const old = append ? "epoch,accuracy,loss,val_loss\n7,8,9,10\n" : "old";
      std::ofstream(file()) << old;
      Stored checkpoint;
      ScriptedRun run;
      tr::CSVLogger logger{.path = file(), .append = append};
      train(logger, run, 0, 0);
      for (std::size_t epoch = 0; epoch < 3; ++epoch) {
        if (epoch == saved) logger.state(checkpoint);
        run.epoch_now = epoch;
        run.logs().set("loss", uniform(0.5));
        logger.on_epoch_end(run);
      }
      std::string const whole = text_of(file());
      BOOST_TEST(whole.starts_with(append ? old : "epoch,"));
      tr::CSVLogger next{.path = file(), .append = append};
      checkpoint.is_read = true;
      next.on_train_begin(run);
      next.state(checkpoint);
      for (std::size_t epoch = saved; epoch < 3; ++epoch) {
        run.epoch_now = epoch;
        next.on_epoch_end(run);
      }
      BOOST_TEST(text_of(file()) == whole, "append " << append << ", saved after " << saved);
    }
}

BOOST_FIXTURE_TEST_CASE(lines_of_runs_that_share_a_file_all_stay, Folder) {
  Logged first(file(), true), second(file(), true);
  first.epoch(0, 1);
  second.epoch(0, 2);
  first.epoch(1, 3);
  std::ofstream(file(), std::ios::app) << "9,9\n9,";
  second.epoch(1, 4);
  BOOST_TEST(text_of(file()) == "epoch,loss\n0,1\n0,2\n1,3\n9,9\n9,\n1,4\n");
  BOOST_TEST((first.run.messages.empty() && second.run.messages.empty()));
}

BOOST_FIXTURE_TEST_CASE(lines_of_another_program_stay_in_a_log_that_this_run_began, Folder) {
  std::ofstream(file()) << "old\n";
  Logged run(file(), false);
  run.epoch(0, 1);
  std::ofstream(file(), std::ios::app) << "9,9\n";
  Stored const checkpoint = run.saved();
  run.epoch(1, 2);
  BOOST_TEST(text_of(file()) == "epoch,loss\n0,1\n9,9\n1,2\n");
  Logged next(file(), false);
  next.resume(checkpoint);
  next.epoch(1, 2);
  BOOST_TEST(text_of(file()) == "epoch,loss\n0,1\n9,9\n1,2\n1,2\n");
  next.warned_once(others(file()));
}

BOOST_FIXTURE_TEST_CASE(lines_of_another_run_behind_a_checkpoint_stay, Folder) {
  for (bool const append : {false, true})
    for (bool const own : {false, true}) {  // a line of its own behind the checkpoint
      std::filesystem::remove(file());
      Logged first(file(), append);
      for (std::size_t epoch = 0; epoch < 3; ++epoch) first.epoch(epoch, 1);
      Stored const checkpoint = first.saved();
      if (own) first.epoch(3, 1);
      Logged second(file(), true);
      second.epoch(0, 2);
      second.epoch(1, 2);
      std::string const before = text_of(file());
      Logged next(file(), append);
      next.resume(checkpoint);
      next.epoch(3, 1);
      next.epoch(4, 1);
      BOOST_TEST(text_of(file()) == before + "3,1\n4,1\n");
      next.warned_once(others(file()));
    }
}

BOOST_FIXTURE_TEST_CASE(a_line_of_another_file_is_not_cut_by_a_run_that_goes_on, Folder) {
  Logged first(file(), false);
  first.epoch(0, 1);
  Stored const checkpoint = first.saved();  // 15 bytes
  std::ofstream(file()) << "epoch,loss\n0,0.1250\n1,0.5";
  Logged next(file(), false);
  next.resume(checkpoint);
  next.epoch(1, 2);
  BOOST_TEST(text_of(file()) == "epoch,loss\n0,0.1250\n1,0.5\n1,2\n");
  next.warned_once(others(file()));
}

BOOST_FIXTURE_TEST_CASE(a_line_that_a_killed_run_left_unfinished_is_dropped, Folder) {
  for (char const* behind : {"", "1", "1,", "1,0.", "1,2\n2", "1,2\n2,3\n"}) {
    std::filesystem::remove(file());
    Logged first(file(), false);
    first.epoch(0, 1);
    Stored const checkpoint = first.saved();
    std::ofstream(file(), std::ios::app) << behind;
    Logged next(file(), false);
    next.resume(checkpoint);
    next.epoch(1, 2);
    BOOST_TEST(text_of(file()) == "epoch,loss\n0,1\n1,2\n");
    BOOST_TEST(next.run.messages.empty());
  }
}

BOOST_FIXTURE_TEST_CASE(a_run_saved_before_its_first_line_drops_those_behind_an_unfinished_one, Folder) {
  for (char const* old : {"", "epoch,loss\n7,8\n", "epoch,loss\n7,", "\nnotes"}) {
    std::ofstream(file()) << old;
    Logged first(file(), true);
    Stored const checkpoint = first.saved();
    first.epoch(0, 1);
    std::string const whole = text_of(file());
    first.epoch(1, 2);
    Logged next(file(), true);
    next.resume(checkpoint);
    next.epoch(0, 1);
    BOOST_TEST(text_of(file()) == whole);
    BOOST_TEST(next.run.messages.empty());
  }
}

BOOST_FIXTURE_TEST_CASE(a_log_that_is_shorter_than_at_the_checkpoint_is_a_warning, Folder) {
  std::string const header = "epoch,loss\n";
  for (std::string const& left : {std::string("absent"), std::string(), header, header + "0,", std::string("a,b\n")}) {
    Logged first(file(), false);
    first.epoch(0, 1);
    first.epoch(1, 2);
    Stored const checkpoint = first.saved();
    std::filesystem::remove(file());
    if (left != "absent") std::ofstream(file()) << left;
    Logged next(file(), false);
    next.resume(checkpoint);
    next.epoch(2, 3);
    next.epoch(3, 4);
    std::string const kept = left == "absent" ? "" : left == header + "0," ? left + "\n" : left;
    BOOST_TEST(text_of(file()) == kept + (kept.starts_with(header) ? "" : header) + "2,3\n3,4\n");
    next.warned_once(lost(file()));
    std::filesystem::remove(file());
  }
}

BOOST_FIXTURE_TEST_CASE(a_run_without_an_epoch_leaves_an_empty_log_unless_it_appends_or_goes_on, Folder) {
  for (bool const append : {false, true})
    for (bool const resumed : {false, true}) {
      std::string const old = "epoch,loss\n0,1\n";
      std::ofstream(file()) << old;
      Logged run(file(), append);
      if (resumed) run.resume({.columns = {"loss"}, .bytes = old.size()});
      BOOST_TEST(text_of(file()) == old);
      run.end();
      BOOST_TEST(text_of(file()) == (append || resumed ? old : ""));
    }
  Logged run(file(), false);
  run.epoch(0, 1);
  run.end();
  BOOST_TEST(text_of(file()) == "epoch,loss\n0,1\n");
}

BOOST_FIXTURE_TEST_CASE(a_log_that_is_gone_begins_again_with_its_header, Folder) {
  tr::CSVLogger logger{.path = file()};
  ScriptedRun run;
  train(logger, run, 0, 1);
  std::filesystem::remove(file());
  run.epoch_now = 1;
  logger.on_epoch_end(run);
  BOOST_TEST(text_of(file()) == "epoch,accuracy,loss,val_loss\n1,0.5,0,NA\n");
}

BOOST_FIXTURE_TEST_CASE(a_disk_that_is_full_is_an_error, Folder) {
  if (!std::filesystem::exists("/dev/full")) return;
  tr::CSVLogger logger{.path = "/dev/full"};
  ScriptedRun run;
  BOOST_CHECK_THROW(train(logger, run, 0, 1), tr::FileError);
}

BOOST_FIXTURE_TEST_CASE(only_the_chief_writes, Folder) {
  tr::CSVLogger logger{.path = file()};
  ScriptedRun run;
  run.is_chief = false;
  train(logger, run, 0, 2);
  BOOST_TEST(!std::filesystem::exists(file()));
  BOOST_TEST(run.collectives == 4u);  // as many as on the chief
}
