// Laws 4 and 5: runs on 1 to 4 ranks that are killed at random moments, also while they write, and started again until
// they are complete, end as runs that nobody killed, to the bit.
#define BOOST_TEST_MODULE killed_runs
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include "support/launch.hpp"
#include "support/small_training.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/compile.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/fit.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

namespace {

#ifdef TRIREME_HAVE_HDF5
constexpr char const* checkpoint = "/run.h5";
#else
constexpr char const* checkpoint = "/run.npz";
#endif

/// Gives the killer time to strike: small models train in no time.
struct Slow {
  void on_train_batch_end(auto&) { std::this_thread::sleep_for(microseconds(1500)); }
};

/// One of the ranks: says under its process number that it lives, trains, and writes what came out.
int train(int argc, char** argv) {
  std::string const folder = argv[2];
  std::ofstream(folder + "/ranks/" + std::to_string(::getpid()));
  Environment const environment(argc, argv, {.threads = 1});
  auto const& world = environment.world();
  // Gradients of an odd number of ranks in shared memory, others in messages.
  MultiWorkerMirroredStrategy<> const strategy(world, {}, 512,
                                               world.size() % 2 == 0 ? Exchange::messages : Exchange::automatic);
  auto const samples = test::mlp_samples<float>(45), tests = test::mlp_samples<float>(11, 2);
  auto model =
      compile(strategy,
              Sequential{Input<test::mlp_inputs>{}, Dense<40, Tanh>{.kernel_regularizer = L2(1e-3)},
                         BatchNormalization<>{.momentum = 0.8}, Dropout{.rate = 0.25f}, Dense<test::classes>{}},
              Adam{.learning_rate = 0.02}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{},
              CompileOptions{.seed = 3});
  auto const history = fit(strategy, model, samples.data().shuffle(45, 8).batch(GlobalBatch{4}).prefetch(2),
                           validation(tests.data().batch(GlobalBatch{3})), {.epochs = 8, .verbose = false}, Slow{},
                           EarlyStopping<"val_loss">{.patience = 6, .restore_best_weights = true},
                           ReduceLROnPlateau<"loss">{.factor = 0.5, .patience = 1, .min_delta = 0.05},
                           BackupAndRestore{.path = folder + checkpoint, .save_freq = 5, .verbose = true});
  if (!world.is_chief()) return 0;
  std::string result = fmt::format("weights {} after step {}\n", test::weight_bits(model), model.engine().iteration());
  for (auto const& [name, values] : history.values)
    for (double value : values) result += fmt::format("{} {:a}\n", name, value);
  write_atomically(folder + "/result", result);
  return 0;
}

std::string program;  // the command that starts this one

/// A training of its own process group, in a folder that outlives it.
class Job {
 public:
  Job(std::size_t ranks, test::Folder const& folder) : ranks_(folder.root / "ranks") {
    std::filesystem::remove_all(ranks_);
    std::filesystem::create_directories(ranks_);
    std::string const log = folder.file("log");
    std::string const many = ranks == 1 ? "" : fmt::format("{} -n {} ", test::launcher(), ranks);
    std::string const command = fmt::format("exec {}{} train {}", many, program, folder.root.string());
    launcher_ = ::fork();
    BOOST_REQUIRE(launcher_ >= 0);
    if (launcher_ > 0) return;
    ::setpgid(0, 0);
    int const out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    ::dup2(out, 1);
    ::dup2(out, 2);
    for (auto const& [name, value] : {std::pair{"OMP_NUM_THREADS", "1"},
                                      {"OMP_PROC_BIND", "false"},
                                      {"OPENBLAS_NUM_THREADS", "1"},
                                      {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                                      {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                                      {"OMPI_MCA_rmaps_base_oversubscribe", "1"}})
      ::setenv(name, value, 1);
    ::setenv("TMPDIR", folder.root.c_str(), 1);  // status records of killed runs go with it
    ::execlp("sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  Job(Job const&) = delete;
  Job& operator=(Job const&) = delete;
  ~Job() {
    if (!ended_) kill_all();
  }

  bool ended() {
    if (!ended_) ended_ = ::waitpid(launcher_, &status_, WNOHANG) == launcher_;
    return ended_;
  }
  /// The exit code, or -1.
  int wait() {
    while (!ended()) std::this_thread::sleep_for(microseconds(500));
    wait_for_ranks();
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
  }

  void kill_all() {
    ::kill(-launcher_, SIGKILL);
    for (pid_t rank : ranks()) ::kill(rank, SIGKILL);
    wait();
  }
  /// The launcher kills the others then, or they end with an error.
  void kill_one(std::mt19937& random) {
    auto const all = ranks();
    if (all.empty()) return kill_all();
    ::kill(all[random() % all.size()], SIGKILL);
    auto const patience = Clock::now() + std::chrono::seconds(10);
    while (!ended() && Clock::now() < patience) std::this_thread::sleep_for(microseconds(500));
    kill_all();
  }

 private:
  std::vector<pid_t> ranks() const {
    std::vector<pid_t> found;
    for (auto const& entry : std::filesystem::directory_iterator(ranks_))
      found.push_back(static_cast<pid_t>(std::stol(entry.path().filename().string())));
    return found;
  }
  /// True if the process runs; false if it has ended, also before its parent has waited for it.
  static bool lives(pid_t process) {
    std::string const status = test::text_of("/proc/" + std::to_string(process) + "/stat");
    std::size_t const name_end = status.rfind(')');
    return name_end != std::string::npos && status.size() > name_end + 2 && status[name_end + 2] != 'Z';
  }
  void wait_for_ranks() const {
    for (pid_t rank : ranks())
      while (lives(rank)) {
        ::kill(rank, SIGKILL);
        std::this_thread::sleep_for(microseconds(500));
      }
  }

  std::filesystem::path ranks_;
  pid_t launcher_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

bool is_writing(test::Folder const& folder) {
  for (auto const& entry : std::filesystem::directory_iterator(folder.root))
    if (entry.path().extension() == ".tmp") return true;
  return false;
}

std::size_t damaged_in_all = 0;

void check_killed_runs(std::size_t ranks, std::size_t kills) {
  std::mt19937 random(static_cast<unsigned>(ranks));
  auto const below = [&](double limit) {
    return microseconds(static_cast<long>(std::generate_canonical<double, 32>(random) * limit));
  };
  test::Folder whole;
  auto const begin = Clock::now();
  BOOST_REQUIRE(Job(ranks, whole).wait() == 0);
  double const duration = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
  std::string const expected = test::text_of(whole.file("result"));
  BOOST_REQUIRE(!expected.empty());

  std::size_t while_writing = 0, resumed = 0, pairs = 0, damaged = 0;
  test::Folder folder;
  std::string const file = folder.root.string() + checkpoint;
  auto const finish = [&](int code) {  // a run that nobody killed
    std::string const log = test::text_of(folder.file("log"));
    BOOST_TEST(code == 0, log);
    BOOST_TEST(test::text_of(folder.file("result")) == expected);
    BOOST_TEST(!std::filesystem::exists(file));
    for (std::size_t at = 0; (at = log.find("Going on with epoch", at)) != std::string::npos; ++at) ++resumed;
    std::filesystem::remove_all(folder.root);
    std::filesystem::create_directories(folder.root);
  };
  for (std::size_t kill = 0; kill < kills;) {
    Job job(ranks, folder);
    bool const behind_checkpoints = kill % 4 == 2, by_time = kill % 4 == 0;  // of which some runs go on, at any load
    auto const moment = Clock::now() + below(1.1 * duration);
    auto const struck = [&] {
      if (behind_checkpoints) return std::filesystem::exists(file + ".previous");
      return by_time ? Clock::now() >= moment : is_writing(folder);
    };
    while (!job.ended() && !struck()) std::this_thread::sleep_for(microseconds(by_time ? 500 : 50));
    if (!by_time) std::this_thread::sleep_for(below(4000));
    if (job.ended()) {
      finish(job.wait());
      continue;
    }
    if (kill % 3 == 0)
      job.kill_one(random);
    else
      job.kill_all();
    ++kill;
    if (is_writing(folder)) ++while_writing;
    // What no rename protects from: a disk that lost the end of a file.
    if (std::filesystem::exists(file) && std::filesystem::exists(file + ".previous") &&
        !std::filesystem::exists(file + ".new") && pairs++ % 2 == 0) {
      std::filesystem::resize_file(file, random() % std::filesystem::file_size(file));
      ++damaged;
    }
  }
  finish(Job(ranks, folder).wait());
  BOOST_TEST_MESSAGE(
      fmt::format("{} ranks: {} kills, {} of them while a checkpoint was written, {} runs went on from one, "
                  "{} checkpoints were damaged",
                  ranks, kills, while_writing, resumed, damaged));
  BOOST_TEST(resumed > 0u);
  damaged_in_all += damaged;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2 && std::string_view(argv[1]) == "train") return train(argc, argv);
  program = test::command_of(argv[0]);
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}

BOOST_AUTO_TEST_CASE(a_process_that_is_killed_14_times_ends_as_one_that_is_not) { check_killed_runs(1, 14); }
BOOST_AUTO_TEST_CASE(two_ranks_that_are_killed_13_times_end_as_ones_that_are_not) { check_killed_runs(2, 13); }
BOOST_AUTO_TEST_CASE(three_ranks_that_are_killed_13_times_end_as_ones_that_are_not) { check_killed_runs(3, 13); }
BOOST_AUTO_TEST_CASE(four_ranks_that_are_killed_10_times_end_as_ones_that_are_not) { check_killed_runs(4, 10); }
BOOST_AUTO_TEST_CASE(of_these_some_went_on_from_the_checkpoint_before_a_damaged_one) {
  BOOST_TEST(damaged_in_all > 0u);
}
