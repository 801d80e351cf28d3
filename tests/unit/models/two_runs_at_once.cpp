// Two runs at once with one file: the second one is refused, and goes on once the first was killed.
#define BOOST_TEST_MODULE two_runs_at_once
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include "support/failing_fit.hpp"
#include "support/roles.hpp"

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <unistd.h>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;
using namespace std::chrono_literals;
using test::Outcome;

namespace {

/// Shows that training has begun, and lasts while the folder has a file `wait`.
struct Waits {
  std::string folder;
  template <class Run>
  void on_train_batch_end(Run& run) const {
    if (run.model().engine().group().rank() == 0 && run.batch() == 3)
      std::ofstream(folder + "/begun") << ::getpid() << std::endl;
    for (int i = 0; i < 6000 && run.batch() == 3 && std::filesystem::exists(folder + "/wait"); ++i)
      std::this_thread::sleep_for(10ms);
  }
};

/// Trains with the callback that the role names, in the folder behind its name.
int play(std::string_view role, int argc, char** argv) {
  Environment const environment(argc, argv, {.threads = 1});
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  test::ZeroSamples const samples{200};
  std::string const callback(role.substr(0, role.find('/'))), folder(role.substr(callback.size()));
  auto const train = [&](auto writes) {
    test::fit_classifier(strategy, samples.data().batch(GlobalBatch{20}), {.epochs = 2, .verbose = false},
                         Waits{folder}, writes);
  };
  if (callback == "backup")
    train(BackupAndRestore{.path = folder + "/run.npz", .save_freq = 1, .verbose = true});
  else if (callback == "best")
    train(ModelCheckpoint<"loss">{.path = folder + "/run.npz"});
  else if (callback == "epochs")
    train(ModelCheckpoint<"loss">{.path = folder + "/{epoch:02d}.npz"});
  else if (callback == "log")
    train(CSVLogger{.path = folder + "/log.csv"});
  else
    train(CSVLogger{.path = folder + "/link.csv"});
  return 0;
}

/// A run in this role of so many ranks that waits in its first epoch.
class Waiting {
 public:
  Waiting(std::size_t ranks, test::Folder const& folder, std::string const& callback) : folder_(folder.path()) {
    std::ofstream(folder_ + "/wait") << "yes";
    other_ = std::thread([this, ranks, callback] { outcome_ = test::run_on(ranks, callback + folder_); });
    for (int i = 0; i < 3000 && process_ == 0; ++i) {
      std::ifstream(folder_ + "/begun") >> process_;
      std::this_thread::sleep_for(10ms);
    }
  }
  /// Lets it train to the end.
  Outcome end() {
    std::filesystem::remove(folder_ + "/wait");
    other_.join();
    return outcome_;
  }
  Outcome kill() {
    ::kill(process_, SIGKILL);
    return end();
  }
  pid_t process() const { return process_; }

 private:
  std::string folder_;
  std::thread other_;
  Outcome outcome_{};
  pid_t process_ = 0;
};

}  // namespace

int main(int argc, char** argv) { return test::play_or_test(argc, argv, &play); }

BOOST_AUTO_TEST_CASE(a_backup_that_another_run_has_is_refused_until_that_run_is_killed) {
  for (std::size_t const ranks : {1u, 2u}) {
    test::Folder const folder;
    Waiting first(ranks, folder, "backup");
    Outcome const second = test::run_on(ranks, "backup" + folder.path());
    BOOST_TEST(second.code == 1);
    BOOST_TEST(second.count("run.npz: is in use by another run, process " + std::to_string(first.process()) + " on ") ==
               1);
    BOOST_TEST(first.kill().code != 0);
    Outcome const third = test::run_on(ranks, "backup" + folder.path());
    BOOST_TEST(third.code == 0);
    BOOST_TEST(third.count("Going on with epoch 1 after 3 of its batches") == 1);
    BOOST_TEST(folder.entries() == 1);  // `begun`
  }
}

BOOST_AUTO_TEST_CASE(weights_and_logs_that_another_run_writes_are_refused) {
  struct {
    char const *first, *second, *file;
    std::size_t files;  // at the end
  } const table[]{{"best", "best", "run.npz", 2},
                  {"backup", "best", "run.npz", 1},
                  {"best", "backup", "run.npz", 2},
                  {"epochs", "epochs", "{epoch:02d}.npz", 3},
                  {"log", "link", "log.csv", 3}};
  for (auto const& [with, other, file, files] : table) {
    test::Folder const folder;
    if (other == std::string("link")) std::filesystem::create_symlink("log.csv", folder.path() + "/link.csv");
    Waiting first(2, folder, with);
    Outcome const second = test::run_on(2, other + folder.path());
    BOOST_TEST(second.code == 1, with << " and " << other);
    BOOST_TEST(second.count(file + std::string(": is in use by another run, process ") +
                            std::to_string(first.process()) + " on ") == 1);
    BOOST_TEST(first.end().code == 0);
    BOOST_TEST(folder.entries() == files, with << " and " << other);  // `begun`, and what was saved
    BOOST_TEST(test::run_on(2, with + folder.path()).code == 0);
  }
}
