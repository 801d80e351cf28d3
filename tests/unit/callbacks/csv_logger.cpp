#define BOOST_TEST_MODULE callbacks_csv_logger
#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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
  BOOST_CHECK_EXCEPTION(logger.on_train_begin(run), tr::FileError, [&](tr::FileError const& error) {
    return std::string(error.what()) == logger.path + ": cannot be opened for writing: No such file or directory";
  });
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
