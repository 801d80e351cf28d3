// Threads that are stopped at random, and all of them on one processor beside others that never rest: weights and
// metrics keep their bits, and nothing hangs.
#define BOOST_TEST_MODULE starved_threads
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/small_training.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>
#include <ctime>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

extern "C" void stop_for_a_while(int) {
  timespec const time{0, 300'000};
  nanosleep(&time, nullptr);
}

std::vector<pid_t> threads_of_this_process() {
  std::vector<pid_t> threads;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  return threads;
}

/// Stops threads of the process at random as long as it lives.
class RandomStops {
 public:
  RandomStops() {
    struct sigaction action{};
    action.sa_handler = stop_for_a_while;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);  // for good: a signal may arrive later
    stopper_ = std::thread([this] {
      std::mt19937 random(7);
      while (!ended_) {
        auto const threads = threads_of_this_process();
        pid_t const thread = threads[random() % threads.size()];
        if (thread != static_cast<pid_t>(syscall(SYS_gettid))) syscall(SYS_tgkill, getpid(), thread, SIGUSR2);
        std::this_thread::yield();
      }
    });
  }
  ~RandomStops() {
    ended_ = true;
    stopper_.join();
  }

 private:
  std::atomic<bool> ended_ = false;
  std::thread stopper_;
};

/// All threads of the process on one processor, with two that never rest, as long as it lives.
class OneProcessor {
 public:
  OneProcessor() {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    place_all(one);
    for (int i = 0; i < 2; ++i)
      others_.emplace_back([this] {
        while (!ended_) {
        }
      });
  }
  ~OneProcessor() {
    ended_ = true;
    for (std::thread& other : others_) other.join();
    place_all(before_);
  }

 private:
  static void place_all(cpu_set_t const& cpus) {
    for (pid_t const thread : threads_of_this_process()) sched_setaffinity(thread, sizeof(cpus), &cpus);
  }

  cpu_set_t before_;
  std::atomic<bool> ended_ = false;
  std::vector<std::thread> others_;
};

/// The bits of all weights after six epochs, and the losses.
template <class Strategy, class Layers>
auto trained(Strategy const& strategy, Layers const& layers, Parallelism plan) {
  auto const samples = test::mlp_samples<float>(200);
  auto model =
      compile(strategy, layers, Adam{.learning_rate = 1e-2}, SparseCategoricalCrossentropy{.from_logits = true},
              Accuracy{}, CompileOptions{.seed = 3, .parallelism = plan});
  auto const history =
      fit(strategy, model, samples.data().shuffle(200, 5).batch(GlobalBatch{9}), {.epochs = 6, .verbose = false});
  return std::pair{test::weight_bits(model), history["loss"]};
}

template <class Strategy, class Layers>
void check(Strategy const& strategy, Layers const& layers,
           std::vector<Parallelism> const& plans = {Parallelism::samples, Parallelism::intra_op}) {
  for (Parallelism const plan : plans) {
    auto const expected = trained(strategy, layers, plan);
    {
      RandomStops const stops;
      BOOST_TEST((trained(strategy, layers, plan) == expected));
    }
    OneProcessor const one;
    BOOST_TEST((trained(strategy, layers, plan) == expected));
  }
}

auto plain() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<40, Tanh>{}, Dropout{.rate = 0.25f}, Dense<test::classes>{}};
}
auto with_statistics_of_the_batch() {
  return Sequential{Input<test::mlp_inputs>{}, Dense<40, Tanh>{}, SyncBatchNormalization<>{}, Dense<test::classes>{}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_device) { check(OneDeviceStrategy<>(), plain()); }
BOOST_AUTO_TEST_CASE(partitions_that_wait_for_each_other) {
  check(OneDeviceStrategy<>(), with_statistics_of_the_batch());
}
BOOST_AUTO_TEST_CASE(threads_that_own_rows_of_the_weights) {
  check(OneDeviceStrategy<>(),
        Sequential{Input<test::mlp_inputs>{}, Dense<256, Tanh>{}, Dense<128, Tanh>{}, Dense<test::classes>{}},
        {Parallelism::automatic});
}
BOOST_AUTO_TEST_CASE(replicas) { check(MirroredStrategy<>(3), plain()); }
BOOST_AUTO_TEST_CASE(more_lanes_than_threads) {
  check(VirtualReplicas<OneDeviceStrategy<>, 8>(), plain(), {Parallelism::samples});
  check(VirtualReplicas<OneDeviceStrategy<>, 8>(), with_statistics_of_the_batch(), {Parallelism::samples});
}
