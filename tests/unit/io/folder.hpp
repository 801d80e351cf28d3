/// A folder that is gone after the test.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

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

/// "" if nothing was thrown.
template <class Error, class Function>
std::string message_of(Function&& function) {
  try {
    function();
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

}  // namespace trireme::test
