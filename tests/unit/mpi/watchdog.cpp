// Processes of one run on one node, without MPI: each watches the next one in a ring.
#define BOOST_TEST_MODULE watchdog
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <new>
#include <string>
#include <thread>

#include "trireme/core/text.hpp"
#include "trireme/mpi/fault/heartbeat.hpp"
#include "trireme/mpi/fault/messages.hpp"
#include "trireme/mpi/fault/rank_registry.hpp"
#include "trireme/mpi/fault/status_record.hpp"
#include "trireme/mpi/fault/watchdog.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using namespace std::chrono_literals;

namespace {

/// Waits until the condition is true, for ten seconds at most. \return whether it is
template <class Condition>
bool comes_true(Condition const& condition) {
  auto const until = std::chrono::steady_clock::now() + 10s;
  while (!condition() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
  return condition();
}

constexpr int ranks = 4, none = -1, unknown = -2;

template <class Values>
auto& at(Values& values, int rank) {
  return values.at(static_cast<std::size_t>(rank));
}

class Ring {
 public:
  Ring()
      : shared_(new(::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    Shared) {
    for (int rank = 0; rank < ranks; ++rank) {
      at(processes_, rank) = ::fork();
      if (at(processes_, rank) == 0) live(rank);
    }
    BOOST_REQUIRE(comes_true([&] { return shared_->watching == ranks; }));
  }
  Ring(Ring const&) = delete;
  Ring& operator=(Ring const&) = delete;
  ~Ring() {
    for (pid_t const process : processes_) {
      ::kill(process, SIGKILL);
      ::waitpid(process, nullptr, 0);
    }
    ::munmap(shared_, sizeof(Shared));
  }

  /// Ends the process in order.
  void end(int rank) {
    at(shared_->ends, rank) = true;
    BOOST_REQUIRE(comes_true([&] { return has_ended_with(rank, 0); }));
  }
  void kill(int rank) const { ::kill(at(processes_, rank), SIGKILL); }

  /// True if the process ends by itself, with this exit code. It stays a zombie, so that its number is not another's.
  bool ends_with(int rank, int code) const {
    return comes_true([&] { return has_ended_with(rank, code); });
  }

  /// True if the process comes to watch that one; `none`: none.
  bool watches(int rank, int other) const {
    return comes_true([&] { return at(shared_->watched, rank) == other; });
  }

  /// The message of the run's end, or "".
  std::string message() const { return test::text_of((folder_.root / "run" / "failure.txt").string()); }

 private:
  struct Shared {
    std::atomic<int> made{0}, watching{0};
    std::array<std::atomic<bool>, ranks> ends{};
    std::array<std::atomic<int>, ranks> watched{unknown, unknown, unknown, unknown};
  };
  bool has_ended_with(int rank, int code) const {
    siginfo_t end{};
    auto const process = static_cast<id_t>(at(processes_, rank));
    return ::waitid(P_PID, process, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && end.si_pid != 0 &&
           end.si_code == CLD_EXITED && end.si_status == code;
  }

  /// The process of a rank, from its beginning to its end in order.
  [[noreturn]] void live(int rank) noexcept {
    detail::MessageScope const silence(nullptr);
    detail::RankRegistry board;
    board.open(folder_.root.string(), "run");
    board.create(7, static_cast<std::size_t>(rank), ranks);
    ++shared_->made;
    comes_true([&] { return shared_->made == ranks; });
    board.find_others();
    {
      detail::Watchdog const watchdog(board, 1h);
      ++shared_->watching;
      while (!at(shared_->ends, rank)) {
        detail::StatusRecord const* const watched = detail::current_neighbour;
        at(shared_->watched, rank) = watched == nullptr ? none : static_cast<int>(watched->rank);
        std::this_thread::sleep_for(1ms);
      }
      detail::status().state = detail::StatusRecord::State::ended;
      detail::Heartbeat::end(detail::status());
    }
    board.close(true);
    ::_exit(0);
  }

  test::Folder folder_;
  Shared* shared_;
  std::array<pid_t, ranks> processes_{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(each_process_watches_the_next_one) {
  Ring ring;
  for (int rank = 0; rank < ranks; ++rank) BOOST_TEST(ring.watches(rank, (rank + 1) % ranks));
  ring.kill(3);
  BOOST_TEST(ring.ends_with(2, 1));
  BOOST_TEST(ring.message().starts_with("trireme: rank 3 (process "));
}

BOOST_AUTO_TEST_CASE(the_process_behind_ones_that_ended_in_order_watches_the_one_before_them) {
  Ring ring;
  ring.end(3);
  BOOST_TEST(ring.watches(2, 0));
  ring.end(0);
  BOOST_TEST(ring.watches(2, 1));
  ring.kill(1);
  BOOST_TEST(ring.ends_with(2, 1));
  BOOST_TEST(ring.message().starts_with("trireme: rank 1 (process "));
}

BOOST_AUTO_TEST_CASE(the_last_process_watches_none_and_ends_in_order) {
  Ring ring;
  for (int const rank : {2, 0, 3}) ring.end(rank);
  BOOST_TEST(ring.watches(1, none));
  ring.end(1);
  BOOST_TEST(ring.message() == "");
}
