// SignalWatch: a signal is counted and ends nothing, the program's own handler is called too and has it back
// afterwards.
#define BOOST_TEST_MODULE signal_watch
#include "trireme/callbacks/signal_watch.hpp"

#include <csignal>
#include <optional>
#include <string>

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

BOOST_AUTO_TEST_CASE(a_signal_that_nobody_may_handle_is_named) {
  BOOST_CHECK_EXCEPTION(SignalWatch(SIGKILL), trireme::ValueError, [](trireme::ValueError const& error) {
    return error.what() == std::string("signal 9 cannot be handled: Invalid argument");
  });
  BOOST_TEST(!SignalWatch::may_return(SIGKILL));
  BOOST_TEST(!SignalWatch::may_return(-1));
  BOOST_TEST(SignalWatch::may_return(SIGTERM));
}
