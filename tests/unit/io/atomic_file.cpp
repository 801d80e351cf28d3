#define BOOST_TEST_MODULE io_atomic_file
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/stat.h>
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

/// The names that the next files written to `target` would have first.
std::vector<std::string> next_temporaries(std::string const& target) {
  std::string const last = tr::AtomicFile(target).temporary();  // <target>.<process>.<number>.tmp
  std::size_t const end = last.rfind('.'), begin = last.rfind('.', end - 1) + 1;
  auto const number = std::stoul(last.substr(begin, end - begin));
  std::vector<std::string> names;
  for (std::size_t i = 1; i <= 3; ++i) names.push_back(last.substr(0, begin) + std::to_string(number + i) + ".tmp");
  return names;
}

BOOST_FIXTURE_TEST_CASE(links_under_the_temporary_name_are_not_followed, Folder) {
  tr::write_atomically(file("victim"), "precious");
  for (auto const& name : next_temporaries(file("a"))) std::filesystem::create_symlink(file("victim"), name);
  tr::write_atomically(file("a"), "new");
  BOOST_TEST(text_of(file("a")) == "new");
  BOOST_TEST(text_of(file("victim")) == "precious");
  BOOST_TEST(!std::filesystem::is_symlink(file("a")));
}

BOOST_FIXTURE_TEST_CASE(what_another_process_of_the_same_number_writes_stays_its_own, Folder) {
  auto const names = next_temporaries(file("a"));  // as a process in another container has them
  for (auto const& name : names) std::ofstream(name) << "half of another's";
  tr::write_atomically(file("a"), "new");
  BOOST_TEST(text_of(file("a")) == "new");
  for (auto const& name : names) BOOST_TEST(text_of(name) == "half of another's");
}

BOOST_FIXTURE_TEST_CASE(the_new_file_has_the_permissions_of_the_old_one, Folder) {
  using std::filesystem::perms;
  mode_t const mask = ::umask(022);
  for (auto const before : {perms{0600}, perms{0664}, perms{0}}) {
    tr::write_atomically(file("a"), "old");
    std::filesystem::permissions(file("a"), before);
    tr::AtomicFile next(file("a"));
    auto const meanwhile = std::filesystem::status(next.temporary()).permissions();
    BOOST_TEST(((meanwhile & ~(before | perms{0600})) == perms::none));
    next.write("new");
    next.commit();
    BOOST_TEST((std::filesystem::status(file("a")).permissions() == before));
    std::filesystem::remove(file("a"));
  }
  tr::write_atomically(file("b"), "first");
  ::umask(mask);
  BOOST_TEST((std::filesystem::status(file("b")).permissions() == perms{0644}));
}

BOOST_FIXTURE_TEST_CASE(processes_that_write_one_target_at_once_leave_one_of_their_files, Folder) {
  std::vector<pid_t> children;
  for (char const letter : {'x', 'y', 'z'}) {
    children.push_back(::fork());
    BOOST_REQUIRE(children.back() >= 0);
    if (children.back() > 0) continue;
    for (int round = 0; round < 40; ++round) tr::write_atomically(file("a"), std::string(1 << 14, letter));
    ::_exit(0);
  }
  for (pid_t const child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    BOOST_TEST(status == 0);
  }
  std::string const text = text_of(file("a"));
  BOOST_REQUIRE(text.size() == std::size_t{1} << 14);
  BOOST_TEST(text == std::string(text.size(), text[0]));
  BOOST_TEST(entries() == 1u);
}

BOOST_FIXTURE_TEST_CASE(a_process_that_is_killed_while_it_writes_leaves_a_whole_file, Folder) {
  std::string const target = file("weights");
  std::string const first(1 << 20, 'a');
  tr::write_atomically(target, first);
  for (int round = 0; round < 60; ++round) {
    int committed[2];  // a byte for each file that the child has written
    BOOST_REQUIRE(::pipe(committed) == 0);
    pid_t const child = ::fork();
    BOOST_REQUIRE(child >= 0);
    if (child == 0) {
      for (char letter = 'b';; letter = letter == 'z' ? 'b' : static_cast<char>(letter + 1)) {
        tr::AtomicFile next(target);
        for (int part = 0; part < 16; ++part) next.write(std::string(1 << 16, letter));
        next.commit();
        if (::write(committed[1], &letter, 1) != 1) ::_exit(1);
      }
    }
    char letter = 0;
    for (int file = 0; file <= round % 3; ++file) BOOST_REQUIRE(::read(committed[0], &letter, 1) == 1);
    std::this_thread::sleep_for(std::chrono::microseconds(937 * (round % 23) / 2));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    ::close(committed[0]);
    ::close(committed[1]);
    BOOST_REQUIRE(WIFSIGNALED(status));
    std::string const text = text_of(target);
    BOOST_REQUIRE(text.size() == first.size());
    BOOST_REQUIRE(text[0] != 'a');
    BOOST_REQUIRE(text == std::string(first.size(), text[0]));
  }
}
