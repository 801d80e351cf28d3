/// Programs that start themselves again, under a launcher and in roles, and look at how those ended. For a test with
/// BOOST_TEST_NO_MAIN.
#pragma once

#include <boost/test/unit_test.hpp>

#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include "support/launch.hpp"

namespace trireme::test {

/// The command that starts this program.
inline std::string program;

/// A folder of a test, removed with all that is in it.
class Folder {
 public:
  Folder() { BOOST_REQUIRE(mkdtemp(path_.data()) != nullptr); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(Folder const&) = delete;
  Folder& operator=(Folder const&) = delete;
  std::string const& path() const { return path_; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(path_), {}));
  }

 private:
  std::string path_ = "/tmp/trireme_roles_XXXXXX";
};

struct Outcome {
  int code;
  std::string text;

  std::size_t count(std::string_view what) const {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++n;
    return n;
  }
};

inline Outcome shell(std::string const& command) {
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), [](FILE*) { return 0; });
  BOOST_REQUIRE(pipe != nullptr);
  std::string text;
  std::array<char, 1024> buffer{};
  while (std::fgets(buffer.data(), static_cast<int>(buffer.size()), pipe.get()) != nullptr) text += buffer.data();
  int const status = pclose(pipe.release());
  BOOST_TEST_MESSAGE(command << " wrote:\n" << text);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}

/// This program in a role, behind a prefix such as a launcher.
inline Outcome run(std::string const& prefix, std::string const& role) {
  return shell(
      "unset OMP_PROC_BIND; export OMP_NUM_THREADS=1 KOKKOS_DISABLE_WARNINGS=1 "
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1; timeout 60 " +
      prefix + " " + program + " role " + role + " 2>&1");
}

/// The same on so many ranks.
inline Outcome run_on(std::size_t ranks, std::string const& role) {
  return run(launcher() + " -n " + std::to_string(ranks), role);
}

/// The body of main: `play(role, argc, argv)` where this process has a role, and else the tests.
inline int play_or_test(int argc, char** argv, int (*play)(std::string_view, int, char**)) {
  if (argc > 2 && std::string_view(argv[1]) == "role") return play(argv[2], argc, argv);
  program = command_of(argv[0]);
  Folder const temporary;  // runs that fail leave their status records there
  ::setenv("TMPDIR", temporary.path().c_str(), 1);
  return boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
}

}  // namespace trireme::test
