// SignalWatch: a signal is counted and ends nothing, the program's own handler is called too and has it back
// afterwards.
#define BOOST_TEST_MODULE signal_watch
#include "trireme/callbacks/signal_watch.hpp"

#include <csignal>
#include <optional>
#include <string>

#include <sys/wait.h>
#include <unistd.h>
#include <boost/test/unit_test.hpp>

using trireme::detail::SignalWatch;

namespace {

int calls = 0;
void count(int) { ++calls; }
void count_with_information(int, siginfo_t* info, void*) { calls += info != nullptr ? 10 : 0; }

struct sigaction action_of(int signal) {
  struct sigaction action{};
  BOOST_REQUIRE_EQUAL(::sigaction(signal, nullptr, &action), 0);
  return action;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_signal_is_received_while_the_watch_lives) {
  BOOST_TEST((action_of(SIGUSR1).sa_handler == SIG_DFL));  // which would end this program
  {
    SignalWatch const watch(SIGUSR1), other(SIGUSR2);
    BOOST_TEST(!watch.received());
    std::raise(SIGUSR1);
    BOOST_TEST(watch.received());
    BOOST_TEST(!other.received());
    SignalWatch const later(SIGUSR1);
    BOOST_TEST(!later.received());
  }
  BOOST_TEST((action_of(SIGUSR1).sa_handler == SIG_DFL));
  BOOST_TEST(!SignalWatch(SIGUSR1).received());
}

BOOST_AUTO_TEST_CASE(the_last_watch_gives_the_signal_back) {
  std::optional<SignalWatch> first(SIGTERM), second(SIGTERM);
  first.reset();
  std::raise(SIGTERM);
  BOOST_TEST(second->received());
  second.reset();
  BOOST_TEST((action_of(SIGTERM).sa_handler == SIG_DFL));
}

BOOST_AUTO_TEST_CASE(the_programs_own_handler_is_called_and_kept) {
  struct sigaction own{};
  own.sa_handler = count;
  ::sigaction(SIGUSR1, &own, nullptr);
  own.sa_sigaction = count_with_information;
  own.sa_flags = SA_SIGINFO;
  ::sigaction(SIGUSR2, &own, nullptr);
  std::signal(SIGHUP, SIG_IGN);
  {
    SignalWatch const watch(SIGUSR1), with_information(SIGUSR2), ignored(SIGHUP);
    std::raise(SIGUSR1);
    BOOST_TEST(calls == 1);
    std::raise(SIGUSR2);
    BOOST_TEST(calls == 11);
    std::raise(SIGHUP);
    BOOST_TEST(ignored.received());
  }
  std::raise(SIGUSR1);
  BOOST_TEST(calls == 12);
  BOOST_TEST((action_of(SIGHUP).sa_handler == SIG_IGN));
}

// As libraries do: they set a handler, and later give back the one that they found.
BOOST_AUTO_TEST_CASE(a_watch_begins_where_a_library_has_given_back_the_handler_of_an_earlier_one) {
  struct sigaction library{}, found{};
  library.sa_handler = SIG_IGN;
  {
    SignalWatch const first(SIGWINCH);
    ::sigaction(SIGWINCH, &library, &found);
  }
  BOOST_TEST((action_of(SIGWINCH).sa_handler == SIG_IGN));  // the watch does not end what it did not begin
  ::sigaction(SIGWINCH, &found, nullptr);
  {
    SignalWatch const second(SIGWINCH);
    std::raise(SIGWINCH);
    BOOST_TEST(second.received());
  }
  BOOST_TEST((action_of(SIGWINCH).sa_handler == SIG_DFL));
}

// The handler of the library calls the one that it found, as ours does: neither may call the other without end.
BOOST_AUTO_TEST_CASE(a_library_whose_handler_calls_ours_keeps_it) {
  static struct sigaction found;
  static int library_calls = 0;
  struct sigaction library{};
  library.sa_sigaction = [](int signal, siginfo_t* info, void* context) {
    ++library_calls;
    found.sa_sigaction(signal, info, context);
  };
  library.sa_flags = SA_SIGINFO;
  {
    SignalWatch const first(SIGURG);
    ::sigaction(SIGURG, &library, &found);
    std::raise(SIGURG);
    BOOST_TEST(first.received());
    BOOST_TEST(library_calls == 1);
  }
  for (int later = 0; later < 3; ++later) {
    {
      SignalWatch const watch(SIGURG);
      std::raise(SIGURG);
      BOOST_TEST(watch.received());
      BOOST_TEST(library_calls == later + 2);
    }
    BOOST_TEST((action_of(SIGURG).sa_sigaction == library.sa_sigaction));
  }
  ::sigaction(SIGURG, &found, nullptr);
  {
    SignalWatch const last(SIGURG);
    std::raise(SIGURG);
    BOOST_TEST(last.received());
  }
  BOOST_TEST((action_of(SIGURG).sa_handler == SIG_DFL));
  BOOST_TEST(library_calls == 4);
}

BOOST_AUTO_TEST_CASE(a_handler_set_between_two_watches_is_called_whatever_was_set_in_the_first) {
  {
    SignalWatch const first(SIGCONT);
    std::signal(SIGCONT, SIG_IGN);
  }
  std::signal(SIGCONT, count);
  calls = 0;
  {
    SignalWatch const second(SIGCONT);
    std::raise(SIGCONT);
    BOOST_TEST(second.received());
  }
  BOOST_TEST(calls == 1);
  BOOST_TEST((action_of(SIGCONT).sa_handler == count));
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_program_where_a_handler_outlives_its_watch) {
  pid_t const child = ::fork();
  if (child == 0) {
    struct sigaction found{};
    {
      SignalWatch const watch(SIGALRM);
      ::sigaction(SIGALRM, nullptr, &found);
    }
    ::sigaction(SIGALRM, &found, nullptr);
    std::raise(SIGALRM);
    ::_exit(0);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST((WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM));
}

BOOST_AUTO_TEST_CASE(a_signal_that_nobody_may_handle_is_named) {
  BOOST_CHECK_EXCEPTION(SignalWatch(SIGKILL), trireme::ValueError, [](trireme::ValueError const& error) {
    return error.what() == std::string("signal 9 cannot be handled: Invalid argument");
  });
  BOOST_TEST(!SignalWatch::may_return(SIGKILL));
  BOOST_TEST(!SignalWatch::may_return(-1));
  BOOST_TEST(SignalWatch::may_return(SIGTERM));
}
