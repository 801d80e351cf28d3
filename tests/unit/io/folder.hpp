/// A folder that is gone after the test.
#pragma once

#include <csignal>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/resource.h>
#include <unistd.h>

#include "support/message_of.hpp"

namespace trireme::test {

struct Folder {
  std::filesystem::path root;
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "trireme_io_XXXXXX").string();
    root = ::mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(root); }
  std::string file(char const* name) const { return (root / name).string(); }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(root), {}));
  }
};

inline std::string text_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Files of this process end at `bytes`, as on a disk that is full there: writing beyond fails with "File too large".
class FileSizeLimit {
 public:
  explicit FileSizeLimit(std::size_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(FileSizeLimit const&) = delete;
  FileSizeLimit& operator=(FileSizeLimit const&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  void (*signal_)(int);
  rlimit before_{};
};

inline std::size_t open_files() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

}  // namespace trireme::test
