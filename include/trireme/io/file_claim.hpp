/// FileClaim: a file that one run alone writes for a while.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include <sys/stat.h>

#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// A claim is a lock of the system on `<path>.lock`, which also says host, process and time. The lock ends with its
/// process, whatever ends that one, so that a killed run claims nothing. A file server may keep the lock of a node that
/// is lost. So its owner also touches the file every two seconds, and a lock whose file has been left alone for half a
/// minute, as others observe it, is taken over. Where a file system has no locks, or the file cannot be made, there
/// is no claim and no error.
class FileClaim {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr char const* ending = ".lock";  ///< behind the path: of the lock's file

  /// \param silence  time without a touch after which a claim is taken over
  explicit FileClaim(std::string const& path, std::chrono::milliseconds silence = std::chrono::seconds(30));
  FileClaim(FileClaim const&) = delete;
  FileClaim& operator=(FileClaim const&) = delete;
  /// Removes the lock's file, unless it is another run's by now.
  ~FileClaim();

  /// Tries to make the claim. \return false if another run has it of which no sign of life was seen yet: to be called
  /// again then. It takes half a second at most. \throws FileError if another run is alive that has it
  bool attempt();

  /// False if another run has taken the claim over.
  bool is_held() const { return descriptor_ < 0 || is_at_path(); }
  /// \throws FileError if another run has taken the claim over
  void require_held() const;

 private:
  enum class Lock { taken, held, none };

  static constexpr std::chrono::milliseconds between_touches{2000}, between_looks{400};

  std::string lock_path() const { return path_ + ending; }
  /// Opens the lock's file, and locks it.
  Lock lock();
  /// True if the descriptor's file is the one at `lock_path`.
  bool is_at_path() const;
  void close();
  void write_owner() const;
  std::string owner() const;
  void touch_regularly();
  [[noreturn]] void fail_in_use(std::string const& who) const;

  std::string path_;
  std::chrono::milliseconds silence_;
  int descriptor_ = -1;     ///< of the lock's file, while the claim is held
  struct timespec seen_{};  ///< when another run touched it last
  Clock::time_point silent_since_{};
  bool registered_ = false;  ///< among the claims of this process, to which the system grants every lock

  struct Touches {
    std::mutex mutex;
    std::condition_variable wake;
    bool stop = false;
    std::thread thread;
    ~Touches();
  };
  ThreadOwner<Touches> touches_;
};

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/io/file_claim.ipp"
#endif
