#define BOOST_TEST_MODULE staleness_scheduler
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "trireme/strategies/parameter_server/staleness_scheduler.hpp"

using namespace trireme;

namespace {

struct Worker {
  std::optional<StalenessScheduler::Acquired> acquired;
  bool computed = false;
};

/// Runs an epoch in which who goes on next is drawn, and worker 0 computes only if nobody else can go on.
struct Epoch {
  std::vector<std::size_t> updated{};   ///< batches, in the order of their updates
  std::vector<std::size_t> acquired{};  ///< by each worker
  std::uint64_t oldest = 0;             ///< the largest number of updates that a gradient's weights lacked
  bool stuck = false;

  Epoch(StalenessScheduler& scheduler, std::size_t workers, std::size_t batches, std::uint64_t seed)
      : acquired(workers, 0) {
    std::mt19937_64 random(seed);
    std::vector<Worker> all(workers);
    std::vector<bool> left(workers, false);
    while (std::find(left.begin(), left.end(), false) != left.end()) {
      std::vector<std::size_t> order(workers);
      for (std::size_t i = 0; i < workers; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      std::partition(order.begin(), order.end(), [](std::size_t w) { return w != 0; });
      if (std::none_of(order.begin(), order.end(),
                       [&](std::size_t w) { return !left[w] && goes_on(scheduler, w, all[w], left, batches); })) {
        stuck = true;
        return;
      }
    }
  }

 private:
  bool goes_on(StalenessScheduler& scheduler, std::size_t w, Worker& worker, std::vector<bool>& left,
               std::size_t batches) {
    if (!worker.acquired) {
      if (!scheduler.can_acquire()) return false;
      worker.acquired = scheduler.acquire(w, 0);
      if (worker.acquired && worker.acquired->batch >= batches) {
        scheduler.release(w);
        worker.acquired.reset();
      }
      if (worker.acquired)
        ++acquired[w];
      else
        left[w] = true;
    } else if (!worker.computed) {
      worker.computed = true;
    } else {
      if (!scheduler.can_update(w)) return false;
      oldest = std::max(oldest, scheduler.update(w) - worker.acquired->version);
      updated.push_back(worker.acquired->batch);
      worker = {};
    }
    return true;
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(no_gradient_is_older_than_the_bound_and_nobody_waits_for_ever) {
  for (std::size_t workers = 1; workers <= 5; ++workers)
    for (std::size_t staleness : {0u, 1u, 2u, 3u, 7u, 100u})
      for (std::uint64_t seed = 0; seed < 20; ++seed) {
        StalenessScheduler scheduler(staleness);
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
          scheduler.start_epoch(41 * epoch);
          Epoch const run(scheduler, workers, 41, seed + epoch);
          BOOST_TEST(!run.stuck);
          BOOST_TEST(run.oldest <= staleness);
          auto batches = run.updated;
          std::sort(batches.begin(), batches.end());
          BOOST_TEST(batches.size() == 41u);
          for (std::size_t i = 0; i < batches.size(); ++i) BOOST_TEST(batches[i] == i);
          BOOST_TEST(scheduler.updates() == 41 * (epoch + 1));
          BOOST_TEST(scheduler.open() == 0u);
        }
      }
}

BOOST_AUTO_TEST_CASE(while_one_worker_computes_the_others_make_as_many_updates_as_the_bound_allows) {
  for (std::size_t staleness : {1u, 4u, 9u}) {
    StalenessScheduler scheduler(staleness);
    scheduler.start_epoch(0);
    scheduler.acquire(0, 0);  // and computes on and on
    std::size_t updates = 0;
    while (scheduler.can_acquire()) {
      scheduler.acquire(1, 0);
      if (!scheduler.can_update(1)) break;
      scheduler.update(1);
      ++updates;
    }
    BOOST_TEST(updates == staleness);
    BOOST_TEST(scheduler.can_update(0));
    scheduler.update(0);
    BOOST_TEST(scheduler.can_update(1));
  }
}

BOOST_AUTO_TEST_CASE(an_epoch_that_is_closed_has_no_more_batches_but_those_claimed_get_their_updates) {
  StalenessScheduler scheduler(8);
  scheduler.start_epoch(5);
  auto const first = scheduler.acquire(0, 3);
  BOOST_TEST_REQUIRE(first.has_value());
  BOOST_TEST(first->batch == 3u);
  BOOST_TEST(first->version == 5u);
  BOOST_TEST(first->number == 5u);
  auto const second = scheduler.acquire(1, 0);
  BOOST_TEST(second->batch == 4u);
  BOOST_TEST(second->number == 6u);
  scheduler.close();
  BOOST_TEST(scheduler.can_acquire());
  BOOST_TEST(!scheduler.acquire(2, 0).has_value());
  BOOST_TEST(scheduler.can_update(1));
  BOOST_TEST(scheduler.update(1) == 5u);
  BOOST_TEST(scheduler.update(0) == 6u);
}
