/// The status records of the processes of a node, in one directory, and who of them speaks when the run has failed.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trireme/collectives/pulse.hpp"
#include "trireme/collectives/status_record.hpp"
#include "trireme/error.hpp"
#include "trireme/text.hpp"

namespace trireme::detail {

/// Not collective, and without MPI: a watchdog calls it too, in a process whose main thread hangs.
class StatusBoard {
 public:
  using Record = StatusRecord;

  StatusBoard() = default;
  StatusBoard(StatusBoard const&) = delete;
  StatusBoard& operator=(StatusBoard const&) = delete;
  ~StatusBoard() { close(false); }

  /// The one that waits report to.
  static StatusBoard*& current() {
    static StatusBoard* board = nullptr;
    return board;
  }

  /// Makes this process's file. \param run  tells its records from those that an earlier run has left.
  /// \param keeps_directory  the directory is somebody else's, and stays when the run ends. \throws FileError
  void create(std::string const& directory, bool keeps_directory, std::uint64_t run, std::size_t rank,
              std::size_t ranks) {
    directory_ = directory;
    keeps_directory_ = keeps_directory;
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) fail(directory, "cannot be created");
    ::unlink(failure_path().c_str());  // an earlier run's
    path_ = formatted("{}/rank-{}.status", directory, rank);
    int const file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) fail(path_, "cannot be created");
    bool const sized = ::ftruncate(file, sizeof(Record)) == 0;
    void* const memory = sized ? ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : nullptr;
    ::close(file);
    if (memory == nullptr || memory == MAP_FAILED) fail(path_, "cannot be mapped");
    own_ = new (memory) Record;
    own_->run = run;
    own_->process = ::getpid();
    own_->process_namespace = process_namespace();
    own_->rank = static_cast<std::uint32_t>(rank);
    own_->ranks = static_cast<std::uint32_t>(ranks);
    ::gethostname(own_->host.data(), own_->host.size() - 1);
    own_->since.store(wall_clock(), std::memory_order_relaxed);
    own_->alive.store(wall_clock(), std::memory_order_relaxed);
    std::memcpy(own_->magic.data(), Record::kind.data(), own_->magic.size());
    Pulse::begin(*own_);
    current_status = own_;
    current() = this;
  }

  /// Finds the others on this node, once all have made their files.
  void find_others() {
    DIR* const listing = ::opendir(directory_.c_str());
    if (listing == nullptr) return;
    while (dirent const* const entry = ::readdir(listing)) {
      std::string_view const name = entry->d_name;
      if (name.starts_with("rank-") && name.ends_with(".status")) add(directory_ + '/' + entry->d_name);
    }
    ::closedir(listing);
    // Each watches the one behind it, in a ring: the system tells one process that another is gone.
    auto const distance = [this](Record const& other) { return (other.rank + other.ranks - own_->rank) % other.ranks; };
    for (Record* const other : others_)
      if (neighbour_ == nullptr || distance(*other) < distance(*neighbour_)) neighbour_ = other;
    current_neighbour = neighbour_;
  }

  /// Those of this node but this process, in no order.
  std::vector<Record*> const& others() const { return others_; }
  /// The one that this process watches, or null.
  Record* neighbour() const { return neighbour_; }
  Record const& own() const { return *own_; }
  std::string const& directory() const { return directory_; }

  /// Whether this process is the one to speak. The message is kept beside the records, and true is returned, if no
  /// other process has spoken before.
  bool claim(std::string const& message) const {
    int const file = ::open(failure_path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) return errno != EEXIST;  // without the file rather twice than never
    std::string const line = message + '\n';
    [[maybe_unused]] ssize_t const written = ::write(file, line.data(), line.size());
    ::close(file);
    return true;
  }

  /// \param in_order  the run has ended well, and nobody will want its records
  void close(bool in_order) {
    if (own_ == nullptr) return;
    if (in_order) own_->state.store(Record::State::ended, std::memory_order_release);
    if (current() == this) current() = nullptr;
    current_status = &private_status;
    current_neighbour = nullptr;
    for (Record* const other : others_) ::munmap(other, sizeof(Record));
    others_.clear();
    ::munmap(own_, sizeof(Record));
    own_ = nullptr;
    if (!in_order) return;
    ::unlink(path_.c_str());
    if (!keeps_directory_) ::rmdir(directory_.c_str());  // the last one succeeds
  }

 private:
  std::string failure_path() const { return directory_ + "/failure.txt"; }

  void add(std::string const& path) {
    if (path == path_) return;
    int const file = ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (file < 0) return;
    struct stat status {};
    bool const whole = ::fstat(file, &status) == 0 && static_cast<std::size_t>(status.st_size) == sizeof(Record);
    void* const memory =
        whole ? ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
    ::close(file);
    if (memory == MAP_FAILED) return;
    auto* const record = static_cast<Record*>(memory);
    // On a file system that nodes share there are records of other nodes too, of which memory here is no picture.
    bool const ours = std::memcmp(record->magic.data(), Record::kind.data(), record->magic.size()) == 0 &&
                      record->run == own_->run && record->host == own_->host &&
                      record->process_namespace == own_->process_namespace;
    if (ours)
      others_.push_back(record);
    else
      ::munmap(memory, sizeof(Record));
  }

  static std::uint64_t process_namespace() {
    struct stat status {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<std::uint64_t>(status.st_ino) : 0;
  }

  [[noreturn]] static void fail(std::string const& path, char const* what) {
    throw FileError(path, formatted("{}, for the status records of the run: {}", what, std::strerror(errno)));
  }

  std::string directory_, path_;
  bool keeps_directory_ = false;
  Record* own_ = nullptr;
  std::vector<Record*> others_;
  Record* neighbour_ = nullptr;
};

}  // namespace trireme::detail
