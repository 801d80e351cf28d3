/// Starvation of a process: threads that are stopped at random, and processors that others take.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <csignal>
#include <ctime>

namespace trireme::test {

extern "C" inline void stop_for_a_while(int) {
  timespec const time{0, 300'000};
  nanosleep(&time, nullptr);
}

inline std::vector<pid_t> threads_of_this_process() {
  std::vector<pid_t> threads;
  for (auto const& entry : std::filesystem::directory_iterator("/proc/self/task"))
    threads.push_back(std::atoi(entry.path().filename().c_str()));
  return threads;
}

/// Stops threads of the process at random as long as it lives. Between two stops lies `pause`, in which a thread that
/// is stopped most of the time goes on.
class RandomStops {
 public:
  explicit RandomStops(unsigned seed = 7, std::chrono::microseconds pause = {}) {
    struct sigaction action{};
    action.sa_handler = stop_for_a_while;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, nullptr);  // for good: a signal may arrive later
    stopper_ = std::thread([this, seed, pause] {
      std::mt19937 random(seed);
      while (!ended_) {
        auto const threads = threads_of_this_process();
        pid_t const thread = threads[random() % threads.size()];
        if (thread != static_cast<pid_t>(syscall(SYS_gettid))) syscall(SYS_tgkill, getpid(), thread, SIGUSR2);
        if (pause.count() == 0)
          std::this_thread::yield();
        else
          std::this_thread::sleep_for(pause);
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

/// All threads of the process on one processor, with some that never rest, as long as it lives.
class OneProcessor {
 public:
  explicit OneProcessor(std::size_t restless) {
    sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &before_)) CPU_SET(cpu, &one);
    place_all(one);
    for (std::size_t i = 0; i < restless; ++i)
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

/// Number of times that the thread has left its processor to sleep; a yield does not count.
inline long sleeps_of(long process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/status");
  for (std::string word; file >> word;)
    if (word == "voluntary_ctxt_switches:") {
      long count = 0;
      file >> count;
      return count;
    }
  return -1;
}

}  // namespace trireme::test
