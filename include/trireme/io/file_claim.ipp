/// Definitions of trireme/io/file_claim.hpp.
#pragma once

#include "trireme/io/file_claim.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// The claims of this process. A lock of the system keeps other processes out, and not this one.
struct OwnClaims {
  std::mutex mutex;
  std::set<std::string> paths;
};

TRIREME_INLINE OwnClaims& own_claims() {
  static OwnClaims claims;
  return claims;
}

/// One text for all spellings of a path.
TRIREME_INLINE std::string canonical_path(std::string const& path) {
  std::error_code failed;
  auto const whole = std::filesystem::absolute(path, failed);
  auto const folder = std::filesystem::weakly_canonical(whole.parent_path(), failed);
  return ((failed ? whole.parent_path() : folder) / whole.filename()).string();
}

/// Locks the whole file as fcntl does, for this process alone: children do not inherit it.
TRIREME_INLINE int lock_file(int descriptor) {
  struct flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_SETLK, &lock);
}

TRIREME_INLINE FileClaim::FileClaim(std::string const& path, std::chrono::milliseconds silence)
    : path_(canonical_path(path)), silence_(silence) {}

TRIREME_INLINE FileClaim::Touches::~Touches() {
  {
    std::lock_guard const lock(mutex);
    stop = true;
  }
  wake.notify_one();
  if (thread.joinable()) thread.join();
}

TRIREME_INLINE FileClaim::~FileClaim() {
  touches_.reset();
  if (is_forked_child()) return;
  if (descriptor_ >= 0 && is_at_path()) ::unlink(lock_path().c_str());
  close();
  if (!registered_) return;
  auto& own = own_claims();
  std::lock_guard const lock(own.mutex);
  own.paths.erase(path_);
}

TRIREME_INLINE bool FileClaim::attempt() {
  if (!registered_) {
    auto& own = own_claims();
    std::lock_guard const lock(own.mutex);
    registered_ = own.paths.insert(path_).second;
    std::string const other = "one of this process";
    if (!registered_) fail_in_use(other);
  }
  for (auto const end = Clock::now() + between_looks;;) {
    switch (lock()) {
      case Lock::none:
        return true;
      case Lock::taken:
        write_owner();
        touch_regularly();
        return true;
      case Lock::held:
        break;
    }
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) status.st_mtim = seen_;
    bool const first = silent_since_ == Clock::time_point{};
    bool const touched = !first && (status.st_mtim.tv_sec != seen_.tv_sec || status.st_mtim.tv_nsec != seen_.tv_nsec);
    std::string const who = touched ? owner() : "";
    bool const gone = !first && !touched && Clock::now() - silent_since_ > silence_ && is_at_path();
    close();
    if (touched) fail_in_use(who);
    if (gone) ::unlink(lock_path().c_str());  // a lock on a new file is free
    if (first) {
      seen_ = status.st_mtim;
      silent_since_ = Clock::now();
    }
    if (Clock::now() >= end) return false;
    std::this_thread::sleep_for(between_looks / 4);
  }
}

TRIREME_INLINE void FileClaim::require_held() const {
  if (!is_held())
    throw FileError(path_, "was taken over by another run, to which this one had shown no sign of life for long");
}

TRIREME_INLINE FileClaim::Lock FileClaim::lock() {
  for (int tries = 0; tries < 100; ++tries) {  // the run that held it may remove the file at any moment
    descriptor_ = ::open(lock_path().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor_ < 0) return Lock::none;
    if (lock_file(descriptor_) == 0) {
      if (is_at_path()) return Lock::taken;
    } else if (errno == EACCES || errno == EAGAIN) {
      return Lock::held;
    } else {
      // This file system has no locks. The file is empty if it was made here.
      struct stat status{};
      if (::fstat(descriptor_, &status) == 0 && status.st_size == 0) ::unlink(lock_path().c_str());
      close();
      return Lock::none;
    }
    close();
  }
  return Lock::none;
}

TRIREME_INLINE bool FileClaim::is_at_path() const {
  struct stat open{}, named{};
  return ::fstat(descriptor_, &open) == 0 && ::stat(lock_path().c_str(), &named) == 0 && open.st_ino == named.st_ino &&
         open.st_dev == named.st_dev;
}

TRIREME_INLINE void FileClaim::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

TRIREME_INLINE void FileClaim::write_owner() const {
  std::array<char, 200> host{};
  ::gethostname(host.data(), host.size() - 1);
  std::array<char, 40> since{};
  std::time_t const now = std::time(nullptr);
  struct tm local{};
  ::localtime_r(&now, &local);
  std::strftime(since.data(), since.size(), "%Y-%m-%d %H:%M:%S", &local);
  std::string const text = formatted("process {} on {}, since {}", ::getpid(), host.data(), since.data());
  // Without room on the disk the claim is nameless.
  [[maybe_unused]] int const cut = ::ftruncate(descriptor_, 0);
  [[maybe_unused]] ssize_t const written = ::pwrite(descriptor_, text.data(), text.size(), 0);
}

TRIREME_INLINE std::string FileClaim::owner() const {
  std::array<char, 400> text{};
  ssize_t const length = ::pread(descriptor_, text.data(), text.size(), 0);
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length)) : "a process that is not named";
}

TRIREME_INLINE void FileClaim::touch_regularly() {
  touches_.reset(new Touches);
  sigset_t all, before;
  sigfillset(&all);  // signals are for the program's own threads
  pthread_sigmask(SIG_SETMASK, &all, &before);
  touches_->thread = std::thread([touches = touches_.get(), descriptor = descriptor_] {
    std::unique_lock lock(touches->mutex);
    while (!touches->wake.wait_for(lock, between_touches, [touches] { return touches->stop; }))
      ::futimens(descriptor, nullptr);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TRIREME_INLINE void FileClaim::fail_in_use(std::string const& who) const {
  throw FileError(path_,
                  formatted("is in use by another run, {}; wait for its end, or give this run another path", who));
}

}  // namespace trireme::detail
