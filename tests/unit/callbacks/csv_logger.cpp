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
  bool loads = false;
  void operator()(char const* name, auto& value) {
    if constexpr (requires { value = columns; })
      loads ? void(value = columns) : void(columns = value);
    else if (std::string(name) == "bytes")
      loads ? void(value = bytes) : void(bytes = value);
  }
};

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
      checkpoint.loads = true;
      next.on_train_begin(run);
      next.state(checkpoint);
      for (std::size_t epoch = saved; epoch < 3; ++epoch) {
        run.epoch_now = epoch;
        next.on_epoch_end(run);
      }
      BOOST_TEST(text_of(file()) == whole, "append " << append << ", saved after " << saved);
    }
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
  BOOST_TEST(run.collectives == 3u);  // as many as on the chief
}
