// A file is one run's alone while that run lives, and anybody's after.
#define BOOST_TEST_MODULE file_claim
#include <boost/test/unit_test.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/message_of.hpp"
#include "trireme/core/error.hpp"
#include "trireme/io/file_claim.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using detail::FileClaim;
using test::message_of;
using namespace std::chrono_literals;

namespace {

struct Folder : test::Folder {
  std::string path = file("run.h5"), lock = file("run.h5.lock");
};

void claim(FileClaim& claim) {
  while (!claim.attempt()) continue;
}

std::string refusal(FileClaim& claim) {
  return message_of<FileError>([&] { ::claim(claim); });
}

/// A process that calls f, then lives until it is killed.
class Other {
 public:
  template <class F>
  explicit Other(F const& f) {
    std::array<int, 2> pipe{};
    BOOST_REQUIRE(::pipe(pipe.data()) == 0);
    process_ = ::fork();
    if (process_ == 0) {
      f();
      [[maybe_unused]] ssize_t const written = ::write(pipe[1], "!", 1);
      for (;;) ::pause();
    }
    char begun = 0;
    BOOST_REQUIRE(::read(pipe[0], &begun, 1) == 1);
    ::close(pipe[0]);
    ::close(pipe[1]);
  }
  ~Other() { kill(); }
  pid_t process() const { return process_; }
  void kill() {
    if (process_ == 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
    process_ = 0;
  }

 private:
  pid_t process_ = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_claim_ends_with_its_scope_and_leaves_nothing, Folder) {
  for (int i = 0; i < 2; ++i) {
    FileClaim one(path);
    BOOST_TEST(one.attempt());
    BOOST_TEST(std::filesystem::exists(lock));
    one.require_held();
  }
  BOOST_TEST(!std::filesystem::exists(lock));
}

BOOST_FIXTURE_TEST_CASE(a_file_of_another_process_is_refused_until_that_is_killed, Folder) {
  Other other([this] { claim(*new FileClaim(path)); });
  FileClaim one(path);
  std::string const text = refusal(one);
  std::array<char, 200> host{};
  ::gethostname(host.data(), host.size() - 1);
  BOOST_TEST(text.starts_with(path + ": is in use by another run, process " + std::to_string(other.process()) + " on " +
                              host.data() + ", since 20"),
             text);
  other.kill();
  BOOST_TEST(std::filesystem::exists(lock));
  FileClaim two((root / ".." / root.filename() / "run.h5").string());
  BOOST_TEST(message_of<FileError>([&] { two.attempt(); }).find("one of this process") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(a_second_claim_of_one_process_is_refused_and_takes_nothing_from_the_first, Folder) {
  FileClaim one(path);
  BOOST_TEST(one.attempt());
  {
    FileClaim two(path);
    BOOST_TEST(refusal(two).find("one of this process") != std::string::npos);
  }
  Other const next([this] {
    int const file = ::open(lock.c_str(), O_RDWR);
    struct flock whole{};
    whole.l_type = F_WRLCK;
    if (::fcntl(file, F_SETLK, &whole) == 0) ::_exit(1);
  });
}

BOOST_FIXTURE_TEST_CASE(a_killed_process_keeps_nobody_out_though_a_child_of_it_lives, Folder) {
  std::string const child = file("child");
  Other other([&] {
    claim(*new FileClaim(path));
    if (::fork() != 0) return;
    std::ofstream(child + ".new") << ::getpid();
    std::filesystem::rename(child + ".new", child);
    for (;;) ::pause();
  });
  while (!std::filesystem::exists(child)) std::this_thread::sleep_for(1ms);
  other.kill();
  FileClaim one(path);
  BOOST_TEST(one.attempt());
  pid_t orphan = 0;
  std::ifstream(child) >> orphan;
  ::kill(orphan, SIGKILL);
}

BOOST_FIXTURE_TEST_CASE(a_lock_without_a_sign_of_life_is_taken_over, Folder) {
  Other const lost([this] {  // as a server may keep the lock of a node
    int const file = ::open(lock.c_str(), O_RDWR | O_CREAT, 0644);
    struct flock whole{};
    whole.l_type = F_WRLCK;
    if (::fcntl(file, F_SETLK, &whole) != 0) ::_exit(1);
  });
  FileClaim one(path, 1500ms);
  auto const begin = FileClaim::Clock::now();
  BOOST_TEST(!one.attempt());
  claim(one);
  BOOST_TEST((FileClaim::Clock::now() - begin > 1500ms));
  one.require_held();
  Other const next([this] {  // it is a claim as any other
    FileClaim two(path);
    if (refusal(two).empty()) ::_exit(1);
  });
}

BOOST_FIXTURE_TEST_CASE(a_run_whose_file_was_taken_over_says_so, Folder) {
  {
    FileClaim one(path);
    BOOST_TEST(one.attempt());
    std::filesystem::remove(lock);
    std::ofstream(lock) << "another's";
    BOOST_TEST(message_of<FileError>([&] { one.require_held(); }).find("was taken over by another run") !=
               std::string::npos);
  }
  BOOST_TEST(std::filesystem::exists(lock));
}

BOOST_FIXTURE_TEST_CASE(where_there_can_be_no_lock_there_is_no_claim, Folder) {
  FileClaim one(file("no/such/folder/run.h5"));
  BOOST_TEST(one.attempt());
  one.require_held();
}
