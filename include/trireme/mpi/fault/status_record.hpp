/// StatusRecord: the state of a process in a page of memory, usually mapped from a file. The other processes of the
/// node read it, and it outlives the process.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

#include <pthread.h>
#include <sys/stat.h>

namespace trireme::detail {

/// The layout of the file; scripts/explain-failure reads it too. One thread writes the numbers, any may read them.
struct StatusRecord {
  static constexpr std::size_t call_words = 5, path_bytes = 1024;
  static constexpr std::string_view kind = "trireme status 3";
  enum class State : std::uint32_t {
    running = 0,
    ended = 1,  ///< in order, or with an error that all agreed on
    failed = 2  ///< has written its abort message
  };

  // Identity: written before other processes read it.
  std::array<char, 16> magic{};
  std::uint64_t run = 0;  ///< the same number in all records of a run
  std::int64_t process = 0;
  std::uint64_t process_namespace = 0;  ///< where `process` means something
  std::uint32_t rank = 0, ranks = 1;
  std::int64_t since_1970 = 0;  ///< at the origin of `steady_clock_now`, as the system's clock had it at the start
  std::array<char, 200> host{};

  // Position: written by the thread that started MPI. Counts are from 1; 0: none yet.
  alignas(64) std::atomic<std::uint64_t> activity{0};  ///< changes whenever something happens
  std::atomic<std::uint64_t> epoch{0}, step{0};
  std::atomic<std::uint32_t> waiting{0};  ///< 1 while the process is in `call`; 0: `call` was its last one
  std::atomic<State> state{State::running};
  std::array<std::atomic<std::uint64_t>, call_words> call{};  ///< text, in words that are read whole

  // Times: written by the watchdog, as `steady_clock_now` has it.
  alignas(64) std::atomic<std::int64_t> since{0};  ///< about when `activity` changed last
  std::atomic<std::int64_t> alive{0};              ///< when the watchdog looked last
  std::atomic<std::uint32_t> missed{0};            ///< the rank that was seen to be gone, from 1
  std::atomic<std::int64_t> missed_at{0};

  alignas(64) std::atomic<std::uint64_t> checkpoints_noted{0};  ///< the path below of its last bit is valid
  using Path = std::array<std::atomic<std::uint64_t>, path_bytes / 8>;
  std::array<Path, 2> checkpoints{};

  alignas(64) pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;  ///< see Heartbeat

  /// Records activity.
  void touch() { activity.store(activity.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

  void begin_call(char const* name) {
    std::array<std::uint64_t, call_words> words{};
    std::memcpy(words.data(), name, std::min(std::strlen(name), sizeof words - 1));
    for (std::size_t i = 0; i < call_words; ++i) call[i].store(words[i], std::memory_order_relaxed);
    waiting.store(1, std::memory_order_relaxed);
    touch();
  }
  void end_call() {
    waiting.store(0, std::memory_order_relaxed);
    touch();
  }

  void at(std::size_t epoch_from_0, std::uint64_t steps_done) {
    epoch.store(epoch_from_0 + 1, std::memory_order_relaxed);
    step.store(steps_done + 1, std::memory_order_relaxed);
    touch();
  }

  void set_checkpoint(std::string_view path) {
    std::array<std::uint64_t, std::tuple_size_v<Path>> words{};
    std::memcpy(words.data(), path.data(), std::min(path.size(), path_bytes - 1));
    std::uint64_t const noted = checkpoints_noted.load(std::memory_order_relaxed) + 1;
    Path& place = checkpoints[noted % 2];
    // Not relaxed: who reads one of these words sees that the path which stood here is valid no more.
    for (std::size_t i = 0; i < words.size(); ++i) place[i].store(words[i], std::memory_order_release);
    checkpoints_noted.store(noted, std::memory_order_release);
  }

  std::string call_name() const {
    std::array<std::uint64_t, call_words> words{};
    for (std::size_t i = 0; i < call_words; ++i) words[i] = call[i].load(std::memory_order_relaxed);
    std::array<char, sizeof words> text{};
    std::memcpy(text.data(), words.data(), sizeof words - 1);
    return text.data();
  }
  /// The path that was noted last, whole, while another process may note two more meanwhile.
  std::string checkpoint() const {
    std::array<char, path_bytes> text{};
    for (std::uint64_t noted = checkpoints_noted.load(std::memory_order_acquire);;) {
      std::uint64_t const before = noted;
      Path const& place = checkpoints[before % 2];
      for (std::size_t i = 0; i < place.size(); ++i) {
        std::uint64_t const word = place[i].load(std::memory_order_acquire);
        std::memcpy(text.data() + i * sizeof word, &word, sizeof word);
      }
      noted = checkpoints_noted.load(std::memory_order_acquire);
      if (noted == before) return text.data();
    }
  }
};
static_assert(offsetof(StatusRecord, life) == 2560 && sizeof(StatusRecord::State) == 4,
              "trireme: scripts/explain-failure reads another layout of status records");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free,
              "trireme: processes share their status records, which may hold no lock");

/// Record of a process before it has a file and after it has closed it.
inline StatusRecord private_status;
inline StatusRecord* current_status = &private_status;
/// The record of the process that this one watches, or null. Once that has ended, the watchdog's thread sets another.
inline std::atomic<StatusRecord*> current_neighbour{nullptr};

/// This process's record.
inline StatusRecord& status() { return *current_status; }

/// Scope of a call that trains, tests or predicts. It begins with the position of the call around it, as of fit around
/// the evaluate of a callback, or with none; when the call returns, this process's record has that again. An error
/// leaves the position as it is, for the message that may end the process, until another call begins.
class PositionScope {
 public:
  PositionScope() {
    if (calls.fetch_add(1, std::memory_order_relaxed) == 0) set(epoch_ = 0, step_ = 0);
  }
  ~PositionScope() {
    bool const is_last = calls.fetch_sub(1, std::memory_order_relaxed) == 1;
    if (std::uncaught_exceptions() > exceptions_) return;
    set(is_last ? 0 : epoch_, is_last ? 0 : step_);
  }
  PositionScope(PositionScope const&) = delete;
  PositionScope& operator=(PositionScope const&) = delete;

 private:
  static void set(std::uint64_t epoch, std::uint64_t step) {
    status().epoch.store(epoch, std::memory_order_relaxed);
    status().step.store(step, std::memory_order_relaxed);
    status().touch();
  }

  inline static std::atomic<int> calls{0};  ///< that have begun and not ended
  int exceptions_ = std::uncaught_exceptions();
  std::uint64_t epoch_ = status().epoch.load(std::memory_order_relaxed),
                step_ = status().step.load(std::memory_order_relaxed);
};

/// Complete files from which the run can be continued. The record has the newest. To be called by every process;
/// threads that train models of their own may call it at once.
class NotedCheckpoints {
 public:
  void note(std::string const& path) {
    std::string whole = absolute(path);
    std::lock_guard const lock(writing_);
    std::erase(paths_, whole);
    if (paths_.size() == most) paths_.erase(paths_.begin());
    paths_.push_back(std::move(whole));
    status().set_checkpoint(paths_.back());
  }
  /// For a file that is removed: the record has the one noted before, or none.
  void forget(std::string const& path) {
    std::string const whole = absolute(path);
    std::lock_guard const lock(writing_);
    bool const newest = !paths_.empty() && paths_.back() == whole;
    std::erase(paths_, whole);
    if (newest) status().set_checkpoint(paths_.empty() ? std::string() : paths_.back());
  }

 private:
  static constexpr std::size_t most = 16;

  static std::string absolute(std::string const& path) {
    std::error_code failed;
    std::filesystem::path const whole = std::filesystem::absolute(path, failed);
    return failed ? path : whole.string();
  }

  std::mutex writing_;                ///< beside the record, which other processes read without a lock
  std::vector<std::string> paths_{};  ///< the newest last
};

inline NotedCheckpoints& noted_checkpoints() {
  static NotedCheckpoints noted;
  return noted;
}

/// Number of the namespace in which the number of this process means something.
inline std::uint64_t process_namespace() {
  struct stat status{};
  return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
}

/// Time in nanoseconds, the same for all processes of a machine, and never set back or forward.
inline std::int64_t steady_clock_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace trireme::detail
