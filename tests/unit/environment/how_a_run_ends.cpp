// Starts itself under mpiexec in the roles below, and looks at the exit code and at what was written.
#define BOOST_TEST_MODULE how_a_run_ends
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include "support/roles.hpp"
#include "trireme/backend/threads/thread_pool.hpp"
#include "trireme/environment/environment.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

using namespace trireme;
using test::Folder, test::launcher, test::Outcome, test::program, test::run, test::shell;

/// Takes the place of the system's: the disk is full where this variable is set.
extern "C" int posix_fallocate(int file, off_t, off_t size) {
  if (std::getenv("TRIREME_TEST_FULL") != nullptr) return ENOSPC;
  return ::ftruncate(file, size) == 0 ? 0 : errno;
}

/// Takes the place of the system's: where the disk is full, rank 0, whose error is the message, comes to the directory
/// after others have failed in it.
extern "C" int mkdirat(int parent, char const* path, mode_t mode) {
  auto const made = static_cast<int>(::syscall(SYS_mkdirat, parent, path, mode));
  if (std::getenv("TRIREME_TEST_FULL") == nullptr) return made;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(300));
  return made;
}

/// Takes the place of MPI's: it never returns where this variable is set.
extern "C" int MPI_Finalize() {
  while (std::getenv("TRIREME_TEST_STUCK") != nullptr) std::this_thread::sleep_for(std::chrono::seconds(1));
  return PMPI_Finalize();
}

namespace {

/// The time limits of a role: those that a user may have got wrong, or has switched off.
EnvironmentOptions options_of(std::string_view role) {
  using namespace std::chrono_literals;
  EnvironmentOptions options{.threads = 1, .patience = role == "late" || role == "half" ? 500ms : 10'000ms};
  if (role == "deadline_max") options.deadline = options.patience = std::chrono::milliseconds::max();
  if (role == "deadline_300_years") options.deadline = options.patience = std::chrono::hours(24 * 365 * 300);
  if (role == "deadline_0") options.deadline = 0ms;
  if (role == "deadline_negative") options.deadline = -5ms;
  if (role == "finalize") options.deadline = 500ms;
  if (role == "patience_0") options.patience = 0ms;
  return options;
}

/// What one of the processes does; never returns to the tests.
int play(std::string_view role, int argc, char** argv) {
  EnvironmentOptions const options = options_of(role);

  if (role == "joined") {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, nullptr);
    Kokkos::initialize(argc, argv);
    {
      Environment const environment(argc, argv, options);
    }
    bool const up = Kokkos::is_initialized() && !detail::mpi_is_finalized();
    Kokkos::finalize();
    MPI_Finalize();
    return up ? 0 : 5;
  }
  if (role == "again") {
    {
      Environment const environment(argc, argv, options);
    }
    bool const down = Kokkos::is_finalized() && detail::mpi_is_finalized();
    try {
      Environment const environment(argc, argv, options);
    } catch (CommunicationError const& e) {
      std::fprintf(stderr, "%s\n", e.what());
      return down ? 0 : 5;
    }
    return 6;
  }
  if (role == "environment_without_mpi") Environment const environment(MPI_COMM_SELF, options);
  if (role == "environment_after_mpi") {
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    Environment const environment(argc, argv, options);
  }
  if (role == "environment_after_kokkos") {
    Kokkos::initialize(argc, argv);
    Kokkos::finalize();
    Environment const environment(argc, argv, options);
  }
  if (role == "own_error_afterwards") {
    try {
      Environment const environment(MPI_COMM_SELF, options);
    } catch (CommunicationError const&) {
    }
    throw std::runtime_error("the program's own");
  }
  if (role == "communicator_without_mpi") Communicator const world(MPI_COMM_WORLD);
  if (role == "communicator_after_the_end") {
    std::optional<Communicator> world;
    {
      Environment const environment(argc, argv, options);
      world.emplace(environment.world().duplicate());
    }
    world->barrier();
  }
  if (role == "nested") {
    Environment const environment(argc, argv, options);
    {
      Environment const inner(argc, argv, options);
    }
    environment.world().barrier();
    return Kokkos::is_initialized() ? 0 : 5;
  }
  if (role == "crossed") {
    auto first = std::make_unique<Environment>(argc, argv, options);
    auto const second = std::make_unique<Environment>(argc, argv, options);
    first.reset();
    return 0;
  }
  if (role == "second_thread") {
    Environment const environment(argc, argv, options);
    std::thread([&] { Environment const other(argc, argv, options); }).join();
    return 0;
  }
  if (role == "arguments") {
    Environment const environment(argc, argv, {.threads = 2});
    std::string rest;
    for (int i = 1; i < argc; ++i) rest += std::string(argv[i]) + ' ';
    std::fprintf(stderr, "%d threads, left: %s\n", Kokkos::DefaultHostExecutionSpace().concurrency(), rest.c_str());
    return std::getenv("OMP_PROC_BIND") == nullptr ? 0 : 5;
  }

  Environment const environment(argc, argv, options);
  Communicator const& world = environment.world();
  std::cout << "buffered " << world.rank() << '\n';
  auto const fail_on_1 = [&] {
    if (world.rank() == 1) throw FileError("train.idx", "is truncated");
  };
  if (role == "alone") fail_on_1();
  if (role == "no_memory" && world.rank() == 1) throw std::bad_alloc();
  if (role == "uniform") world.together(fail_on_1);
  if (role == "uniform_pending") {
    double value = 1;
    Communicator const other = world.duplicate();
    Request const never_joined = world.rank() == 2 ? world.iallreduce_sum(&value, 1) : Request();
    other.together(fail_on_1);
  }
  if (role == "half") {
    Communicator const half = world.split(world.rank() == 0 ? 0 : 1);
    if (world.rank() != 0) half.together([] { throw Error("the half fails"); });
  }
  if (role == "thread" && world.rank() == 1) std::thread([] { throw Error("the reader fails"); }).join();
  if (role == "exit_on_a_thread") {
    auto const step = [](int tasks) {
      std::atomic<int> done{0};
      ThreadPool::of(Kokkos::DefaultHostExecutionSpace()).run(static_cast<std::size_t>(tasks), [&](std::size_t) {
        ++done;
      });
      return done == tasks;
    };
    step(8);
    std::thread reader([] { std::exit(0); });
    while (step(8));
    reader.join();
  }
  if (role == "late" || role == "caught" || role == "caught_uniform") {
    if (role == "caught_uniform") world.together(fail_on_1);
    fail_on_1();
  }
  world.barrier();
  std::optional<Environment> inner;
  if (role == "child_throws_in_nested") inner.emplace(argc, argv, options);
  if (world.rank() == world.size() - 1) {
    if (role == "child_ends") {  // of which its parent knows nothing
      pid_t const child = ::fork();
      if (child == 0) ::_exit(0);
      int status = -1;
      ::waitpid(child, &status, 0);
      if (status != 0) return 5;
    }
    if (role.starts_with("child_throws")) {
      pid_t const child = ::fork();
      if (child == 0) throw std::runtime_error("the child's own");
      int status = 0;
      ::waitpid(child, &status, 0);
      if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) return 5;  // as in a program without an Environment
    }
    if (role == "_exit") ::_exit(0);
    if (role == "_Exit") std::_Exit(0);
    if (role == "quick_exit") std::quick_exit(0);
    if (role == "_exit_in_handler") {
      std::signal(SIGUSR1, [](int) { ::_exit(0); });
      std::raise(SIGUSR1);
    }
  }
  if (role == "meets_another_run") {
    namespace fs = std::filesystem;
    fs::path const folder = std::getenv("TRIREME_STATUS_DIR");
    if (world.rank() == 0) std::ofstream(folder / "begun") << "yes";
    for (int wait = 0; wait < 3000 && !fs::exists(folder / "ended"); ++wait)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    std::this_thread::sleep_for(std::chrono::milliseconds(2500));  // for so long a failed run may take to end
    world.barrier();
  }
  if (role != "ok") world.barrier();
  return 0;
}

/// As a careful user's main: reports the error himself, outside of the Environment.
int play_and_catch(std::string_view role, int argc, char** argv) {
  if (role != "late" && !role.starts_with("caught")) return play(role, argc, argv);
  try {
    return play(role, argc, argv);
  } catch (std::exception const& e) {
    std::fprintf(stderr, "my own report: %s\n", e.what());
    return 1;
  }
}

Outcome run_on_3(std::string const& role) { return test::run_on(3, role); }

}  // namespace

int main(int argc, char** argv) { return test::play_or_test(argc, argv, &play_and_catch); }

BOOST_AUTO_TEST_CASE(a_run_without_an_error_ends_with_0) {
  Outcome const end = run_on_3("ok");
  BOOST_TEST(end.code == 0);
  BOOST_TEST(end.count("buffered") == 3);
  BOOST_TEST(end.count("trireme:") == 0);
}

BOOST_AUTO_TEST_CASE(an_error_of_one_rank_ends_all_with_1_and_one_message_with_its_rank) {
  Outcome const end = run_on_3("alone");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: rank 1: train.idx: is truncated\n") == 1);
  BOOST_TEST(end.count("trireme:") == 1);
}

BOOST_AUTO_TEST_CASE(a_lack_of_memory_is_a_sentence) {
  Outcome const end = run_on_3("no_memory");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: rank 1: there is not enough memory (std::bad_alloc)\n") == 1);
  BOOST_TEST(end.count("trireme:") == 1);
}

// Into files, since on a busy machine MPICH's launcher may still drop what it has read.
BOOST_AUTO_TEST_CASE(what_the_failing_rank_had_buffered_is_written_before_all_end) {
  Folder const folder;
  Outcome const end = run(launcher() + " -n 3 sh -c 'exec \"$@\" >$0/$$' " + folder.path(), "alone");
  Outcome const written = shell("cat " + folder.path() + "/*");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(written.count("buffered 1\n") == 1);
}

BOOST_AUTO_TEST_CASE(an_error_that_all_agreed_on_ends_all_in_order_with_1_and_one_message) {
  Outcome const end = run_on_3("uniform");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: on rank 1: train.idx: is truncated\n") == 1);
  BOOST_TEST(end.count("trireme:") == 1);
  BOOST_TEST(end.count("MPI_Abort") == 0);
  BOOST_TEST(end.count("buffered") == 3);
}

BOOST_AUTO_TEST_CASE(a_request_that_others_never_join_does_not_keep_an_agreed_error_from_ending_the_run) {
  Outcome const end = run_on_3("uniform_pending");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: on rank 1: train.idx: is truncated\n") == 1);
}

BOOST_AUTO_TEST_CASE(an_error_that_half_of_the_ranks_agreed_on_ends_the_others_too) {
  Outcome const end = run_on_3("half");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("the half fails\n") >= 1);
}

BOOST_AUTO_TEST_CASE(an_error_on_a_thread_ends_all) {
  Outcome const end = run_on_3("thread");
  BOOST_TEST(end.code != 0);
  BOOST_TEST(end.count("trireme: rank 1: the reader fails\n") == 1);
}

BOOST_AUTO_TEST_CASE(a_last_line_and_its_end_are_one_write) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe2(ends.data(), O_DIRECT) == 0);  // which keeps writes apart
  std::FILE* const file = ::fdopen(ends[1], "w");
  {
    detail::MessageScope const scope(file);
    detail::report_at_once("the reader fails");
  }
  std::fclose(file);
  std::array<char, 64> text{};
  ssize_t const size = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  BOOST_TEST(std::string(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0) == "the reader fails\n");
}

BOOST_AUTO_TEST_CASE(an_mpi_that_never_finishes_finalizing_is_ended_at_the_deadline) {
  Outcome const end = run("env TRIREME_TEST_STUCK=1 " + launcher() + " -n 3", "finalize");
  BOOST_TEST(end.code != 0);
  BOOST_TEST(end.count("MPI_Finalize") >= 1);
  BOOST_TEST(end.count("trireme:") == 1);
  Outcome const alone = run("env TRIREME_TEST_STUCK=1", "finalize");
  BOOST_TEST(alone.code == 1);
  BOOST_TEST(alone.count("MPI_Finalize") >= 1);
}

BOOST_AUTO_TEST_CASE(an_error_of_one_rank_that_is_caught_outside_is_reported_there_and_ends_all) {
  Outcome const end = run_on_3("late");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("my own report: train.idx: is truncated\n") == 1);
  BOOST_TEST(end.count("trireme: rank 1: ended all processes") == 1);
}

BOOST_AUTO_TEST_CASE(an_agreed_error_that_is_caught_outside_ends_in_order) {
  Outcome const end = run_on_3("caught_uniform");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("my own report: on rank 1: train.idx: is truncated") == 3);
  BOOST_TEST(end.count("trireme:") == 0);
}

BOOST_AUTO_TEST_CASE(what_was_up_before_is_joined_and_left_up) { BOOST_TEST(run("", "joined").code == 0); }

BOOST_AUTO_TEST_CASE(an_environment_after_the_end_of_mpi_is_refused) {
  Outcome const end = run("", "again");
  BOOST_TEST(end.code == 0);
  BOOST_TEST(end.count("an Environment was made after MPI was finalized") == 1);
}

BOOST_AUTO_TEST_CASE(options_for_kokkos_are_taken_from_the_command_line_and_nothing_else) {
  constexpr bool serial = std::is_same_v<Kokkos::DefaultHostExecutionSpace, Kokkos::Serial>;  // has one thread, always
  Outcome const own = run("", "arguments --mine");
  BOOST_TEST(own.code == 0);
  BOOST_TEST(own.count(std::string(serial ? "1" : "2") + " threads, left: role arguments --mine \n") == 1);
  Outcome const theirs = run("", "arguments --kokkos-num-threads=1 --mine");
  BOOST_TEST(theirs.count("1 threads, left: role arguments --mine \n") == 1);
}

BOOST_AUTO_TEST_CASE(limits_beyond_all_clocks_are_none) {
  for (auto const* role : {"deadline_max", "deadline_300_years"}) {
    Outcome const end = run_on_3(role);
    BOOST_TEST(end.code == 0);
    BOOST_TEST(end.count("trireme:") == 0);
  }
}

BOOST_AUTO_TEST_CASE(limits_that_are_not_above_0_are_refused_in_one_line) {
  struct Row {
    char const *role, *says;
  };
  for (Row const row : {Row{"deadline_0", "EnvironmentOptions::deadline is 0 ms, and has to be above 0"},
                        Row{"deadline_negative", "EnvironmentOptions::deadline is -5 ms, and has to be above 0"},
                        Row{"patience_0", "EnvironmentOptions::patience is 0 ms, and has to be above 0"}}) {
    Outcome const end = run_on_3(row.role);
    BOOST_TEST(end.code == 1);
    BOOST_TEST(end.count(row.says) == 1);
    BOOST_TEST(end.count("trireme:") == 1);
  }
}

BOOST_AUTO_TEST_CASE(runs_that_share_a_status_directory_do_not_touch_each_other) {
  Folder const folder;
  std::string const& path = folder.path();
  Outcome const ends = shell(
      "export OMP_NUM_THREADS=1 KOKKOS_DISABLE_WARNINGS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 TRIREME_STATUS_DIR=" +
      path + "; run='timeout 60 " + launcher() + " -n 3 " + program +
      " role'; $run meets_another_run 2>&1 & first=$!; " + "for i in $(seq 300); do [ -e " + path +
      "/begun ] && break; sleep 0.1; done; $run alone 2>&1; second=$?; touch " + path +
      "/ended; wait $first; echo ended with $? and $second; rm " + path + "/begun " + path + "/ended");
  BOOST_TEST(ends.count("ended with 0 and 1\n") == 1);
  BOOST_TEST(ends.count("trireme: rank 1: train.idx: is truncated\n") == 1);
  BOOST_TEST(ends.count("trireme:") == 1);
  BOOST_TEST(folder.entries() == 1);  // of the one that failed
}

BOOST_AUTO_TEST_CASE(a_later_run_removes_records_of_long_ago_from_the_temporary_folder_alone) {
  Folder const folder;
  std::string const& path = folder.path();
  auto const run_in = [&](std::string const& variable, std::string const& role) {
    return run("env -u TRIREME_STATUS_DIR " + variable + "=" + path + " " + launcher() + " -n 3", role);
  };
  BOOST_TEST(run_in("TMPDIR", "alone").code == 1);
  BOOST_TEST(run_in("TMPDIR", "ok").code == 0);
  BOOST_TEST(folder.entries() == 1);  // of today
  shell("touch -d '8 days ago' " + path + "/trireme-*/* " + path + "/trireme-*");
  BOOST_TEST(run_in("TRIREME_STATUS_DIR", "ok").code == 0);
  BOOST_TEST(folder.entries() == 1);
  Outcome const later = run_in("TMPDIR", "ok");
  BOOST_TEST(later.code == 0);
  BOOST_TEST(later.count("trireme") == 0);
  BOOST_TEST(folder.entries() == 0);
}

BOOST_AUTO_TEST_CASE(a_directory_that_is_a_link_or_open_to_others_takes_no_records) {
  namespace fs = std::filesystem;
  Folder const folder, elsewhere;
  fs::create_directory(folder.path() + "/run");
  fs::permissions(folder.path() + "/run", fs::perms::owner_all);
  detail::StatusDirectory directory;
  BOOST_CHECK_NO_THROW(directory.open(folder.path(), "run"));  // as another process of the run has made it
  BOOST_CHECK_NO_THROW(directory.create("rank-0.status", 8));
  BOOST_CHECK_THROW(directory.create("rank-0.status", 8), FileError);
  fs::create_symlink("/etc/passwd", folder.path() + "/run/rank-1.status");
  BOOST_CHECK_THROW(directory.create("rank-1.status", 8), FileError);
  BOOST_TEST(!directory.find("rank-1.status", 8));

  fs::permissions(folder.path() + "/run", fs::perms::others_read, fs::perm_options::add);
  BOOST_CHECK_THROW(directory.open(folder.path(), "run"), FileError);
  fs::create_directory_symlink(elsewhere.path(), folder.path() + "/link");
  BOOST_CHECK_THROW(directory.open(folder.path(), "link"), FileError);
  if (::geteuid() == 0) {
    fs::create_directory(folder.path() + "/theirs");
    fs::permissions(folder.path() + "/theirs", fs::perms::owner_all);
    BOOST_REQUIRE(::chown((folder.path() + "/theirs").c_str(), 1, 1) == 0);
    BOOST_CHECK_THROW(directory.open(folder.path(), "theirs"), FileError);
  }
}

BOOST_AUTO_TEST_CASE(a_full_temporary_folder_costs_the_records_and_one_line) {
  Folder const folder;
  Outcome const end = run("env TRIREME_TEST_FULL=1 TMPDIR=" + folder.path() + " " + launcher() + " -n 3", "ok");
  BOOST_TEST(end.code == 0);
  BOOST_TEST(end.count("No space left on device; the run goes on without these records") == 1);
  BOOST_TEST(end.count("trireme: ") == 1);
  BOOST_TEST(folder.entries() == 0);
  Outcome const fails = run("env TRIREME_TEST_FULL=1 TMPDIR=" + folder.path() + " " + launcher() + " -n 3", "alone");
  BOOST_TEST(fails.code == 1);
  BOOST_TEST(fails.count("trireme: rank 1: train.idx: is truncated\n") == 1);
}

BOOST_AUTO_TEST_CASE(a_full_folder_that_was_chosen_is_an_error) {
  Folder const folder;
  Outcome const end =
      run("env TRIREME_TEST_FULL=1 TRIREME_STATUS_DIR=" + folder.path() + " " + launcher() + " -n 3", "ok");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("No space left on device\n") == 1);
  BOOST_TEST(end.count("trireme: ") == 1);
  BOOST_TEST(folder.entries() == 0);
}

BOOST_AUTO_TEST_CASE(a_folder_that_was_chosen_for_some_ranks_is_that_of_all) {
  Folder const folder;
  auto const run_on_3 = [&](std::string const& directory, std::string const& role) {
    return run("env -u TRIREME_STATUS_DIR " + launcher() + " -n 1 " + program + " role " + role +
                   " : -n 2 env TRIREME_STATUS_DIR=" + directory,
               role);
  };
  Outcome const fails = run_on_3(folder.path(), "alone");
  BOOST_TEST(fails.code == 1);
  BOOST_TEST(fails.count("trireme: rank 1: train.idx: is truncated\n") == 1);
  BOOST_TEST(fails.count("trireme:") == 1);
  BOOST_TEST(folder.entries() == 1);
  Outcome const unusable = run_on_3("/proc/nowhere", "ok");
  BOOST_TEST(unusable.code == 1);
  BOOST_TEST(unusable.count("/proc/nowhere") == 1);
  BOOST_TEST(unusable.count("trireme:") == 1);
  BOOST_TEST(unusable.count("MPI_Abort") == 0);
}

BOOST_AUTO_TEST_CASE(explain_failure_bears_any_bytes_and_links_that_lead_nowhere) {
  Folder const folder;
  std::string const& path = folder.path();
  BOOST_TEST(run("env TRIREME_STATUS_DIR=" + path + " " + launcher() + " -n 3", "alone").code == 1);
  BOOST_TEST(folder.entries() == 1);
  shell("cd " + path +
        "/trireme-*/ && printf 'in caf\\351 \\303\\251\\n' >>failure.txt && ln -s nowhere rank-9.status && "
        "printf short >rank-8.status && ln -s nowhere ../trireme-link && mkdir ../trireme-later");
  std::string const explain = std::string(TRIREME_TESTS_DIRECTORY) + "/../scripts/explain-failure";
  for (std::string const& letters : {std::string("ascii"), std::string("utf-8")}) {
    Outcome const explained = shell("PYTHONIOENCODING=" + letters + " TMPDIR=" + path + " " + explain + " 2>&1");
    BOOST_TEST(explained.code == 0);
    BOOST_TEST(explained.count("trireme: rank 1: train.idx: is truncated\n") == 1);
    BOOST_TEST(explained.count("3 of 3 ranks left a record") == 1);
  }
}

BOOST_AUTO_TEST_CASE(an_environment_that_cannot_begin_ends_the_program_with_1_and_one_line) {
  for (auto const& [role, line] : {
           std::pair("environment_without_mpi",
                     "trireme: an Environment was made for a communicator while MPI is not running; start MPI first, "
                     "or give argc and argv\n"),
           std::pair("environment_after_mpi",
                     "trireme: an Environment was made after MPI was finalized, which cannot be started again\n"),
           std::pair("environment_after_kokkos",
                     "trireme: an Environment was made after Kokkos was finalized, which cannot be started again\n"),
       }) {
    Outcome const end = run("", role);
    BOOST_TEST_CONTEXT(role) {
      BOOST_TEST(end.code == 1);
      BOOST_TEST(end.text == line);
    }
  }
}

BOOST_AUTO_TEST_CASE(after_a_caught_error_of_an_environment_others_are_the_programs_own) {
  Outcome const end = run("", "own_error_afterwards");
  BOOST_TEST(end.code > 1);
  BOOST_TEST(end.count("trireme:") == 0);
  BOOST_TEST(end.count("the program's own") == 1);
}

BOOST_AUTO_TEST_CASE(communication_outside_of_an_environment_is_refused_in_one_line) {
  Outcome const before = run("", "communicator_without_mpi");
  BOOST_TEST(before.code == 1);
  BOOST_TEST(before.text == "trireme: a Communicator was made while MPI is not running; make an Environment first\n");
  Outcome const after = run("", "communicator_after_the_end");
  BOOST_TEST(after.code == 1);
  BOOST_TEST(after.text ==
             "trireme: MPI_Ibarrier was to be called after MPI had ended; communicate while the Environment lives\n");
}

BOOST_AUTO_TEST_CASE(environments_nest) { BOOST_TEST(run_on_3("nested").code == 0); }

BOOST_AUTO_TEST_CASE(an_environment_that_ends_before_an_inner_one_is_refused_in_one_line) {
  Outcome const end = run_on_3("crossed");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: an Environment ended before one that was made later") == 1);
  BOOST_TEST(end.count("trireme:") == 1);
}

BOOST_AUTO_TEST_CASE(an_environment_on_a_second_thread_is_refused_in_one_line) {
  Outcome const end = run("", "second_thread");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("made on another thread than the one that started MPI\n") == 1);
  BOOST_TEST(end.count("trireme:") == 1);
}

BOOST_AUTO_TEST_CASE(an_exit_on_a_thread_beside_a_step_is_one_line_and_no_crash_of_the_step) {
  Outcome const end = run("", "exit_on_a_thread");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("has called exit within its Environment") == 1);
  BOOST_TEST(end.count("trireme:") == 1);
  BOOST_TEST(end.count("Segmentation fault") == 0);
}

BOOST_AUTO_TEST_CASE(an_end_past_all_destructors_is_no_success_and_said_in_one_line) {
  for (std::string const role : {"_exit", "_Exit", "quick_exit", "_exit_in_handler"})
    for (std::string const& ranks : {std::string("1"), std::string("2"), std::string("3")}) {
      Outcome const end = run(launcher() + " -n " + ranks, role);
      BOOST_TEST(end.code != 0);
      BOOST_TEST(end.count("trireme: rank " + std::to_string(std::stoi(ranks) - 1) + " (process ") == 1);
      BOOST_TEST(end.count("trireme:") == 1);
    }
  BOOST_TEST(run_on_3("child_ends").code == 0);
}

BOOST_AUTO_TEST_CASE(an_exception_in_a_forked_child_is_the_programs_own_and_ends_no_rank) {
  for (auto const* role : {"child_throws", "child_throws_in_nested"})
    for (std::size_t const ranks : {1u, 3u}) {
      Outcome const end = test::run_on(ranks, role);
      BOOST_TEST(end.code == 0);
      BOOST_TEST(end.count("the child's own") == 1);
      BOOST_TEST(end.count("trireme:") == 0);
    }
}
