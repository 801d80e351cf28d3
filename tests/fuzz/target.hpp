/// A fuzz target of libFuzzer. Each states `seeds()`, valid inputs that are mutated, and `try_input(bytes)`, which may
/// throw trireme::FileError alone: any other exception, a fault and a finding of a sanitizer end the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#include "trireme/core/error.hpp"

std::vector<std::string> seeds();
void try_input(std::string_view bytes);

namespace trireme::fuzz {

/// Ends the program unless the condition holds.
inline void require(bool holds, std::string const& what) {
  if (holds) return;
  std::cerr << "finding: " << what << std::endl;
  std::abort();
}

/// f(). A FileError has to be one line that begins with the path.
template <class F>
void expect_file_error(std::string_view path, F const& f) {
  try {
    f();
  } catch (FileError const& error) {
    std::string_view const text = error.what();
    require(text.starts_with(path) && text.find('\n') == text.npos && text.size() < 1000, std::string(text));
  }
}

/// Takes a number from the beginning; 0 at the end.
inline unsigned take(std::string_view& bytes) {
  if (bytes.empty()) return 0;
  auto const value = static_cast<unsigned char>(bytes.front());
  bytes.remove_prefix(1);
  return value;
}

/// Takes what comes before the mark, and the mark.
inline std::string_view take_until(std::string_view& bytes, char mark) {
  std::size_t const end = std::min(bytes.find(mark), bytes.size());
  std::string_view const taken = bytes.substr(0, end);
  bytes.remove_prefix(std::min(end + 1, bytes.size()));
  return taken;
}

/// A folder in memory, if there is one, which is gone after the program.
class Folder {
 public:
  Folder() {
    std::string name =
        (::access("/dev/shm", W_OK) == 0 ? std::string("/dev/shm") : std::string("/tmp")) + "/trireme_fuzz_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
  }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(root_, ignored);
  }
  std::string file(char const* name) const { return root_ + "/" + name; }

 private:
  std::string root_;
};

inline void write_file(std::string const& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string content_of(std::string const& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
std::string bytes_of(T const& value) {
  return {reinterpret_cast<char const*>(&value), sizeof(T)};
}

/// Looks at each value, so that a sanitizer sees what was never set or is not there.
template <class Tensor>
void look_at(Tensor const& tensor) {
  double sum = 0;
  for (std::size_t i = 0; i < tensor.size(); ++i) sum += static_cast<double>(tensor.data[i]);
  [[maybe_unused]] static double volatile seen;
  seen = sum;
}

}  // namespace trireme::fuzz

/// Puts the seeds into the folder of inputs, which is the first argument that is no option.
extern "C" int LLVMFuzzerInitialize(int* count, char*** arguments) {
  for (int i = 1; i < *count; ++i) {
    std::string const folder = (*arguments)[i];
    if (folder.starts_with('-') || !std::filesystem::is_directory(folder)) continue;
    std::size_t number = 0;
    for (std::string const& seed : seeds())
      trireme::fuzz::write_file(folder + "/seed_" + std::to_string(number++), seed);
    break;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  try_input({reinterpret_cast<char const*>(data), size});
  return 0;
}
