#define BOOST_TEST_MODULE expired_records
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/roles.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/expired_records.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/watchdog.hpp"

using namespace trireme;
using detail::ExpiredRecords, detail::RankRegistry, detail::StatusRecord;
using test::Folder;
namespace fs = std::filesystem;

namespace {

std::string const old_run = "trireme-4711-0123456789abcdef";
constexpr std::time_t day = 24 * 3600;

void set_age(fs::path const& path, std::time_t age) {
  std::timespec const then{std::time(nullptr) - age, 0};
  std::timespec const times[] = {then, then};
  BOOST_REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) == 0);
}

/// Makes a directory and all that lies in it so many days old.
void age(fs::path const& directory, std::time_t days = 8) {
  for (auto const& entry : fs::directory_iterator(directory)) set_age(entry.path(), days * day);
  set_age(directory, days * day);
}

/// The records of a run of two ranks, whose processes have ended.
fs::path make_run(std::string const& folder, std::string const& name = old_run) {
  fs::path const path = fs::path(folder) / name;
  fs::create_directory(path);
  fs::permissions(path, fs::perms::owner_all);
  for (auto* const file : {"rank-0.status", "rank-11.status"})
    std::ofstream(path / file) << std::string(sizeof(StatusRecord), '\0');
  std::ofstream(path / "failure.txt") << "trireme: rank 1: train.idx: is truncated\n";
  age(path);
  return path;
}

std::size_t removed_beside_a_new_run(std::string const& folder, ExpiredRecords::Limits const& limits = {}) {
  detail::StatusDirectory own;
  own.open(folder, "trireme-4712-0123456789abcdef");
  std::size_t const removed = ExpiredRecords(own, limits).remove();
  own.remove_if_empty();
  return removed;
}

/// The number of a process that has ended.
pid_t ended_process() {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return child;
}

}  // namespace

BOOST_AUTO_TEST_CASE(old_records_go_with_their_directory) {
  Folder const folder;
  make_run(folder.path());
  make_run(folder.path(), "trireme-user-0-00000000000000ff");
  fs::path const empty = fs::path(folder.path()) / "trireme-77[1].node-a-fedcba9876543210";
  fs::create_directory(empty);  // its process was killed before it made a file
  fs::permissions(empty, fs::perms::owner_all);
  age(empty);
  BOOST_TEST(removed_beside_a_new_run(folder.path()) == 3u);
  BOOST_TEST(folder.entries() == 0u);
}

BOOST_AUTO_TEST_CASE(records_of_the_last_seven_days_stay) {
  Folder const folder;
  fs::path const run = make_run(folder.path());
  for (auto const& name : {"rank-0.status", "rank-11.status", "failure.txt", "."}) {
    age(run);
    set_age(run / name, 6 * day);
    BOOST_TEST(removed_beside_a_new_run(folder.path()) == 0u, name);
  }
  BOOST_TEST(fs::exists(run / "failure.txt"));
}

BOOST_AUTO_TEST_CASE(names_that_no_run_gives_stay) {
  Folder const folder;
  std::vector<std::string> const names{"trireme-4711",
                                       "trireme-0123456789abcdef",
                                       "trireme--0123456789abcdef",
                                       "trireme-4711-0123456789abcde",
                                       "trireme-4711-0123456789ABCDEF",
                                       "trireme-4711-0123456789abcdef.bak",
                                       "my-trireme-4711-0123456789abcdef",
                                       "trireme_0123456789abcdef"};
  for (std::string const& name : names) make_run(folder.path(), name);
  BOOST_TEST(removed_beside_a_new_run(folder.path()) == 0u);
  BOOST_TEST(folder.entries() == names.size());
  for (auto* const name : {"rank-0.status", "rank-123456.status", "failure.txt"})
    BOOST_TEST(ExpiredRecords::is_run_file(name));
  for (auto* const name : {"rank-.status", "rank-1.status~", "rank-1a.status", "rank-1", "failure.txt.1", "..", ""})
    BOOST_TEST(!ExpiredRecords::is_run_file(name));
}

BOOST_AUTO_TEST_CASE(a_directory_with_anything_else_in_it_stays_as_it_is) {
  Folder const folder, elsewhere;
  std::ofstream(elsewhere.path() + "/kept") << "a user's";
  auto const check = [&](auto const& add) {
    fs::path const run = make_run(folder.path());
    add(run);
    age(run);
    std::size_t const files = static_cast<std::size_t>(std::distance(fs::directory_iterator(run), {}));
    BOOST_TEST(removed_beside_a_new_run(folder.path()) == 0u);
    BOOST_TEST(static_cast<std::size_t>(std::distance(fs::directory_iterator(run), {})) == files);
    fs::remove_all(run);
  };
  check([](fs::path const& run) { std::ofstream(run / "notes.txt") << "a user's"; });
  check([](fs::path const& run) { fs::create_directory(run / "rank-2.status"); });
  check([&](fs::path const& run) { fs::create_symlink(elsewhere.path() + "/kept", run / "rank-2.status"); });
  check([](fs::path const& run) { BOOST_REQUIRE(::mkfifo((run / "rank-2.status").c_str(), 0600) == 0); });
  BOOST_TEST(fs::exists(elsewhere.path() + "/kept"));
}

BOOST_AUTO_TEST_CASE(links_files_and_directories_of_others_stay) {
  Folder const folder, elsewhere;
  fs::path const kept = make_run(elsewhere.path());
  fs::path const link = fs::path(folder.path()) / old_run;
  fs::create_directory_symlink(kept, link);
  set_age(link, 8 * day);
  std::ofstream(folder.path() + "/trireme-4711-00000000000000aa") << "a file";
  set_age(folder.path() + "/trireme-4711-00000000000000aa", 8 * day);
  fs::path const open = make_run(folder.path(), "trireme-4711-00000000000000bb");
  fs::permissions(open, fs::perms::others_read, fs::perm_options::add);
  if (::geteuid() == 0) {
    fs::path const theirs = make_run(folder.path(), "trireme-4711-00000000000000cc");
    BOOST_REQUIRE(::chown(theirs.c_str(), 1, 1) == 0);
    fs::path const partly = make_run(folder.path(), "trireme-4711-00000000000000dd");
    BOOST_REQUIRE(::chown((partly / "failure.txt").c_str(), 1, 1) == 0);
  }
  std::size_t const entries = folder.entries();
  BOOST_TEST(removed_beside_a_new_run(folder.path()) == 0u);
  BOOST_TEST(folder.entries() == entries);
  BOOST_TEST(fs::exists(kept / "failure.txt"));
}

BOOST_AUTO_TEST_CASE(records_of_a_living_process_stay_however_old) {
  Folder const folder;
  fs::path const run = fs::path(folder.path()) / old_run;
  {
    RankRegistry board;
    board.open(folder.path(), old_run);
    board.create(7, 3, 4);
    age(run, 400);
    BOOST_TEST(removed_beside_a_new_run(folder.path()) == 0u);
    detail::status().process = ended_process();
    detail::Heartbeat::end(detail::status());
  }
  age(run, 400);
  BOOST_TEST(removed_beside_a_new_run(folder.path()) == 1u);
}

BOOST_AUTO_TEST_CASE(a_process_that_has_the_number_of_a_killed_one_keeps_nothing) {
  Folder const folder;
  pid_t const child = ::fork();
  if (child == 0) {
    RankRegistry board;
    board.open(folder.path(), old_run);
    board.create(7, 3, 4);
    detail::status().process = ::getppid();
    ::_exit(0);
  }
  ::waitpid(child, nullptr, 0);
  age(fs::path(folder.path()) / old_run);
  BOOST_TEST(removed_beside_a_new_run(folder.path()) == 1u);
}

BOOST_AUTO_TEST_CASE(a_number_of_a_process_of_another_machine_says_nothing) {
  Folder const folder;
  {
    RankRegistry board;
    board.open(folder.path(), old_run);
    board.create(7, 3, 4);
    detail::status().host[0] = '?';
    detail::Heartbeat::end(detail::status());
  }
  age(fs::path(folder.path()) / old_run);
  BOOST_TEST(removed_beside_a_new_run(folder.path()) == 1u);
}

BOOST_AUTO_TEST_CASE(the_watchdog_of_a_living_process_touches_its_record) {
  using namespace std::chrono_literals;
  Folder const folder;
  RankRegistry board;
  board.open(folder.path(), old_run);
  board.create(7, 3, 4);
  fs::path const record = fs::path(folder.path()) / old_run / "rank-3.status";
  auto const is_old = [&] { return fs::file_time_type::clock::now() - fs::last_write_time(record) > 24h; };
  auto const wait_while = [until = std::chrono::steady_clock::now() + 10s](auto const& condition) {
    while (condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  };
  {
    detail::Watchdog const watchdog(board, 1h, 1ms);
    // Some file systems note the first write to a mapped page, as others note none.
    std::int64_t const first = detail::status().alive.load();
    wait_while([&] { return detail::status().alive.load() == first; });
    set_age(record, 8 * day);
    wait_while(is_old);
  }
  BOOST_TEST(!is_old());
  detail::Heartbeat::end(detail::status());
}

BOOST_AUTO_TEST_CASE(the_lowest_rank_with_a_file_in_the_directory_removes) {
  Folder const folder;
  make_run(folder.path());
  fs::path const run = fs::path(folder.path()) / "trireme-4712-00000000000000aa";
  auto const removes = [&](std::size_t rank) {
    RankRegistry board;
    board.open(folder.path(), run.filename());
    board.create(7, rank, 12);
    board.find_others();
    board.remove_expired();
    detail::Heartbeat::end(detail::status());
    fs::remove(run / formatted("rank-{}.status", rank));
    return !fs::exists(fs::path(folder.path()) / old_run);
  };
  fs::create_directory(run);
  fs::permissions(run, fs::perms::owner_all);
  std::ofstream(run / "rank-9.status") << "of another node";
  BOOST_TEST(!removes(11));
  BOOST_TEST(removes(3));
}

BOOST_AUTO_TEST_CASE(a_start_removes_a_bounded_number) {
  Folder const folder;
  for (int i = 10; i < 30; ++i) make_run(folder.path(), formatted("trireme-4711-00000000000000{}", i));
  BOOST_TEST(removed_beside_a_new_run(folder.path(), {.directories = 3}) == 3u);
  BOOST_TEST(removed_beside_a_new_run(folder.path(), {.inspected = 11}) == 2u);  // of 4 each: itself and 3 files
  BOOST_TEST(removed_beside_a_new_run(folder.path(), {.entries = 2}) <= 2u);
  BOOST_TEST(folder.entries() >= 13u);
  while (removed_beside_a_new_run(folder.path(), {.directories = 4}) > 0) {
  }
  BOOST_TEST(folder.entries() == 0u);
}

BOOST_AUTO_TEST_CASE(many_young_directories_do_not_hide_an_old_one) {
  Folder const folder;
  for (int i = 10; i < 60; ++i) {
    fs::path const run = make_run(folder.path(), formatted("trireme-4711-00000000000000{}", i));
    age(run, 1);
  }
  fs::path last;
  for (auto const& entry : fs::directory_iterator(folder.path())) last = entry.path();
  age(last);
  for (int start = 100; start < 300 && fs::exists(last); ++start) {
    detail::StatusDirectory own;
    own.open(folder.path(), formatted("trireme-4712-0000000000000{}", start));
    ExpiredRecords(own, {.inspected = 10}).remove();
    own.remove_if_empty();
  }
  BOOST_TEST(!fs::exists(last));
  BOOST_TEST(folder.entries() == 49u);
}

BOOST_AUTO_TEST_CASE(runs_that_start_at_once_remove_together) {
  Folder const folder;
  for (int i = 10; i < 90; ++i) make_run(folder.path(), formatted("trireme-4711-00000000000000{}", i));
  std::vector<std::thread> starts;
  for (int i = 0; i < 4; ++i)
    starts.emplace_back([&folder, i] {
      detail::StatusDirectory own;
      own.open(folder.path(), formatted("trireme-4712-000000000000000{}", i));
      ExpiredRecords(own, {}).remove();
      own.remove_if_empty();
    });
  for (std::thread& start : starts) start.join();
  BOOST_TEST(folder.entries() == 0u);
}
