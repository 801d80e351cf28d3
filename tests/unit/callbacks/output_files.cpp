// Whatever a callback will write is tried before training, and nothing is changed by that.
#define BOOST_TEST_MODULE callbacks_output_files
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/claimed_file.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/learning_rate_scheduler.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/output_files.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/callbacks/tensor_board.hpp"
#include "unit/io/folder.hpp"

#include "scripted_run.hpp"

namespace tr = trireme;
using tr::test::message_of;
using tr::test::ScriptedRun;
using tr::test::text_of;

namespace {

/// What `fit` says of the callbacks; "" if it takes them.
template <class... Callbacks>
std::string refusal(Callbacks const&... callbacks) {
  ScriptedRun run;
  run.names = {"loss", "val_loss"};
  run.epoch_count = 3;
  return message_of<tr::Error>([&] { tr::try_outputs(std::tie(callbacks...), run); });
}

tr::ModelCheckpoint<"loss"> model_at(std::string const& path) { return {.path = path}; }

/// A callback of a user's own.
struct Samples {
  std::string path;
  void on_epoch_end(auto&) const {}
  template <class Run>
  std::vector<tr::OutputFile> output_files(Run const&) const {
    return {{.writer = "Samples", .path = path, .format = tr::FileFormat{"a table", {".csv", ".tsv"}}}};
  }
};

struct LogsAtBegin {
  static constexpr std::array logs{std::string_view("seconds")};
  void on_epoch_begin(auto& run) const { run.logs().set("seconds", tr::test::uniform(1)); }
};

struct LogsAtEnd {
  static constexpr std::array logs{std::string_view("val_gap")};
  void on_epoch_end(auto& run) const { run.logs().set("val_gap", tr::test::uniform(1)); }
};

struct Folder : tr::test::Folder {
  std::string at(std::string const& name) const { return (root / name).string(); }
};

#ifdef TRIREME_HAVE_HDF5
std::string endings(std::string const& stem) { return stem + ".weights.h5 or " + stem + ".npz"; }
std::string checkpoints(std::string const& stem) { return stem + ".h5 or " + stem + ".npz"; }
#else
std::string endings(std::string const& stem) { return stem + ".npz"; }
std::string checkpoints(std::string const& stem) { return stem + ".npz"; }
#endif

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_name_that_no_format_has_is_refused_with_names_to_write, Folder) {
  for (auto const& [name, stem] : {std::pair{"model.h5", "model"},
                                   {"model.keras", "model"},
                                   {"model.hdf5", "model"},
                                   {"model", "model"},
                                   {"v1.2", "v1.2"},
                                   {"{epoch:02d}-{val_loss:.2f}.h5", "{epoch:02d}-{val_loss:.2f}"},
                                   {"{epoch}/model.pt", "{epoch}/model"}})
    BOOST_TEST(refusal(model_at(at(name))) ==
               at(name) +
                   ": ModelCheckpoint cannot write it, since it is no name of a file of weights, which ends in " +
                   endings("") + "; use " + endings(at(stem)));
  BOOST_TEST(refusal(model_at(at("") + "/")) ==
             at("") + "/: ModelCheckpoint cannot write it, since it is no name of a file of weights, which ends in " +
                 endings("") + "; use " + endings(at("") + "/model"));
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("run.keras")}) ==
             at("run.keras") +
                 ": BackupAndRestore cannot write it, since it is no name of a checkpoint, which ends in " +
                 checkpoints("") + "; use " + checkpoints(at("run")));
  BOOST_TEST(refusal(Samples{at("run.txt")}) == at("run.txt") +
                                                    ": Samples cannot write it, since it is no name of a table, which "
                                                    "ends in .csv or .tsv; use " +
                                                    at("run.txt.csv") + " or " + at("run.txt.tsv"));
  BOOST_TEST(entries() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_folder_that_is_not_there_is_refused_unless_the_callback_makes_it, Folder) {
  std::string const reason = " cannot write it, since there is no folder " + at("absent");
  BOOST_TEST(refusal(model_at(at("absent/m.npz"))) == at("absent/m.npz") + ": ModelCheckpoint" + reason);
  BOOST_TEST(refusal(model_at(at("absent/{epoch}.npz"))) == at("absent/{epoch}.npz") + ": ModelCheckpoint" + reason);
  BOOST_TEST(refusal(model_at(at("absent/{epoch}/m.npz"))) ==
             at("absent/{epoch}/m.npz") + ": ModelCheckpoint" + reason);
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("absent/log.csv")}) == at("absent/log.csv") + ": CSVLogger" + reason);
  BOOST_TEST(refusal(Samples{at("absent/a.csv")}) == at("absent/a.csv") + ": Samples" + reason);
  BOOST_TEST(refusal(model_at(at("{epoch}/{val_loss}/m.npz"))) == "");
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("absent/a/run.npz")}) == "");
#ifdef TRIREME_HAVE_PROTOZERO
  BOOST_TEST(refusal(tr::TensorBoard{.log_dir = at("absent/logs")}) == "");
#endif
  BOOST_TEST(entries() == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_is_in_the_way_is_named, Folder) {
  std::ofstream(at("file")) << "text";
  std::filesystem::create_directories(at("folder.npz"));
  BOOST_TEST(refusal(model_at(at("folder.npz"))) ==
             at("folder.npz") + ": ModelCheckpoint cannot write it, since it is a folder");
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("folder.npz")}) ==
             at("folder.npz") + ": CSVLogger cannot write it, since it is a folder");
  BOOST_TEST(refusal(model_at(at("file/m.npz"))) ==
             at("file/m.npz") + ": ModelCheckpoint cannot write it, since " + at("file") + " is no folder");
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("file/a/m.npz")}) ==
             at("file/a/m.npz") + ": BackupAndRestore cannot write it, since " + at("file") + " is no folder");
#ifdef TRIREME_HAVE_PROTOZERO
  BOOST_TEST(refusal(tr::TensorBoard{.log_dir = at("file")}) ==
             at("file/train") + ": TensorBoard cannot write it, since " + at("file") + " is no folder");
#endif
  std::string const long_name = at(std::string(300, 'n') + ".npz");
  BOOST_TEST(refusal(model_at(long_name)) ==
             long_name + ": ModelCheckpoint cannot write it, since it cannot be created: File name too long");
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = "/proc/no/run.npz"})
                 .starts_with("/proc/no/run.npz: BackupAndRestore cannot write it, since it cannot be created: "));
  BOOST_TEST(entries() == 2u);
}

BOOST_FIXTURE_TEST_CASE(a_log_behind_a_link_is_tried_where_the_link_leads, Folder) {
  std::filesystem::create_directories(at("logs"));
  std::filesystem::create_symlink(at("absent/log.csv"), at("far"));
  std::filesystem::create_symlink("far", at("chain"));
  for (char const* name : {"far", "chain"})
    BOOST_TEST(refusal(tr::CSVLogger{.path = at(name)}) ==
               at(name) + ": CSVLogger cannot write it, since there is no folder " + at("absent"));
  std::filesystem::create_symlink("logs/log.csv", at("near"));
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("near")}) == "");
  std::filesystem::create_symlink("circle", at("circle"));
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("circle")}) ==
             at("circle") +
                 ": CSVLogger cannot write it, since it cannot be opened: Too many levels of symbolic links");
  // Links of these are replaced, not followed.
  std::filesystem::create_symlink(at("absent/a.npz"), at("a.npz"));
  BOOST_TEST(refusal(model_at(at("a.npz"))) == "");
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("a.npz")}) == "");
  // Folders cannot be made behind a link that leads nowhere.
  std::filesystem::create_symlink(at("absent"), at("link"));
  std::string const reason = " cannot write it, since there is no folder " + at("link");
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("link/a.npz")}) ==
             at("link/a.npz") + ": BackupAndRestore" + reason);
  BOOST_TEST(refusal(model_at(at("link/{epoch}/a.npz"))) == at("link/{epoch}/a.npz") + ": ModelCheckpoint" + reason);
#ifdef TRIREME_HAVE_PROTOZERO
  BOOST_TEST(refusal(tr::TensorBoard{.log_dir = at("link")}) == at("link/train") + ": TensorBoard" + reason);
#endif
  BOOST_TEST(std::filesystem::is_empty(at("logs")));
  BOOST_TEST(entries() == 7u);
}

BOOST_FIXTURE_TEST_CASE(a_disk_without_room_is_refused, Folder) {
  std::string const reason = " cannot write it, since it cannot be written: File too large";
  {
    tr::test::FileSizeLimit const full(0);
    BOOST_TEST(refusal(model_at(at("a.npz"))) == at("a.npz") + ": ModelCheckpoint" + reason);
    BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("a.npz")}) == at("a.npz") + ": BackupAndRestore" + reason);
    BOOST_TEST(refusal(tr::CSVLogger{.path = at("log.csv")}) == at("log.csv") + ": CSVLogger" + reason);
#ifdef TRIREME_HAVE_PROTOZERO
    BOOST_TEST(refusal(tr::TensorBoard{.log_dir = at("logs")}) == at("logs/train") + ": TensorBoard" + reason);
#endif
  }
  BOOST_TEST(entries() == 0u);
}

BOOST_AUTO_TEST_CASE(a_device_that_takes_nothing_is_refused) {
  BOOST_TEST(refusal(tr::CSVLogger{.path = "/dev/null"}) == "");
  if (!std::filesystem::exists("/dev/full")) return;
  BOOST_TEST(refusal(tr::CSVLogger{.path = "/dev/full"}) ==
             "/dev/full: CSVLogger cannot write it, since it cannot be written: No space left on device");
}

BOOST_FIXTURE_TEST_CASE(files_that_exist_are_not_touched, Folder) {
  struct stat before{}, after{};
  for (char const* name : {"a.npz", "log.csv", "run.npz"}) {
    std::ofstream(at(name)) << "old";
    ::stat(at(name).c_str(), &before);
    BOOST_TEST(refusal(model_at(at("a.npz")), tr::CSVLogger{.path = at("log.csv")},
                       tr::BackupAndRestore{.path = at("run.npz")}) == "");
    BOOST_TEST(text_of(at(name)) == "old");
    ::stat(at(name).c_str(), &after);
    BOOST_TEST(before.st_ino == after.st_ino);
    BOOST_TEST(before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
  }
  BOOST_TEST(entries() == 3u);
}

BOOST_FIXTURE_TEST_CASE(two_callbacks_with_one_file_are_refused, Folder) {
  BOOST_TEST(refusal(model_at(at("run.npz")), tr::BackupAndRestore{.path = at("run.npz")}) ==
             "ModelCheckpoint and BackupAndRestore both write " + at("run.npz"));
  BOOST_TEST(refusal(model_at(at("./run.npz")), tr::BackupAndRestore{.path = at("run.npz")}) ==
             "ModelCheckpoint and BackupAndRestore both write " + at("run.npz"));
  BOOST_TEST(refusal(model_at(at("a.npz")), model_at(at("b.npz"))) == "");
}

BOOST_FIXTURE_TEST_CASE(one_file_by_two_spellings_is_refused, Folder) {
  std::filesystem::create_directories(at("folder"));
  std::filesystem::create_directory_symlink(at("folder"), at("linked"));
  std::string const file = at("folder/run.npz"), relative = std::filesystem::relative(file).string();
  for (std::string const& other : {relative, at("linked/run.npz"), at("linked/../folder/run.npz")}) {
    BOOST_TEST(refusal(tr::BackupAndRestore{.path = file}, model_at(other)) ==
               "BackupAndRestore and ModelCheckpoint both write " + other);
    BOOST_TEST(refusal(tr::BackupAndRestore{.path = other}, model_at(file)) ==
               "BackupAndRestore and ModelCheckpoint both write " + file);
  }
  // Of folders that are not there yet too, and with fields.
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("linked/a/b/run.npz")},
                     tr::BackupAndRestore{.path = at("folder/a/b/run.npz")}) ==
             "BackupAndRestore and BackupAndRestore both write " + at("folder/a/b/run.npz"));
  BOOST_TEST(refusal(model_at(at("folder/{epoch}.npz")), model_at(at("linked/{epoch}.npz"))) ==
             "ModelCheckpoint and ModelCheckpoint both write " + at("linked/{epoch}.npz"));
  // A log is written where a link leads; links of the others are replaced.
  std::filesystem::create_symlink("log.csv", at("link.csv"));
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("link.csv")}, tr::CSVLogger{.path = at("log.csv")}) ==
             "CSVLogger and CSVLogger both write " + at("log.csv"));
  std::filesystem::create_symlink("log.csv", at("log.npz"));
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("log.npz")}, model_at(at("log.npz"))) ==
             "CSVLogger and ModelCheckpoint both write " + at("log.npz"));
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("log.csv")}, model_at(at("log.npz"))) == "");
}

BOOST_FIXTURE_TEST_CASE(files_of_epochs_and_batches_are_compared_with_those_of_others, Folder) {
  std::filesystem::create_directories(at("folder"));
  std::filesystem::create_directory_symlink(at("folder"), at("linked"));
  std::string const by = ", one of them by the path '";
  struct {
    char const *with_fields, *other;
    bool is_one;
  } const table[]{{"{epoch}.npz", "1.npz", true},
                  {"{epoch}.npz", "3.npz", true},
                  {"{epoch}.npz", "4.npz", false},  // of 3 epochs
                  {"{epoch}.npz", "0.npz", false},
                  {"{epoch}.npz", "01.npz", false},
                  {"{epoch:03d}.npz", "002.npz", true},
                  {"run1{epoch}.npz", "run12.npz", true},
                  {"{epoch}/run.npz", "2/run.npz", true},
                  {"folder/{epoch}.npz", "linked/1.npz", true},
                  {"folder/{epoch}.npz", "1.npz", false},
                  {"{epoch}-{epoch:02d}.npz", "2-02.npz", true},
                  {"{epoch}-{epoch:02d}.npz", "2-03.npz", false},
                  {"{epoch}-{loss:.2f}.npz", "1-0.50.npz", false}};
  for (auto const& [with_fields, other, is_one] : table) {
    std::string const expected = by + at(with_fields) + "'";
    BOOST_TEST(refusal(model_at(at(with_fields)), model_at(at(other))) ==
               (is_one ? "ModelCheckpoint and ModelCheckpoint both write " + at(other) + expected : ""));
    BOOST_TEST(refusal(tr::BackupAndRestore{.path = at(other)}, model_at(at(with_fields))) ==
               (is_one ? "ModelCheckpoint and BackupAndRestore both write " + at(other) + expected : ""));
  }
  BOOST_TEST(refusal(model_at(at("{epoch}.npz")), model_at(at("{epoch:d}.npz"))).find("both write") !=
             std::string::npos);
  tr::ModelCheckpoint<"loss"> const of_batches{.path = at("{epoch}-{batch:02d}.npz"), .save_freq = 1};
  BOOST_TEST(refusal(of_batches, model_at(at("2-70.npz"))).find("both write") != std::string::npos);
  BOOST_TEST(refusal(of_batches, model_at(at("2-7.npz"))) == "");
}

BOOST_FIXTURE_TEST_CASE(files_beside_a_backup_are_its_own, Folder) {
  for (char const* ending : {".new", ".previous", ".lock"}) {
    tr::CSVLogger const logger{.path = at(std::string("run.npz") + ending)};
    BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("run.npz")}, logger) ==
               "BackupAndRestore and CSVLogger both write " + logger.path);
    BOOST_TEST(refusal(logger, tr::BackupAndRestore{.path = at("run.npz")}) ==
               "CSVLogger and BackupAndRestore both write " + logger.path);
    BOOST_TEST(refusal(model_at(at("run.npz")), logger) ==
               (ending == std::string(".lock") ? "ModelCheckpoint and CSVLogger both write " + logger.path : ""));
  }
}

BOOST_FIXTURE_TEST_CASE(the_locks_of_claimed_files_are_names_of_their_own_and_not_tried, Folder) {
  auto const both = [](std::string const& two, std::string const& path) { return two + " both write " + path; };
  std::filesystem::create_symlink("log.csv", at("link.csv"));
  for (char const* log : {"log.csv", "link.csv"})
    BOOST_TEST(refusal(tr::CSVLogger{.path = at(log)}, tr::CSVLogger{.path = at("log.csv.lock")}) ==
               both("CSVLogger and CSVLogger", at("log.csv.lock")));
  BOOST_TEST(refusal(tr::CSVLogger{.path = at("{epoch}.npz.lock")}, model_at(at("{epoch}.npz"))) ==
             both("CSVLogger and ModelCheckpoint", at("{epoch}.npz.lock")));
  BOOST_TEST(refusal(tr::CSVLogger{.path = "/dev/null"}, tr::CSVLogger{.path = at("null.lock")}) == "");
  for (char const* name : {"run.npz", "best.npz", "log.csv"})
    std::filesystem::create_directories(at(name + std::string(".lock")));
  BOOST_TEST(refusal(tr::BackupAndRestore{.path = at("run.npz")}, model_at(at("best.npz")),
                     tr::CSVLogger{.path = at("log.csv")}) == "");
  BOOST_TEST(entries() == 4u);
}

BOOST_FIXTURE_TEST_CASE(logs_that_runs_may_share_are_not_claimed, Folder) {
  using tr::detail::log_to_claim;
  BOOST_TEST(log_to_claim(at("log.csv")) == at("log.csv"));
  std::filesystem::create_symlink("log.csv", at("link.csv"));
  BOOST_TEST(log_to_claim(at("link.csv")) == at("log.csv"));
  std::ofstream(at("log.csv")) << "epoch";
  BOOST_TEST(log_to_claim(at("link.csv")) == at("log.csv"));
  BOOST_REQUIRE(::mkfifo(at("pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink("/dev/null", at("null"));
  std::filesystem::create_symlink("pipe", at("to_pipe"));
  int const opened = ::open(at("log.csv").c_str(), O_WRONLY | O_CLOEXEC);
  std::filesystem::create_symlink("/dev/fd/" + std::to_string(opened), at("opened"));
  for (std::string const& path : {std::string("/dev/null"), std::string("/dev/stdout"), at("pipe"), at("null"),
                                  at("to_pipe"), at("opened"), std::string()})
    BOOST_TEST(log_to_claim(path) == "", path);
  ::close(opened);
}

BOOST_FIXTURE_TEST_CASE(only_the_chief_tries_the_disk_and_all_call_it, Folder) {
  ScriptedRun run;
  run.is_chief = false;
  tr::CSVLogger const logger{.path = at("absent/log.csv")};
  tr::try_outputs(std::tie(logger), run);
  BOOST_TEST(run.collectives == 1u);
}

BOOST_FIXTURE_TEST_CASE(folders_with_fields_are_made_when_they_are_needed, Folder) {
  ScriptedRun run;
  run.names = {"loss"};
  auto callback = model_at(at("{epoch:+03d}/{loss:.1f}/m.npz"));
  tr::try_outputs(std::tie(callback), run);
  BOOST_TEST(entries() == 0u);
  callback.on_train_begin(run);
  run.logs().set("loss", tr::test::uniform(0.25));
  callback.on_epoch_end(run);
  BOOST_TEST(run.saved == std::vector<std::string>{at("+01/0.2/m.npz")}, boost::test_tools::per_element());
  BOOST_TEST(std::filesystem::is_directory(at("+01/0.2")));
}

BOOST_FIXTURE_TEST_CASE(a_value_of_validation_in_a_path_is_refused_where_some_epoch_is_not_validated, Folder) {
  // (first epoch, epochs, validation_freq) and the first epoch, from 1, that no validation follows; 0: none.
  struct Case {
    std::size_t first, epochs, frequency, unvalidated;
  };
  for (Case const& c : {Case{0, 5, 1, 0}, Case{0, 1, 2, 1}, Case{0, 5, 2, 1}, Case{1, 2, 2, 0}, Case{1, 3, 2, 3},
                        Case{2, 2, 3, 0}, Case{2, 3, 3, 0}, Case{0, 2, 3, 1}, Case{4, 9, 5, 6}}) {
    ScriptedRun run;
    run.names = {"loss", "val_loss"};
    run.epoch_now = c.first;
    run.epoch_count = c.epochs;
    run.epochs_to_validation = c.frequency;
    auto const says = [&](auto const& callback) {
      return message_of<tr::Error>([&] { tr::try_outputs(std::tie(callback), run); });
    };
    std::string const path = at("{epoch}-{val_loss:.2f}.npz");
    std::string const expected =
        c.unvalidated == 0
            ? ""
            : "ModelCheckpoint: the path '" + path +
                  "' has the field 'val_loss', but with validation_freq = " + std::to_string(c.frequency) + " epoch " +
                  std::to_string(c.unvalidated) + " ends without validation";
    BOOST_TEST(says(model_at(path)) == expected);
    // The best is saved only where its own value is there.
    BOOST_TEST(says(tr::ModelCheckpoint<"val_loss">{.path = path, .save_best_only = true}) == "");
    BOOST_TEST(says(tr::ModelCheckpoint<"loss">{.path = path, .save_best_only = true}) == expected);
    BOOST_TEST(says(model_at(at("{epoch}-{loss}.npz"))) == "");
  }
}

BOOST_FIXTURE_TEST_CASE(a_value_in_a_path_that_a_later_callback_logs_at_the_end_of_an_epoch_is_refused, Folder) {
  std::string const path = at("{epoch}-{learning_rate}.npz");
  auto const says = [&](auto const&... callbacks) {
    ScriptedRun run;
    run.names = {"loss", "learning_rate", "seconds", "val_gap"};
    run.epoch_count = 4;
    run.epochs_to_validation = 2;
    return message_of<tr::Error>([&] { tr::try_outputs(std::tie(callbacks...), run); });
  };
  auto const saves = model_at(path);
  auto const schedule = [](std::size_t, double rate) { return rate; };
  tr::LearningRateScheduler const scheduler{schedule};
  tr::ReduceLROnPlateau<"loss"> const plateau{};
  std::string const refused = "ModelCheckpoint: the path '" + path +
                              "' has the field 'learning_rate', which a later callback logs: give that one before it";
  BOOST_TEST(says(saves, scheduler) == refused);
  BOOST_TEST(says(saves, plateau) == refused);
  BOOST_TEST(says(scheduler, saves) == "");
  BOOST_TEST(says(plateau, saves, scheduler) == "");
  tr::ModelCheckpoint<"loss"> by_batch{.path = at("{epoch}-{batch}.npz"), .save_freq = 2};
  BOOST_TEST(says(by_batch, scheduler) == "");
  // Logged in another hook, which comes before; and a name that only looks like one of the validation.
  BOOST_TEST(says(model_at(at("{seconds}.npz")), LogsAtBegin{}) == "");
  BOOST_TEST(says(LogsAtEnd{}, model_at(at("{val_gap}.npz"))) == "");
}

BOOST_FIXTURE_TEST_CASE(a_monitored_value_that_a_later_callback_logs_is_refused_where_the_best_is_saved, Folder) {
  auto const says = [&](auto const&... callbacks) {
    ScriptedRun run;
    run.names = {"loss", "val_loss", "learning_rate", "seconds", "val_gap"};
    run.epoch_count = 4;
    run.epochs_to_validation = 2;
    return message_of<tr::Error>([&] { tr::try_outputs(std::tie(callbacks...), run); });
  };
  std::string const path = at("best.npz");
  auto const refused = [](std::string const& monitor) {
    return "ModelCheckpoint monitors '" + monitor + "', which a later callback logs: give that one before it";
  };
  tr::ModelCheckpoint<"learning_rate"> const rate{.path = path, .save_best_only = true, .mode = tr::Mode::min};
  tr::ReduceLROnPlateau<"loss"> const plateau{};
  BOOST_TEST(says(rate, plateau) == refused("learning_rate"));
  BOOST_TEST(says(plateau, rate) == "");
  BOOST_TEST(says(plateau, rate, plateau) == "");
  tr::ModelCheckpoint<"val_gap"> const gap{
      .path = at("{val_gap:.2f}.npz"), .save_best_only = true, .mode = tr::Mode::min};
  BOOST_TEST(says(gap, LogsAtEnd{}) == refused("val_gap"));
  BOOST_TEST(says(LogsAtEnd{}, gap) == "");
  // Logged in another hook, which comes before; of a validation that follows some epochs; and what is not compared.
  tr::ModelCheckpoint<"seconds"> const seconds{.path = path, .save_best_only = true, .mode = tr::Mode::min};
  BOOST_TEST(says(seconds, LogsAtBegin{}) == "");
  BOOST_TEST(says(tr::ModelCheckpoint<>{.path = path, .save_best_only = true}, plateau) == "");
  BOOST_TEST(says(tr::ModelCheckpoint<"learning_rate">{.path = path, .mode = tr::Mode::min}, plateau) == "");
}
