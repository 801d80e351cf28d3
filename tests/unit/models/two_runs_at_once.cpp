// Two runs at once with one backup: the second one is refused, and goes on once the first was killed.
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

int play(std::string_view folder, int argc, char** argv) {
  Environment const environment(argc, argv, {.threads = 1});
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  test::ZeroSamples const samples{200};
  test::fit_classifier(strategy, samples.data().batch(GlobalBatch{20}), {.epochs = 2, .verbose = false},
                       Waits{std::string(folder)},
                       BackupAndRestore{.path = std::string(folder) + "/run.npz", .save_freq = 1, .verbose = true});
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return test::play_or_test(argc, argv, &play); }

BOOST_AUTO_TEST_CASE(a_backup_that_another_run_has_is_refused_until_that_run_is_killed) {
  for (std::size_t const ranks : {1u, 2u}) {
    test::Folder const folder;
    std::string const wait = folder.path() + "/wait", begun = folder.path() + "/begun";
    std::ofstream(wait) << "yes";
    Outcome first{};
    std::thread other([&] { first = test::run_on(ranks, folder.path()); });
    pid_t process = 0;
    for (int i = 0; i < 3000 && process == 0; ++i) {
      std::ifstream(begun) >> process;
      std::this_thread::sleep_for(10ms);
    }
    Outcome const second = test::run_on(ranks, folder.path());
    BOOST_TEST(second.code == 1);
    BOOST_TEST(second.count("run.npz: is in use by another run, process " + std::to_string(process) + " on ") == 1);
    ::kill(process, SIGKILL);
    other.join();
    BOOST_TEST(first.code != 0);
    std::filesystem::remove(wait);
    Outcome const third = test::run_on(ranks, folder.path());
    BOOST_TEST(third.code == 0);
    BOOST_TEST(third.count("Going on with epoch 1 after 3 of its batches") == 1);
    BOOST_TEST(folder.entries() == 1);  // `begun`
  }
}
