// A hook that a callback lacks costs no instruction: those of steps taken through `fit` are counted, one by one.
#define BOOST_TEST_MODULE absent_hooks
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/data_parallel.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::Serial;

/// Trains nothing, so that what is left of a step is the loop's; stops at two of them for whoever counts.
template <class Model>
struct MarkedEngine : DataParallel<Model, Space, SingleProcess> {
  using Base = DataParallel<Model, Space, SingleProcess>;
  using Base::Base;
  static constexpr std::size_t first = 4, last = 12;

  void train_step(Batch<typename Base::T, typename Base::L> const&) {
    if (step == first) raise(SIGSTOP);
    if (step++ == last) _exit(0);
  }
  std::size_t step = 0;
};

struct MarkedStrategy {
  using Space = ::Space;
  template <class Model>
  using Engine = MarkedEngine<Model>;
  SingleProcess const& group() const { return *group_; }
  template <class Model>
  Engine<Model> build(Model model, Parallelism plan) const {
    return Engine<Model>(std::move(model), Space(), group_, 1, plan);
  }

 private:
  std::shared_ptr<SingleProcess const> group_ = std::make_shared<SingleProcess>();
};

/// Instructions that a copy of this process executes in f() from its first stop on, or nothing if this system lets
/// nobody count them.
template <class F>
std::optional<std::uint64_t> instructions(F const& f) {
  pid_t const child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    f();
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::uint64_t count = 0;
  for (; WIFSTOPPED(status); ++count) {
    if (ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0) return std::nullopt;
    waitpid(child, &status, 0);
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? std::optional(count) : std::nullopt;
}

/// Knows of epochs alone.
struct EpochWatcher {
  std::size_t epochs = 0;
  void on_epoch_begin(auto const&) { ++epochs; }
  void on_epoch_end(auto const&) {}
};

struct BatchCounter {
  std::size_t batches = 0;
  void on_train_batch_end(auto const&) { ++batches; }
};

struct Fixture {
  MarkedStrategy strategy;
  test::Samples<float> samples = test::mlp_samples<float>(64);
  decltype(compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{}, Accuracy{})) model =
      compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true}, Accuracy{});

  template <class... Callbacks>
  std::optional<std::uint64_t> of_eight_steps(Callbacks&&... callbacks) {
    return instructions(
        [&] { fit(strategy, model, samples.data().batch(GlobalBatch{2}), {.verbose = false}, callbacks...); });
  }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(steps_with_callbacks_that_lack_their_hooks_take_the_instructions_of_steps_without_callbacks,
                        Fixture) {
  auto const alone = of_eight_steps();
  if (!alone) {
    BOOST_TEST_MESSAGE("left out: this system does not let a process count another's instructions");
    return;
  }
  BOOST_TEST_MESSAGE("the loop's instructions, a step: " << *alone / 8);
  BOOST_TEST(of_eight_steps(BatchCounter{}).value() > *alone);
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  BOOST_TEST(of_eight_steps(EpochWatcher{}).value() == *alone);
  BOOST_TEST(of_eight_steps(EpochWatcher{}, EarlyStopping<"loss">{}, ReduceLROnPlateau<"loss">{},
                            LambdaCallback{.on_epoch_end = [](auto const&) {}})
                 .value() == *alone);
#endif
}
