// ranks: 2   labels: law
// As many models live at once as memory has room for, though an MPI has only some thousand communicators.
#define BOOST_TEST_MODULE many_models
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <stdexcept>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }

auto make(auto const& strategy) {
  return compile(strategy, Sequential{Input<2>{}, Dense<1>{}}, SGD{.learning_rate = 0.1}, MeanSquaredError{});
}

struct Throws {
  void on_epoch_end(auto&) const { throw std::runtime_error("no more"); }
};

/// The first and the last of so many models train, also after errors of both.
void check(auto const& strategy, std::size_t count) {
  std::vector<decltype(make(strategy))> models;
  for (std::size_t i = 0; i < count; ++i) models.push_back(make(strategy));
  std::vector<float> const x{1, 2, 3, 4, 5, 6, 7, 8}, y{1, 2, 3, 4};
  auto const data = data::from_tensor_slices(xt::adapt(x, {4, 2}), y).batch(GlobalBatch{2});
  FitOptions const options{.verbose = false};
  for (auto* model : {&models.front(), &models.back()})
    BOOST_CHECK_THROW(fit(strategy, *model, data, options, Throws{}), std::runtime_error);
  auto reference = make(strategy);
  fit(strategy, reference, data, {.epochs = 2, .verbose = false});
  for (auto* model : {&models.back(), &models.front()}) {
    fit(strategy, *model, data, {.epochs = 2, .initial_epoch = 1, .verbose = false});
    test::check_same_weights(*model, reference);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(models_of_a_strategy_share_its_communicators) {
  check(MultiWorkerMirroredStrategy<Space>(world(), {}, 512, Exchange::messages), 2100);
  check(ShardedStrategy<Space, 2>(world()), 2100);
}

#ifdef MPICH_VERSION
BOOST_AUTO_TEST_CASE(an_mpi_without_communicators_is_one_sentence) {
  std::vector<Communicator> all;
  try {
    for (std::size_t i = 0; i < 10'000; ++i) all.push_back(world().duplicate());
    BOOST_TEST(false);
  } catch (CommunicationError const& error) {
    std::string const text = error.what();
    BOOST_TEST(text.find(": MPI gives no further communicator; let fewer models live at once") != text.npos, text);
  }
}
#endif
