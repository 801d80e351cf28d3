/// ThreadPlace: the processors that a thread may use, and the processor time that it has used.
#pragma once

#include <atomic>
#include <chrono>
#include <ctime>

#ifdef __linux__
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace trireme::detail {

/// Processor that the calling thread runs on; -1 if the system does not tell.
inline int current_cpu() {
#ifdef __linux__
  return sched_getcpu();
#else
  return -1;
#endif
}

/// Processor time that the calling thread has used.
inline std::chrono::nanoseconds thread_time() {
  std::timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// The processors of a thread, which other threads may keep off one of them for a while.
class ThreadPlace {
 public:
#ifdef __linux__
  /// Makes this the calling thread's.
  void take() {
    thread_.store(static_cast<pid_t>(syscall(SYS_gettid)), std::memory_order_release);  // gettid() is of glibc 2.30
  }
  /// The same, and restricts it to `all`.
  void take(cpu_set_t const& all) {
    sched_setaffinity(0, sizeof(cpu_set_t), &all);
    take();
  }

  /// Keeps the thread off this processor, unless it has no other one, until the next call; -1: off none. If the
  /// application changes the thread's processors meanwhile, they stay as they are. One thread calls at a time.
  void avoid(int cpu) {
    pid_t const thread = thread_.load(std::memory_order_acquire);
    if (cpu == avoided_ || thread == 0) return;
    cpu_set_t now;
    sched_getaffinity(thread, sizeof(cpu_set_t), &now);
    if (avoided_ < 0) all_ = set_ = now;
    avoided_ = cpu;
    if (!CPU_EQUAL(&now, &set_)) return;
    set_ = all_;
    if (cpu >= 0) CPU_CLR(cpu, &set_);
    if (CPU_COUNT(&set_) == 0) set_ = all_;
    if (!CPU_EQUAL(&now, &set_)) sched_setaffinity(thread, sizeof(cpu_set_t), &set_);
  }

 private:
  cpu_set_t all_{}, set_{};  ///< processors before, and those without the avoided one
  int avoided_ = -1;
  std::atomic<pid_t> thread_{0};
#else
  void avoid(int) {}
#endif
};

}  // namespace trireme::detail
