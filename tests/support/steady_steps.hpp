/// That the steps of a training run allocate nothing once it is under way. Include it in one source file of a program.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <thread>
#include <utility>

#include <boost/test/unit_test.hpp>

#include "support/allocations.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/threads/thread_barrier.hpp"
#include "trireme/backend/threads/thread_pool.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"

namespace trireme::test {

/// A callback that counts what is allocated while steps are taken, from the begin of an epoch's or a test's first batch
/// to the end of its last: the steps, what fetches the batches between them, and any thread beside. The first steps of
/// a run warm it up and are not counted.
struct SteadySteps {
  static constexpr std::size_t warm = 8;  ///< more than a prefetched dataset has slots

  /// Of training, and of tests.
  struct Count {
    Allocations allocated{};
    std::size_t seen = 0;     ///< steps since the run began
    std::size_t counted = 0;  ///< steps
  };
  std::array<Count, 2> counts{};
  Allocations before{};

  void on_train_batch_begin(auto const& run) { begin(counts[0], run.batch()); }
  void on_train_batch_end(auto const&) { end(counts[0]); }
  void on_test_batch_begin(auto const& run) { begin(counts[1], run.batch()); }
  void on_test_batch_end(auto const&) { end(counts[1]); }

 private:
  void begin(Count const& count, std::size_t batch) {
    if (count.seen == warm) settle();
    if (batch == 0 || count.seen == warm) before = allocations();
  }
  /// On a busy machine a thread that fetches batches may warm up later than the steps: waits until none allocates.
  static void settle() {
    auto last = allocations();
    for (int still = 0; still < 5;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      auto const now = allocations();
      still = now.news == last.news && now.views == last.views ? still + 1 : 0;
      last = now;
    }
  }
  void end(Count& count) {
    if (count.seen++ < warm) return;
    Allocations const now = allocations();
    count.allocated += now - before;
    before = now;
    ++count.counted;
  }
};

/// Gives each thread of the default host space the memory that kernels keep for a thread. Which thread takes which
/// partition is not fixed, so that one may come to its first partition at any time.
inline void warm_threads() {
  ThreadPool& pool = ThreadPool::of(Kokkos::DefaultHostExecutionSpace());
  ThreadBarrier barrier(pool.threads(), pool.patience());
  pool.run_at_once(barrier, [&](std::size_t) {
    barrier();  // so that each has a task
    [&]<int... Use>(std::integer_sequence<int, Use...>) {
      (::trireme::detail::pack_buffer<float, Use>(std::size_t{1} << 18), ...);
    }(std::make_integer_sequence<int, 8>());
  });
}

/// Trains for some epochs with tests between under each plan, once counting operator new and malloc, once Views.
/// \param counts_malloc  whether malloc has to be silent as well; an MPI may use it.
template <class Strategy, class Architecture, class Optimizer, class Train, class Tests>
void check_steady(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer,
                  Train const& train, Tests const& tests, bool counts_malloc = true,
                  FitOptions const& options = {.epochs = 3, .verbose = false},
                  std::initializer_list<Parallelism> plans = {Parallelism::samples, Parallelism::intra_op}) {
  warm_threads();
  for (Parallelism plan : plans) BOOST_TEST_CONTEXT((plan == Parallelism::samples ? "samples" : "intra_op")) {
      auto const run = [&] {
        auto model =
            compile<float>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                           Accuracy{}, CompileOptions{.seed = 11, .parallelism = plan});
        SteadySteps steps;
        fit(strategy, model, train, validation(tests), options, steps);
        return steps.counts;
      };
      for (auto const& count : run()) {
        BOOST_TEST(count.counted > 0u);
        BOOST_TEST(count.allocated.news == 0u);
        if (counts_malloc) BOOST_TEST(count.allocated.mallocs == 0u);
      }
      ViewHooks const hooks;
      for (auto const& count : run()) BOOST_TEST(count.allocated.views == 0u);
    }
}

}  // namespace trireme::test
