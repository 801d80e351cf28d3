/// Text that a program writes to stdout, and stdout that takes none.
#pragma once

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include <unistd.h>

namespace trireme::test {

/// Scope in which stdout is the file of another descriptor.
class StdoutScope {
 public:
  explicit StdoutScope(int file) : before_((std::fflush(stdout), ::dup(STDOUT_FILENO))) {
    BOOST_REQUIRE(before_ >= 0);
    BOOST_REQUIRE(::dup2(file, STDOUT_FILENO) >= 0);
  }
  ~StdoutScope() {
    std::fflush(stdout);
    std::clearerr(stdout);
    ::dup2(before_, STDOUT_FILENO);
    ::close(before_);
  }
  StdoutScope(StdoutScope const&) = delete;
  StdoutScope& operator=(StdoutScope const&) = delete;

 private:
  int before_;
};

/// Text that this process writes to stdout while f() runs.
template <class F>
std::string printed(F const& f) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::tmpfile(), std::fclose);
  BOOST_REQUIRE(file != nullptr);
  {
    StdoutScope const scope(::fileno(file.get()));
    f();
  }
  std::rewind(file.get());
  std::string text;
  std::array<char, 1024> part{};
  for (std::size_t n = 0; (n = std::fread(part.data(), 1, part.size(), file.get())) > 0;) text.append(part.data(), n);
  return text;
}

}  // namespace trireme::test
