#define BOOST_TEST_MODULE claims
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "trireme/strategies/parameter_server/claims.hpp"

using namespace trireme;

namespace {

struct Worker {
  std::optional<Claims::Claim> claim;
  bool computed = false;
};

/// Runs an epoch in which who goes on next is drawn, and worker 0 computes only if nobody else can go on.
struct Epoch {
  std::vector<std::size_t> updated{};  ///< batches, in the order of their updates
  std::vector<std::size_t> claimed{};  ///< by each worker
  std::uint64_t oldest = 0;            ///< the largest number of updates that a gradient's weights lacked
  bool stuck = false;

  Epoch(Claims& claims, std::size_t workers, std::size_t batches, std::uint64_t seed) : claimed(workers, 0) {
    std::mt19937_64 random(seed);
    std::vector<Worker> all(workers);
    std::vector<bool> left(workers, false);
    while (std::find(left.begin(), left.end(), false) != left.end()) {
      std::vector<std::size_t> order(workers);
      for (std::size_t i = 0; i < workers; ++i) order[i] = i;
      std::shuffle(order.begin(), order.end(), random);
      std::partition(order.begin(), order.end(), [](std::size_t w) { return w != 0; });
      if (std::none_of(order.begin(), order.end(),
                       [&](std::size_t w) { return !left[w] && goes_on(claims, w, all[w], left, batches); })) {
        stuck = true;
        return;
      }
    }
  }

 private:
  bool goes_on(Claims& claims, std::size_t w, Worker& worker, std::vector<bool>& left, std::size_t batches) {
    if (!worker.claim) {
      if (!claims.can_claim()) return false;
      worker.claim = claims.claim(w, 0);
      if (worker.claim && worker.claim->batch >= batches) {
        claims.withdraw(w);
        worker.claim.reset();
      }
      if (worker.claim)
        ++claimed[w];
      else
        left[w] = true;
    } else if (!worker.computed) {
      worker.computed = true;
    } else {
      if (!claims.can_update(w)) return false;
      oldest = std::max(oldest, claims.update(w) - worker.claim->version);
      updated.push_back(worker.claim->batch);
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
        Claims claims(staleness);
        for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
          claims.start_epoch(41 * epoch);
          Epoch const run(claims, workers, 41, seed + epoch);
          BOOST_TEST(!run.stuck);
          BOOST_TEST(run.oldest <= staleness);
          auto batches = run.updated;
          std::sort(batches.begin(), batches.end());
          BOOST_TEST(batches.size() == 41u);
          for (std::size_t i = 0; i < batches.size(); ++i) BOOST_TEST(batches[i] == i);
          BOOST_TEST(claims.updates() == 41 * (epoch + 1));
          BOOST_TEST(claims.open() == 0u);
        }
      }
}

BOOST_AUTO_TEST_CASE(while_one_worker_computes_the_others_make_as_many_updates_as_the_bound_allows) {
  for (std::size_t staleness : {1u, 4u, 9u}) {
    Claims claims(staleness);
    claims.start_epoch(0);
    claims.claim(0, 0);  // and computes on and on
    std::size_t updates = 0;
    while (claims.can_claim()) {
      claims.claim(1, 0);
      if (!claims.can_update(1)) break;
      claims.update(1);
      ++updates;
    }
    BOOST_TEST(updates == staleness);
    BOOST_TEST(claims.can_update(0));
    claims.update(0);
    BOOST_TEST(claims.can_update(1));
  }
}

BOOST_AUTO_TEST_CASE(an_epoch_that_is_closed_has_no_more_batches_but_those_claimed_get_their_updates) {
  Claims claims(8);
  claims.start_epoch(5);
  auto const first = claims.claim(0, 3);
  BOOST_TEST_REQUIRE(first.has_value());
  BOOST_TEST(first->batch == 3u);
  BOOST_TEST(first->version == 5u);
  BOOST_TEST(first->number == 5u);
  auto const second = claims.claim(1, 0);
  BOOST_TEST(second->batch == 4u);
  BOOST_TEST(second->number == 6u);
  claims.close();
  BOOST_TEST(claims.can_claim());
  BOOST_TEST(!claims.claim(2, 0).has_value());
  BOOST_TEST(claims.can_update(1));
  BOOST_TEST(claims.update(1) == 5u);
  BOOST_TEST(claims.update(0) == 6u);
}
