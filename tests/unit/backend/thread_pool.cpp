// Tasks of the thread pool: each once, by any thread, and all by the caller where no other thread runs.
#define BOOST_TEST_MODULE thread_pool
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <string>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/backend/threads/thread_place.hpp"
#include "trireme/backend/threads/thread_pool.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

using namespace trireme;

BOOST_AUTO_TEST_CASE(each_task_runs_once_and_is_done_when_run_returns) {
  for (std::size_t threads = 1; threads <= 5; ++threads) {
    ThreadPool pool(threads);
    BOOST_TEST(pool.threads() == threads);
    for (std::size_t round = 0; round < 3000; ++round) {
      std::size_t const tasks = round % 12;
      std::vector<std::size_t> runs(tasks, 0);  // not atomic: what a task wrote is there after run
      pool.run(tasks, [&](std::size_t task) { ++runs[task]; });
      BOOST_REQUIRE(std::count(runs.begin(), runs.end(), 1u) == static_cast<std::ptrdiff_t>(tasks));
    }
  }
}

BOOST_AUTO_TEST_CASE(more_tasks_than_a_pool_takes_are_the_callers) {
  ThreadPool pool(3);
  std::vector<int> runs(5000, 0);
  pool.run(runs.size(), [&](std::size_t task) { ++runs[task]; });
  BOOST_TEST(std::count(runs.begin(), runs.end(), 1) == 5000);
}

/// A thread may see a round late, when others have done its tasks and the pool ends.
BOOST_AUTO_TEST_CASE(a_pool_that_ends_behind_a_round_ends_its_threads) {
  std::atomic<std::size_t> done = 0;
  for (int i = 0; i < 2000; ++i) {
    ThreadPool pool(3);
    pool.run(3, [&](std::size_t) { ++done; });
  }
  BOOST_TEST(done == 6000u);
}

BOOST_AUTO_TEST_CASE(the_first_task_is_the_callers) {
  ThreadPool pool(4);
  auto const caller = std::this_thread::get_id();
  for (int round = 0; round < 500; ++round) {
    std::thread::id first;
    pool.run(4, [&](std::size_t task) {
      if (task == 0) first = std::this_thread::get_id();
    });
    BOOST_REQUIRE((first == caller));
  }
}

BOOST_AUTO_TEST_CASE(tasks_at_once_may_meet) {
  constexpr std::size_t threads = 4;
  ThreadPool pool(threads);
  for (int round = 0; round < 300; ++round) {
    ThreadBarrier barrier(threads, pool.patience());
    std::vector<std::size_t> given(threads), sums(threads);
    pool.run_at_once(barrier, [&](std::size_t task) {
      for (std::size_t step = 1; step <= 3; ++step) {
        given[task] = task * step;
        barrier();
        sums[task] = 0;
        for (std::size_t const value : given) sums[task] += value;
        barrier();
      }
    });
    for (std::size_t const sum : sums) BOOST_REQUIRE(sum == 18);
  }
}

BOOST_AUTO_TEST_CASE(callers_at_once_each_get_all_their_tasks_done) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  std::atomic<int> wrong = 0;
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&] {
      for (int round = 0; round < 1000; ++round) {
        std::vector<int> runs(7, 0);
        auto const task = [&](std::size_t i) { ++runs[i]; };
        if (round % 10 == 0) {
          ThreadBarrier barrier(3, pool.patience());
          pool.run_at_once(barrier, task);
          runs.resize(3);
        } else {
          pool.run(7, task);
        }
        if (std::count(runs.begin(), runs.end(), 1) != static_cast<std::ptrdiff_t>(runs.size())) ++wrong;
      }
    });
  for (std::thread& caller : callers) caller.join();
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_CASE(a_task_may_run_tasks) {
  ThreadPool pool(3);
  std::atomic<int> runs = 0;
  pool.run(3, [&](std::size_t) { pool.run(5, [&](std::size_t) { ++runs; }); });
  BOOST_TEST(runs == 15);
}

// To the pool, tasks that sleep have lost their cores: it tries its other ways of sharing.
BOOST_AUTO_TEST_CASE(each_task_runs_once_while_threads_lose_their_cores) {
  ThreadPool pool(3);
  auto const begin = std::chrono::steady_clock::now();
  for (int round = 0; std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(600); ++round) {
    std::vector<int> runs(7, 0);
    pool.run(runs.size(), [&](std::size_t task) {
      ++runs[task];
      if (task == 3 && round % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    BOOST_REQUIRE(std::count(runs.begin(), runs.end(), 1) == 7);
    if (round % 50 == 0) {
      ThreadBarrier barrier(3, pool.patience());
      pool.run_at_once(barrier, [&](std::size_t) { barrier(); });
    }
  }
}

// Of errors of several tasks it is the first task's, whichever thread ran it.
BOOST_AUTO_TEST_CASE(an_error_of_a_task_reaches_the_caller_and_the_pool_goes_on) {
  ThreadPool pool(3);
  for (std::size_t round = 0; round < 600; ++round) {
    std::size_t const first = round % 7;
    auto const run = [&] {
      pool.run(7, [&](std::size_t task) {
        if (task >= first) throw ValueError(formatted("task {}", task));
      });
    };
    BOOST_REQUIRE_EQUAL(test::message_of<ValueError>(run), formatted("task {}", first));
    std::vector<int> runs(7, 0);
    pool.run(7, [&](std::size_t task) { ++runs[task]; });
    BOOST_REQUIRE(std::count(runs.begin(), runs.end(), 1) == 7);
  }
}

BOOST_AUTO_TEST_CASE(tasks_end_that_wait_for_one_that_threw) {
  constexpr std::size_t threads = 4;
  ThreadPool pool(threads);
  for (std::size_t round = 0; round < 400; ++round) {
    std::size_t const thrower = round % threads, steps = round / threads % 3;
    ThreadBarrier failing(threads, pool.patience());
    auto const run = [&] {
      pool.run_at_once(failing, [&](std::size_t task) {
        for (std::size_t step = 0; step < 3; ++step) {
          if (task == thrower && step == steps) throw ValueError(formatted("task {}", task));
          failing();
        }
      });
    };
    BOOST_REQUIRE_EQUAL(test::message_of<ValueError>(run), formatted("task {}", thrower));
    ThreadBarrier barrier(threads, pool.patience());
    std::atomic<std::size_t> done = 0;
    pool.run_at_once(barrier, [&](std::size_t) {
      barrier();
      ++done;
    });
    BOOST_REQUIRE(done == threads);
  }
}

BOOST_AUTO_TEST_CASE(more_tasks_may_meet_than_threads_share) {
  constexpr std::size_t threads = ThreadPool::most_tasks + 6;
  ThreadPool pool(threads);
  ThreadBarrier barrier(threads, pool.patience());
  std::vector<int> runs(threads, 0);
  pool.run_at_once(barrier, [&](std::size_t task) {
    barrier();
    ++runs[task];
  });
  BOOST_TEST(std::count(runs.begin(), runs.end(), 1) == static_cast<std::ptrdiff_t>(threads));
  pool.run(threads, [&](std::size_t task) { ++runs[task]; });
  BOOST_TEST(std::count(runs.begin(), runs.end(), 2) == static_cast<std::ptrdiff_t>(threads));
}

BOOST_AUTO_TEST_CASE(tasks_that_wait_for_each_other_need_a_thread_each) {
  ThreadPool pool(3);
  ThreadBarrier barrier(4, pool.patience());
  BOOST_TEST(test::message_of<Error>([&] { pool.run_at_once(barrier, [&](std::size_t) { barrier(); }); }) ==
             "4 tasks that wait for each other need a thread each, but this process has 3; a child of fork has none of "
             "its parent's threads");
}

BOOST_AUTO_TEST_CASE(tasks_that_wait_for_each_other_are_an_error_in_a_child_of_fork) {
  ThreadPool pool(3);
  ThreadBarrier barrier(3, pool.patience());
  pool.run_at_once(barrier, [&](std::size_t) { barrier(); });
  pid_t const child = fork();
  if (child == 0) {
    alarm(60);  // else it would outlive this program if it waited
    try {
      pool.run_at_once(barrier, [&](std::size_t) { barrier(); });
    } catch (Error const& error) {
      _exit(std::string(error.what())
                    .starts_with("3 tasks that wait for each other need a thread each, but this "
                                 "process has 1;")
                ? 0
                : 1);
    }
    _exit(2);
  }
  int status = -1;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  pool.run_at_once(barrier, [&](std::size_t) { barrier(); });
}

// A child of fork has none of the other threads: as if they never got a core.
BOOST_AUTO_TEST_CASE(the_caller_alone_does_all_tasks_where_no_other_thread_runs) {
  ThreadPool& pool = ThreadPool::of(Kokkos::DefaultHostExecutionSpace());
  pool.run(3, [](std::size_t) {});
  pid_t const child = fork();
  if (child == 0) {
    std::vector<int> runs(9, 0);
    for (int round = 0; round < 10; ++round) pool.run(runs.size(), [&](std::size_t task) { ++runs[task]; });
    bool const all = std::count(runs.begin(), runs.end(), 10) == 9;
    _exit(all ? 0 : 1);
  }
  int status = -1;
  BOOST_REQUIRE(waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFEXITED(status) && WEXITSTATUS(status) == 0));
}

#ifdef __linux__
BOOST_AUTO_TEST_CASE(threads_stay_on_the_processors_of_their_places) {
  cpu_set_t usable;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof(usable), &usable) == 0);
  std::vector<ThreadPool::Cpus> places;
  for (int cpu = 0; cpu < CPU_SETSIZE && places.size() < 3; ++cpu) {
    if (!CPU_ISSET(cpu, &usable)) continue;
    CPU_ZERO(&places.emplace_back().set);
    CPU_SET(cpu, &places.back().set);
  }
  ThreadPool pool(4, places);
  std::vector<cpu_set_t> seen(4);
  ThreadBarrier barrier(4, pool.patience());
  pool.run_at_once(barrier, [&](std::size_t task) {
    barrier();  // so that each has a thread of its own
    sched_getaffinity(0, sizeof(cpu_set_t), &seen[task]);
  });
  BOOST_TEST(CPU_EQUAL(&seen[0], &usable));  // the caller's are its own
  std::size_t found = 0;
  for (std::size_t task = 1; task < 4; ++task)
    for (ThreadPool::Cpus const& place : places) found += CPU_EQUAL(&seen[task], &place.set) != 0 ? 1 : 0;
  BOOST_TEST(found == 3);
}
#endif

#ifdef __linux__
BOOST_AUTO_TEST_CASE(a_thread_is_kept_off_a_processor_unless_it_has_no_other) {
  cpu_set_t usable, seen;
  BOOST_REQUIRE(sched_getaffinity(0, sizeof(usable), &usable) == 0);
  trireme::detail::ThreadPlace place;
  place.take();
  int const cpu = trireme::detail::current_cpu();
  place.avoid(cpu);
  sched_getaffinity(0, sizeof(seen), &seen);
  BOOST_TEST(CPU_ISSET(cpu, &seen) == (CPU_COUNT(&usable) == 1));
  place.avoid(-1);
  sched_getaffinity(0, sizeof(seen), &seen);
  BOOST_TEST(CPU_EQUAL(&usable, &seen));
}
#endif

BOOST_AUTO_TEST_CASE(the_pool_of_a_space_has_its_threads) {
  Kokkos::DefaultHostExecutionSpace const space;
  BOOST_TEST(ThreadPool::of(space).threads() == static_cast<std::size_t>(space.concurrency()));
  BOOST_TEST(&ThreadPool::of(space) == &ThreadPool::of(Kokkos::DefaultHostExecutionSpace()));
}
