// ranks: 2 3   labels: law
// Law 4 where ranks have other numbers of threads: a run resumes to the bit, and what differs on one rank is an error
// of all.
#define BOOST_TEST_MODULE unlike_ranks
#define BOOST_TEST_NO_MAIN
#include <boost/test/unit_test.hpp>

#include "support/archived_engine.hpp"
#include "support/killer.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <stdlib.h>

#include <fmt/format.h>
#include <mpi.h>

#include "trireme/callbacks/archive.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/compile.hpp"
#include "trireme/environment/environment.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/mpi/text_of_ranks.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

Communicator const* world = nullptr;

/// The losses of a run of two epochs of four batches.
template <class Strategy>
std::vector<double> train(Strategy const& strategy, BackupAndRestore backup, std::size_t steps) {
  auto const samples = test::mlp_samples<float>(22);
  auto model = compile(strategy, test::mlp(), Adam{.learning_rate = 0.03},
                       SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = 6});
  return fit(strategy, model, samples.data().shuffle(22, 4).batch(GlobalBatch{6}), {.epochs = 2, .verbose = false},
             test::Killer{steps}, backup)["loss"];
}

template <class Strategy>
void check_law(Strategy const& strategy) {
  std::string path = "/tmp/trireme_unlike_XXXXXX";
  if (world->is_chief()) BOOST_REQUIRE(::mkdtemp(path.data()) != nullptr);
  world->broadcast(path);
  auto const expected = train(strategy, {.path = path + "/whole.npz"}, test::never);
  for (Placement const placement : {Placement::same, Placement::any}) {
    BackupAndRestore const backup{.path = path + "/run.npz", .save_freq = 2, .placement = placement};
    BOOST_CHECK_THROW(train(strategy, backup, 2), test::Killed);
    BOOST_TEST(train(strategy, backup, test::never) == expected, boost::test_tools::per_element());
  }
  world->barrier();
  if (world->is_chief()) std::filesystem::remove_all(path);
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int result = 0;
  {
    Environment const environment(MPI_COMM_WORLD, {.threads = rank % 2 == 0 ? 1u : 2u});
    world = &environment.world();
    result = boost::unit_test::unit_test_main(&init_unit_test, argc, argv);
  }
  MPI_Finalize();
  return result;
}

BOOST_AUTO_TEST_CASE(gradients_in_shared_memory) { check_law(MultiWorkerMirroredStrategy<>(*world)); }
BOOST_AUTO_TEST_CASE(weights_of_each_ranks_own) { check_law(LocalSGD<MultiWorkerMirroredStrategy<>, 3>(*world)); }
BOOST_AUTO_TEST_CASE(shards_of_everything) { check_law(ShardedStrategy<Kokkos::DefaultExecutionSpace, 3>(*world)); }
BOOST_AUTO_TEST_CASE(weights_on_servers) { check_law(ParameterServerStrategy(*world, {.staleness = 0})); }

BOOST_AUTO_TEST_CASE(what_differs_on_one_rank_alone_is_a_difference_on_all) {
  test::ArchivedEngine engine;
  auto const threads = [](std::size_t n) { return fmt::format("{} threads", n); };
  std::size_t const last = world->size() - 1;
  bool const is_last = world->rank() == last;
  std::vector<double> sums{1.0 + static_cast<double>(world->rank())};
  Archive<test::ArchivedEngine> saving(engine, "run.h5");
  saving.placed("was placed otherwise", "placement", *world, threads(2));
  saving.summands("sums", *world, sums, 1);

  Archive<test::ArchivedEngine> refused(engine, "run.h5", saving.tensors());
  refused.placed("was placed otherwise", "placement", *world, threads(is_last ? 4 : 2));
  std::string const others = last == 1 ? "rank 0" : "ranks 0 to 1";
  BOOST_TEST(test::message_of<FileError>([&] { refused.require_placement(); }) ==
             fmt::format("run.h5: holds a run that was placed otherwise: 2 threads there, and 2 threads on {}; 4 "
                         "threads on rank {} here; BackupAndRestore{{.placement = Placement::any}} goes on here, where "
                         "results no longer agree to the bit",
                         others, last));

  Archive<test::ArchivedEngine> moved(engine, "run.h5", saving.tensors(), Placement::any);
  moved.placed("was placed otherwise", "placement", *world, threads(is_last ? 4 : 2));
  moved.summands("sums", *world, sums, 1);
  BOOST_TEST(moved.moved());
  BOOST_TEST(world->allreduce_sum(sums[0]).value() == (last == 1 ? 3.0 : 6.0));
}

BOOST_AUTO_TEST_CASE(texts_name_the_ranks_that_have_them) {
  BOOST_TEST(detail::fold_texts({"a", "a", "a"}) == "a");
  BOOST_TEST(detail::fold_texts({"", ""}) == "");
  BOOST_TEST(detail::fold_texts({"", "a", ""}) == "a");
  BOOST_TEST(detail::fold_texts({"a", "b", "a", "a", "", "a"}) == "a on ranks 0, 2 to 3, 5; b on rank 1");
}
