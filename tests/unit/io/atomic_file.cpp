#define BOOST_TEST_MODULE io_atomic_file
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <string>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include "trireme/io/atomic_file.hpp"

#include "folder.hpp"

namespace tr = trireme;
using tr::test::Folder;
using tr::test::message_of;
using tr::test::text_of;

BOOST_FIXTURE_TEST_CASE(a_file_has_its_name_only_after_the_commit, Folder) {
  tr::write_atomically(file("a"), "old");
  {
    tr::AtomicFile next(file("a"));
    next.write("new");
    BOOST_TEST(text_of(file("a")) == "old");
    BOOST_TEST(text_of(next.temporary()) == "new");
    next.commit();
  }
  BOOST_TEST(text_of(file("a")) == "new");
  BOOST_TEST(entries() == 1u);
}

BOOST_FIXTURE_TEST_CASE(an_exception_leaves_the_old_file_and_nothing_beside_it, Folder) {
  tr::write_atomically(file("a"), "old");
  try {
    tr::AtomicFile next(file("a"));
    next.write("half of the n");
    throw std::runtime_error("the other half cannot be computed");
  } catch (std::runtime_error const&) {
  }
  BOOST_TEST(text_of(file("a")) == "old");
  BOOST_TEST(entries() == 1u);
}

BOOST_FIXTURE_TEST_CASE(an_error_names_the_path_and_the_systems_reason, Folder) {
  std::string const absent = file("absent/a");
  BOOST_TEST(message_of<tr::FileError>([&] { tr::write_atomically(absent, "x"); }) ==
             absent + ": cannot be created: No such file or directory");
  std::filesystem::create_directories(root / "full" / "of");
  std::string const folder = file("full");
  BOOST_TEST(message_of<tr::FileError>([&] { tr::write_atomically(folder, "x"); }) ==
             folder + ": cannot be replaced: Is a directory");
  BOOST_TEST(entries() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_process_that_is_killed_while_it_writes_leaves_a_whole_file, Folder) {
  std::string const target = file("weights");
  std::string const first(1 << 20, 'a');
  tr::write_atomically(target, first);
  std::size_t replaced = 0;
  for (int round = 0; round < 60; ++round) {
    pid_t const child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
      for (char letter = 'a';; letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
        tr::AtomicFile next(target);
        for (int part = 0; part < 16; ++part) next.write(std::string(1 << 16, letter));
        next.commit();
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + 937 * (round % 23)));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    BOOST_REQUIRE(WIFSIGNALED(status));
    std::string const text = text_of(target);
    BOOST_REQUIRE(text.size() == first.size());
    BOOST_REQUIRE(text == std::string(first.size(), text[0]));
    if (text[0] != 'a') ++replaced;
  }
  BOOST_TEST(replaced > 0u);  // otherwise every child was killed before its first commit, and nothing was tested
}
