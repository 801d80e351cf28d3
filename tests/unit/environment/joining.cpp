// Environments in programs that run MPI themselves. Starts itself under mpiexec in the roles below. Launchers may mix
// the ends of lines of several processes, so that texts are looked for without them.
#define BOOST_TEST_MODULE joining
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "support/roles.hpp"
#include "support/small_training.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/terminate_on_nan.hpp"
#include "trireme/compile.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;
using test::Outcome, test::run, test::run_on;

namespace {

/// Calls on MPI_COMM_WORLD, counted while the library is at work.
struct WorldCalls {
  bool counts = false;
  int number = 0;
  void see(MPI_Comm comm) {
    if (counts && comm == MPI_COMM_WORLD) ++number;
  }
} world_calls;

}  // namespace

// Those of MPI, which every program may replace to see the calls.
extern "C" {
int MPI_Abort(MPI_Comm comm, int code) {
  int size = 0, same = MPI_UNEQUAL;
  MPI_Comm_size(comm, &size);
  MPI_Comm_compare(comm, MPI_COMM_WORLD, &same);
  std::fprintf(stderr, "abort of %d processes%s\n", size, same == MPI_UNEQUAL ? "" : ", all");
  detail::let_launcher_read();
  return PMPI_Abort(comm, code);
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy) {
  world_calls.see(comm);
  return PMPI_Comm_dup(comm, copy);
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* part) {
  world_calls.see(comm);
  return PMPI_Comm_split(comm, color, key, part);
}
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  world_calls.see(comm);
  return PMPI_Comm_set_errhandler(comm, handler);
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
  world_calls.see(comm);
  return PMPI_Ibarrier(comm, request);
}
int MPI_Iallreduce(void const* in, void* out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  world_calls.see(comm);
  return PMPI_Iallreduce(in, out, n, type, op, comm, request);
}
int MPI_Ibcast(void* data, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
  world_calls.see(comm);
  return PMPI_Ibcast(data, n, type, root, comm, request);
}
}

namespace {

/// Trains on the group and has its chief write the loss, to the last bit.
template <class Space = Kokkos::DefaultHostExecutionSpace>
void train(Communicator const& group, std::size_t seed = 7) {
  MultiWorkerMirroredStrategy<Space> const strategy(group);
  auto model =
      compile<double>(strategy, test::mlp(), Adam{.learning_rate = 0.01},
                      SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{}, CompileOptions{.seed = seed});
  auto const history = fit(strategy, model, test::mlp_samples<double>(37, seed).data().batch(GlobalBatch{8}),
                           {.epochs = 3, .verbose = false});
  if (group.is_chief()) std::printf("seed %zu: loss %a\n", seed, history["loss"].back());
}

/// A program's group of every second process, and its own exchange of messages.
struct Application {
  MPI_Comm half = MPI_COMM_NULL, all = MPI_COMM_NULL;
  int rank = 0;

  Application() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_dup(MPI_COMM_WORLD, &all);
    PMPI_Comm_split(all, rank % 2, rank, &half);
    world_calls.counts = true;
  }
  ~Application() {
    world_calls.counts = false;
    MPI_Comm_free(&half);
    MPI_Comm_free(&all);
    MPI_Finalize();
  }

  void compute() const {
    for (int step = 0; step < 100; ++step) {
      double value = step;
      MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_SUM, half);
      if (value != 2.0 * step) std::printf("the application's sum is wrong\n");
    }
  }
};

[[noreturn]] void own_end() {
  std::fprintf(stderr, "the application's own end\n");
  std::_Exit(3);
}

void own_error(MPI_Comm*, int*, ...) {}

std::map<int, void (*)(int)> signal_handlers() {
  std::map<int, void (*)(int)> handlers;
  for (int signal = 1; signal < 32; ++signal) {
    struct sigaction now{};
    if (sigaction(signal, nullptr, &now) == 0) handlers[signal] = now.sa_handler;
  }
  return handlers;
}

std::string variables() {
  std::string all;
  for (char** variable = environ; *variable != nullptr; ++variable) all += std::string(*variable) + '\n';
  return all;
}

int play_handlers() {
  Application const application;
  std::set_terminate(&own_end);
  std::signal(SIGTERM, [](int) {});
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL, before = MPI_ERRHANDLER_NULL, now = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(&own_error, &handler);
  PMPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
  auto const signals = signal_handlers();
  std::string const set = variables();
  Environment const environment(MPI_COMM_WORLD, {.threads = 1});
  MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
  if (std::get_terminate() != &own_end) std::printf("another std::terminate handler\n");
  if (before != now) std::printf("another error handler\n");
  if (signals != signal_handlers()) std::printf("another signal handler\n");
  if (set != variables()) std::printf("other environment variables\n");
  std::printf("looked\n");
  for (MPI_Errhandler* const used : {&handler, &before, &now}) MPI_Errhandler_free(used);
  return 0;
}

std::atomic<bool> fault_handled = false;

/// A program's handler that repairs faults, as debuggers of memory and devices in software have one, also of threads
/// that the library has started: the watchdog writes to the record, whose page is protected.
int play_fault_handler() {
  Application const application;
  Environment const environment(MPI_COMM_WORLD, {.threads = 1});
  static std::uintptr_t const page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  static auto const record = reinterpret_cast<std::uintptr_t>(&detail::status()) / page * page;
  static auto const protect = [](int access) { mprotect(reinterpret_cast<void*>(record), page, access); };
  struct sigaction action{};
  action.sa_handler = [](int) {
    protect(PROT_READ | PROT_WRITE);
    fault_handled = true;
  };
  sigaction(SIGSEGV, &action, nullptr);
  protect(PROT_NONE);
  while (!fault_handled) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::printf("handled\n");
  return 0;
}

int play(std::string_view role, int argc, char** argv) {
  if (role == "started_here") {
    Environment const environment(argc, argv, {.threads = 2});
    train(environment.world());
  }
  if (role == "plain" || role == "plain_serial" || role == "plain_argc") {
    MPI_Init(&argc, &argv);
    {
      EnvironmentOptions const options{.threads = 2};
      std::optional<Environment> environment;
      if (role == "plain_argc")
        environment.emplace(argc, argv, options);
      else
        environment.emplace(MPI_COMM_WORLD, options);
      if (role == "plain_serial")
        train<Kokkos::Serial>(environment->world());
      else
        train(environment->world());
    }
    int finalized = 1;
    MPI_Finalized(&finalized);
    MPI_Finalize();
    return finalized == 0 ? 0 : 5;
  }
  if (role == "kokkos_after" || role == "kokkos_missing") {
    Environment const environment(argc, argv, {.start_kokkos = false});
    if (Kokkos::is_initialized()) return 5;
    if (role == "kokkos_after") Kokkos::initialize(Kokkos::InitializationSettings().set_num_threads(2));
    train(environment.world());
    Kokkos::finalize();
  }
  if (role == "half") {
    Application const application;
    if (application.rank % 2 == 0) {
      Environment const environment(application.half, {.threads = 2});
      train(environment.world());
    } else {
      application.compute();
    }
    MPI_Barrier(application.all);
    std::printf("%s on MPI_COMM_WORLD\n", world_calls.number == 0 ? "none" : "calls");
  }
  if (role == "two") {
    Application const application;
    Environment const environment(application.half, {.threads = 1});
    train(environment.world(), 20 + static_cast<std::size_t>(application.rank % 2));
  }
  if (role == "nested") {
    Application const application;
    Environment const outer(application.all, {.threads = 1});
    {
      Environment const inner(application.half, {.threads = 1});
      train(inner.world(), 20 + static_cast<std::size_t>(application.rank % 2));
    }
    train(outer.world());
  }
  if (role == "throws" || role == "throws_silently" || role == "all_throw" || role == "throws_in_nested") {
    Application const application;
    if (application.rank % 2 == 0) {
      std::optional<Environment> outer;
      if (role == "throws_in_nested") outer.emplace(application.half, EnvironmentOptions{.threads = 1});
      Environment const environment(
          role == "throws_in_nested" ? MPI_COMM_SELF : application.half,
          {.threads = 1, .catch_exits = true, .messages = role == "throws_silently" ? nullptr : stderr});
      if (role == "all_throw") environment.world().together([] { throw Error("both fail"); });
      if (application.rank == 2) throw Error("the second one fails");
      environment.world().barrier();
    }
    MPI_Barrier(application.all);
  }
  if (role == "throws_uncaught") {
    Application const application;
    Environment const environment(application.all, {.threads = 1});
    if (application.rank == 1) throw Error("nobody catches this");
    environment.world().barrier();
  }
  if (role == "caught") {
    Application const application;
    try {
      Environment const environment(application.all, {.threads = 1});
      environment.world().together([&] {
        if (application.rank == 1) throw Error("one fails");
      });
    } catch (Error const& e) {
      std::printf("the application goes on after: %s\n", e.what());
    }
    MPI_Barrier(application.all);
  }
  if (role == "left_by_one") {
    Application const application;
    try {
      Environment const environment(MPI_COMM_WORLD, {.threads = 1, .deadline = std::chrono::milliseconds(500)});
      if (application.rank == 1) throw Error("one leaves");
      environment.world().barrier();
    } catch (Error const&) {
    }
    MPI_Barrier(application.all);
  }
  if (role == "handlers") return play_handlers();
  if (role == "fault_handler") return play_fault_handler();
  if (role == "own_terminate_handler") {
    std::set_terminate(&own_end);
    Environment const environment(argc, argv, {.threads = 1});
    throw Error("for the application's handler");
  }
  if (role == "terminate_handler_by_choice") {
    std::set_terminate(&own_end);
    {
      Environment const environment(argc, argv, {.threads = 1, .catch_exits = true});
      if (std::get_terminate() == &own_end) return 5;
    }
    return std::get_terminate() == &own_end ? 0 : 6;
  }
  if (role == "nested_all_throw") {
    Environment const outer(argc, argv, {.threads = 1});
    Environment const inner(MPI_COMM_WORLD);
    inner.world().together([] { throw Error("all fail"); });
  }
  if (role == "silent_and_caught") {
    try {
      Environment const environment(argc, argv,
                                    {.threads = 1, .patience = std::chrono::milliseconds(200), .messages = nullptr});
      if (environment.world().rank() == 1) throw Error("not to be shown");
      environment.world().barrier();
    } catch (Error const&) {
      return 1;
    }
  }
  if (role == "loss_that_is_no_number" || role == "silent_loss_that_is_no_number") {
    Environment const environment(
        argc, argv, {.threads = 1, .messages = role == "silent_loss_that_is_no_number" ? nullptr : stderr});
    MultiWorkerMirroredStrategy<> const strategy(environment.world());
    auto model = compile(strategy, Sequential{Input<1>{}, Dense<1>{}}, Adam{}, MeanSquaredError{});
    std::vector<float> const x(8, std::numeric_limits<float>::quiet_NaN()), y(8);
    fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{4}), {.epochs = 2, .verbose = false},
        EarlyStopping<"loss">{}, TerminateOnNaN{});
  }
  if (role == "error_on_world" || role == "silent_error_on_world") {
    Environment const environment(argc, argv,
                                  {.threads = 1, .messages = role == "silent_error_on_world" ? nullptr : stderr});
    std::printf("reason: %s\n", detail::mpi_error_text(MPI_ERR_TOPOLOGY).c_str());
    std::fflush(stdout);
    MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_TOPOLOGY);
  }
  if (role == "after_a_misuse") {
    try {
      Communicator const early(MPI_COMM_WORLD);
    } catch (CommunicationError const&) {
    }
    Environment const environment(argc, argv, {.threads = 1});
    throw Error("reported in one line");
  }
  if (role == "without_mpi") Environment const environment(MPI_COMM_SELF);
  if (role == "null_communicator") {
    Application const application;
    Environment const environment(MPI_COMM_NULL);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) { return test::play_or_test(argc, argv, &play); }

BOOST_AUTO_TEST_CASE(programs_with_plain_MPI_Init_train_as_those_that_the_library_starts) {
  Outcome const reference = run_on(2, "started_here");
  BOOST_TEST(reference.code == 0);
  BOOST_TEST(reference.count("seed 7: loss 0x") == 1);
  for (auto const* role : {"plain", "plain_argc", "kokkos_after"}) {
    Outcome const end = run_on(2, role);
    BOOST_TEST(end.code == 0);
    BOOST_TEST(end.text == reference.text);
  }
  Outcome const serial = run_on(2, "plain_serial");
  BOOST_TEST(serial.code == 0);
  BOOST_TEST(serial.count("seed 7: loss 0x") == 1);
}

BOOST_AUTO_TEST_CASE(half_of_the_processes_train_while_the_others_compute_and_nothing_is_called_on_the_world) {
  Outcome const end = run_on(4, "half");
  BOOST_TEST(end.code == 0);
  BOOST_TEST(end.count("seed 7: loss") == 1);
  BOOST_TEST(end.count("none on MPI_COMM_WORLD") == 4);
  BOOST_TEST(end.count("wrong") == 0);
}

BOOST_AUTO_TEST_CASE(two_environments_on_two_communicators_train_at_once_and_within_one_another) {
  Outcome const apart = run_on(4, "two"), within = run_on(4, "nested");
  BOOST_TEST(apart.code == 0);
  BOOST_TEST(within.code == 0);
  for (auto const* seed : {"seed 20: loss", "seed 21: loss"}) {
    BOOST_REQUIRE(apart.count(seed) == 1);
    std::size_t const at = apart.text.find(seed);
    BOOST_TEST(within.count(apart.text.substr(at, apart.text.find('\n', at) - at)) == 1);
  }
  BOOST_TEST(within.count("seed 7: loss") == 1);
}

BOOST_AUTO_TEST_CASE(errors_end_the_processes_of_the_environment_and_no_larger_group) {
  Outcome const one = run_on(4, "throws");
  BOOST_TEST(one.code != 0);
  BOOST_TEST(one.count("trireme: rank 1: the second one fails") == 1);
  BOOST_TEST(one.count("abort of 2 processes") >= 1);
  BOOST_TEST(one.count(", all") == 0);
  Outcome const all = run_on(4, "all_throw");
  BOOST_TEST(all.code != 0);
  BOOST_TEST(all.count("trireme: both fail") == 1);
  BOOST_TEST(all.count(", all") == 0);
  Outcome const nested = run_on(4, "throws_in_nested");
  BOOST_TEST(nested.code != 0);
  BOOST_TEST(nested.count("abort of 2 processes") >= 1);
}

BOOST_AUTO_TEST_CASE(errors_in_a_joined_program_are_the_applications) {
  Outcome const uncaught = run_on(3, "throws_uncaught");
  BOOST_TEST(uncaught.code != 0);
  BOOST_TEST(uncaught.count("trireme: rank 1: nobody") == 0);
  Outcome const caught = run_on(3, "caught");
  BOOST_TEST(caught.code == 0);
  BOOST_TEST(caught.count("the application goes on after: on rank 1: one fails") == 3);
  Outcome const left = run_on(3, "left_by_one");
  BOOST_TEST(left.code == 1);
  BOOST_TEST(left.count("has already ended, while rank ") == 1);
}

BOOST_AUTO_TEST_CASE(no_message_is_written_where_none_is_wanted) {
  Outcome const end = run("env -u KOKKOS_DISABLE_WARNINGS " + test::launcher() + " -n 4", "throws_silently");
  BOOST_TEST(end.code != 0);
  BOOST_TEST(end.count("trireme:") == 0);
  BOOST_TEST(end.count("fails") == 0);
  BOOST_TEST(end.count("Kokkos") == 0);
  Outcome const caught = run_on(3, "silent_and_caught");
  BOOST_TEST(caught.code != 0);
  BOOST_TEST(caught.count("trireme:") == 0);
}

BOOST_AUTO_TEST_CASE(callbacks_write_nothing_where_no_message_is_wanted) {
  Outcome const loud = run_on(2, "loss_that_is_no_number");
  BOOST_TEST(loud.code == 0);
  BOOST_TEST(loud.count("so training ends") == 1);
  BOOST_TEST(loud.count("which is never an improvement") == 1);
  Outcome const silent = run_on(2, "silent_loss_that_is_no_number");
  BOOST_TEST(silent.code == 0);
  BOOST_TEST(silent.count("so training ends") == 0);
  BOOST_TEST(silent.count("which is never an improvement") == 0);
}

BOOST_AUTO_TEST_CASE(an_error_of_the_programs_own_on_all_processes_ends_it_with_a_line_unless_none_is_wanted) {
  Outcome const loud = run("", "error_on_world");
  std::string const rest = loud.text.substr(loud.text.find("reason: ") + 8), reason = rest.substr(0, rest.find('\n'));
  BOOST_TEST(loud.code != 0);
  BOOST_TEST(loud.count(reason) == 2);
  Outcome const silent = run("", "silent_error_on_world");
  BOOST_TEST(silent.code != 0);
  BOOST_TEST(silent.count(reason) == 1);
}

BOOST_AUTO_TEST_CASE(handlers_and_variables_stay_the_applications) {
  Outcome const joined = run_on(2, "handlers");
  BOOST_TEST(joined.code == 0);
  BOOST_TEST(joined.count("looked") == 2);
  BOOST_TEST(joined.count("another") == 0);
  BOOST_TEST(joined.count("other environment") == 0);
  Outcome const faults = run_on(2, "fault_handler");
  BOOST_TEST(faults.code == 0);
  BOOST_TEST(faults.count("handled") == 2);
  Outcome const own = run("", "own_terminate_handler");
  BOOST_TEST(own.code == 3);
  BOOST_TEST(own.count("the application's own end") == 1);
  BOOST_TEST(run("", "terminate_handler_by_choice").code == 0);
}

BOOST_AUTO_TEST_CASE(an_agreed_error_within_two_environments_ends_in_order) {
  Outcome const end = run_on(3, "nested_all_throw");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: all fail") == 1);
  BOOST_TEST(end.count("abort of") == 0);
}

BOOST_AUTO_TEST_CASE(an_error_is_reported_in_one_line_whatever_was_misused_before) {
  Outcome const end = run("", "after_a_misuse");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: rank 0: reported in one line") == 1);
}

BOOST_AUTO_TEST_CASE(what_is_not_running_is_named) {
  Outcome const end = run("", "without_mpi");
  BOOST_TEST(end.code == 1);
  BOOST_TEST(end.count("trireme: an Environment was made for a communicator while MPI is not running") == 1);
  BOOST_TEST(run("", "null_communicator").count("a Communicator was made from MPI_COMM_NULL") == 1);
  BOOST_TEST(run("", "kokkos_missing").count("while Kokkos is not running") == 1);
}
