// SignalWatch: a signal is counted and ends nothing, the program's own handler is called too and has it back
// afterwards.
#define BOOST_TEST_MODULE signal_watch
#include "trireme/callbacks/signal_watch.hpp"

#include <atomic>
#include <csignal>
#include <optional>
#include <string>
#include <thread>
#include <utility>

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

/// A library, or a program, that sets a handler which calls the one found.
template <int>
struct Library {
  static inline struct sigaction found{};
  static inline std::atomic<int> calls{0};
  static void handle(int signal, siginfo_t* info, void* context) {
    ++calls;
    if ((found.sa_flags & SA_SIGINFO) != 0)
      found.sa_sigaction(signal, info, context);
    else if (found.sa_handler != SIG_DFL && found.sa_handler != SIG_IGN)
      found.sa_handler(signal);
  }
  static void set(int signal) {
    struct sigaction action{};
    action.sa_sigaction = &handle;
    action.sa_flags = SA_SIGINFO;
    ::sigaction(signal, &action, &found);
  }
  static void give_back(int signal) { ::sigaction(signal, &found, nullptr); }
  static bool is_set(int signal) { return action_of(signal).sa_sigaction == &handle; }
};

/// Exit status of a child process that calls the function: 0 if it returns true.
template <class Function>
int status_of_child(Function const& function) {
  pid_t const child = ::fork();
  if (child == 0) ::_exit(function() ? 0 : 1);
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  return status;
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

BOOST_AUTO_TEST_CASE(a_handler_set_between_two_watches_is_called_from_one_set_in_the_second) {
  BOOST_TEST(status_of_child([] {
               int const signal = SIGRTMIN + 1;
               using Program = Library<0>;
               using Later = Library<1>;
               {
                 SignalWatch const first(signal);
                 std::signal(signal, count);
               }
               std::signal(signal, SIG_IGN);
               Program::set(signal);
               {
                 SignalWatch const second(signal);
                 Later::set(signal);
               }
               std::raise(signal);
               return Later::calls == 1 && Program::calls == 1;
             }) == 0);
}

BOOST_AUTO_TEST_CASE(a_handler_that_gives_the_signal_back_below_a_watch_is_not_called_any_more) {
  int const signal = SIGRTMIN + 2;
  using Removed = Library<2>;
  std::signal(signal, count);
  {
    SignalWatch const first(signal);
    Removed::set(signal);
  }
  calls = 0;
  {
    SignalWatch const second(signal);
    Removed::give_back(signal);
    std::raise(signal);
    BOOST_TEST(second.received());
    BOOST_TEST(Removed::calls == 0);
    BOOST_TEST(calls == 1);
  }
  BOOST_TEST((action_of(signal).sa_handler == count));
}

BOOST_AUTO_TEST_CASE(handlers_set_in_several_watches_are_all_called_once) {
  int const signal = SIGRTMIN + 3;
  using Lower = Library<3>;
  using Upper = Library<4>;
  std::signal(signal, count);
  {
    SignalWatch const first(signal);
    Lower::set(signal);
  }
  {
    SignalWatch const second(signal);
    Upper::set(signal);
  }
  calls = 0;
  auto const check = [&](int upper, int all) {
    std::raise(signal);
    BOOST_TEST(Upper::calls == upper);
    BOOST_TEST(Lower::calls == all);
    BOOST_TEST(calls == all);
  };
  check(1, 1);
  {
    SignalWatch const third(signal);
    check(2, 2);
    BOOST_TEST(third.received());
  }
  BOOST_TEST(Upper::is_set(signal));
  Upper::give_back(signal);
  check(2, 3);
  {
    SignalWatch const fourth(signal);
    check(2, 4);
    BOOST_TEST(fourth.received());
  }
  BOOST_TEST(Lower::is_set(signal));
  Lower::give_back(signal);
  {
    SignalWatch const fifth(signal);
  }
  BOOST_TEST((action_of(signal).sa_handler == count));
}

BOOST_AUTO_TEST_CASE(a_signal_on_another_thread_calls_each_handler_once_while_watches_begin_and_end) {
  int const signal = SIGRTMIN + 4;
  using Program = Library<5>;
  using Upper = Library<6>;
  std::signal(signal, SIG_IGN);
  Program::set(signal);
  {
    SignalWatch const first(signal);
    Upper::set(signal);
  }
  std::atomic<bool> ended{false};
  int sent = 0;
  std::thread other([&] {
    for (; !ended; ++sent) std::raise(signal);
  });
  for (int i = 0; i < 50'000; ++i) SignalWatch const watch(signal);
  ended = true;
  other.join();
  BOOST_TEST(Upper::calls == sent);
  BOOST_TEST(Program::calls == sent);
}

// Such a handler forgets the one that it has found first.
BOOST_AUTO_TEST_CASE(a_handler_set_again_on_top_of_ours_ends) {
  BOOST_TEST(status_of_child([] {
               int const signal = SIGRTMIN + 5;
               using Program = Library<7>;
               Program::set(signal);
               bool received = false;
               {
                 SignalWatch const watch(signal);
                 Program::set(signal);
                 std::raise(signal);
                 received = watch.received();
               }
               return received && Program::is_set(signal);
             }) == 0);
}

BOOST_AUTO_TEST_CASE(one_handler_set_in_each_watch_is_called_in_each) {
  int const signal = SIGRTMIN + 6;
  using Again = Library<8>;
  std::signal(signal, count);
  for (int fits = 0; fits < 9; ++fits) {
    SignalWatch const watch(signal);
    Again::set(signal);
    calls = 0;
    Again::calls = 0;
    std::raise(signal);
    BOOST_TEST(watch.received());
    BOOST_TEST(Again::calls >= 1);
    BOOST_TEST(calls == 1);
  }
}

BOOST_AUTO_TEST_CASE(any_number_of_handlers_are_set_one_in_each_watch) {
  int const signal = SIGRTMIN + 7;
  std::signal(signal, count);
  auto const watch_with = [&]<int I>(Library<I>) {
    SignalWatch const watch(signal);
    Library<I>::set(signal);
    std::raise(signal);
    BOOST_TEST(watch.received());
    BOOST_TEST(Library<I>::calls == 1);
  };
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (watch_with(Library<100 + I>{}), ...);
  }(std::make_integer_sequence<int, 9>{});
}

BOOST_AUTO_TEST_CASE(a_handler_stays_that_calls_ours_for_a_signal_which_ends_nothing) {
  using Upper = Library<9>;
  {
    SignalWatch const watch(SIGCHLD);
    Upper::set(SIGCHLD);
  }
  for (int times : {1, 2}) {
    std::raise(SIGCHLD);
    BOOST_TEST(Upper::calls == times);
    BOOST_TEST(Upper::is_set(SIGCHLD));
  }
  Upper::give_back(SIGCHLD);
  {
    SignalWatch const watch(SIGCHLD);
  }
  BOOST_TEST((action_of(SIGCHLD).sa_handler == SIG_DFL));
}

BOOST_AUTO_TEST_CASE(a_signal_ends_the_program_where_a_handler_outlives_its_watch) {
  int const status = status_of_child([] {
    struct sigaction found{};
    {
      SignalWatch const watch(SIGALRM);
      ::sigaction(SIGALRM, nullptr, &found);
    }
    ::sigaction(SIGALRM, &found, nullptr);
    std::raise(SIGALRM);
    return true;
  });
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
