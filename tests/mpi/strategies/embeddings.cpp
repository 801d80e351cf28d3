// ranks: 1 2 3 4   labels: law
// Law 1 for tables that are looked up: indices that occur on several ranks, on one, on none; uneven and empty shares.
#define BOOST_TEST_MODULE embeddings
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <tuple>
#include <vector>

#include <mpi.h>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/models/mixed.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/tensor/bfloat16.hpp"

using namespace trireme;

namespace {
/// Bytes that this process has given to collectives of MPI, which call these in place of its own (profiling interface).
std::size_t sent = 0;
void count_bytes(int count, MPI_Datatype type) {
  int size = 0;
  PMPI_Type_size(type, &size);
  sent += static_cast<std::size_t>(count) * static_cast<std::size_t>(size);
}
}  // namespace

extern "C" {
int MPI_Allreduce(void const* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  count_bytes(count, type);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Iallreduce(void const* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  count_bytes(count, type);
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
int MPI_Iallgatherv(void const* from, int count, MPI_Datatype type, void* to, int const* counts, int const* offsets,
                    MPI_Datatype to_type, MPI_Comm comm, MPI_Request* request) {
  count_bytes(count, type);
  return PMPI_Iallgatherv(from, count, type, to, counts, offsets, to_type, comm, request);
}
}

namespace {

using Scalars = std::tuple<float, double>;
constexpr std::size_t vocabulary = 40, words = 5, width = 6;

/// Sentences in which a few words occur often and some never.
template <class T>
auto sentences(std::size_t count, std::uint64_t seed) {
  auto samples = test::make_samples<T>(count, {words}, test::classes, seed);
  for (T& value : samples.x) value = std::floor(std::abs(value * value * value) * T{35});
  return samples;
}

template <class T, class Strategy, class Architecture, class Optimizer, class Check>
void trained(Strategy const& strategy, Architecture const& architecture, Optimizer const& optimizer, Parallelism plan,
             std::size_t batch, Check const& check) {
  auto const train = sentences<T>(4 * batch + 1, 1);
  auto model = compile<T>(strategy, architecture, optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                          Accuracy{}, CompileOptions{.seed = 5, .parallelism = plan});
  auto const history =
      fit(strategy, model, train.data().shuffle(100, 3).batch(GlobalBatch{batch}), {.epochs = 3, .verbose = false});
  check(model, history);
}

/// Two tables, of which one starts the model and one comes behind other parameters, so that buckets lie around it.
auto network(std::size_t sparse_from) {
  return Sequential{Input<words>{},
                    Concatenate{Embedding<vocabulary, width>{.sparse_from = sparse_from},
                                Sequential{Embedding<vocabulary, 3>{}, Dense<2>{}},
                                Embedding<vocabulary, 1>{.sparse_from = sparse_from}},
                    Flatten{}, Dense<7, Tanh>{}, Dense<test::classes>{}};
}

template <class T, class Architecture, class Optimizer>
void check_law(Architecture const& architecture, Optimizer const& optimizer) {
  auto const& world = test::environment().world();
  for (std::size_t batch : {7u, 2u})
    trained<T>(OneDeviceStrategy<>(), architecture, optimizer, Parallelism::samples, batch,
               [&](auto const& reference, auto const& expected) {
                 for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                   for (Exchange exchange : {Exchange::automatic, Exchange::messages})
                     trained<T>(MultiWorkerMirroredStrategy<>(world, {}, 256, exchange), architecture, optimizer, plan,
                                batch, [&](auto const& model, History const& history) {
                                  test::check_same_weights(model, reference, 10 * test::tolerance<T>);
                                  test::check_same_history(history, expected, 10 * test::tolerance<T>);
                                  test::check_equal_on_all(world, model);
                                });
               });
}

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(tables_train_on_ranks_as_on_one_device, T, Scalars) {
  check_law<T>(network(1000), Adam{.learning_rate = 0.01, .epsilon = 1e-3});
}

BOOST_AUTO_TEST_CASE_TEMPLATE(tables_of_which_rows_travel_train_on_ranks_as_on_one_device, T, Scalars) {
  check_law<T>(network(0), Adam{.learning_rate = 0.01, .epsilon = 1e-3});
  check_law<T>(network(0), Adam{.learning_rate = 0.01, .epsilon = 1e-3, .global_clipnorm = 0.5});
}

BOOST_AUTO_TEST_CASE(rows_alone_give_the_bits_that_whole_tables_give_on_one_device) {
  auto const samples = sentences<float>(23, 2);
  for (std::size_t replicas : {1u, 2u}) {
    MirroredStrategy<> const strategy(replicas);
    std::vector<std::uint64_t> bits;
    for (std::size_t sparse_from : {0u, 1000u}) {
      auto model = compile(strategy, network(sparse_from), Adam{.learning_rate = 0.01},
                           SparseCategoricalCrossentropy{.from_logits = true},
                           CompileOptions{.parallelism = Parallelism::intra_op});
      fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 3, .verbose = false});
      bits.push_back(test::weight_bits(model));
    }
    BOOST_TEST(bits[0] == bits[1]);
  }
}

BOOST_AUTO_TEST_CASE(rows_of_indices_that_a_join_hands_on_are_those_that_the_batch_names) {
  // Memory of what comes between the layers serves gradients later in backward.
  auto const network = [](std::size_t sparse_from) {
    return Graph{Input<words>{},
                 node<"deep">(Sequential{Dense<128, Tanh>{}, Dense<128, Tanh>{}}),
                 node<"indices", "input">(Concatenate{Flatten{}, Flatten{}}),
                 node<"rows">(Sequential{Embedding<vocabulary, 4>{.sparse_from = sparse_from}, Flatten{}}),
                 node<"both", "deep", "rows">(Concatenate{}),
                 node<"head">(Dense<test::classes>{})};
  };
  auto const samples = sentences<float>(23, 2);
  auto const check = [&]<class Precision>(Precision) {
    std::vector<std::uint64_t> bits;
    for (std::size_t sparse_from : {0u, 1000u}) {
      OneDeviceStrategy<> const strategy;
      auto model = compile<Precision>(strategy, network(sparse_from), SGD{.learning_rate = 0.1},
                                      SparseCategoricalCrossentropy{.from_logits = true},
                                      CompileOptions{.parallelism = Parallelism::intra_op});
      fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 2, .verbose = false});
      bits.push_back(test::weight_bits(model));
    }
    BOOST_TEST(bits[0] == bits[1]);
  };
  check(float{});
  check(Mixed<BFloat16>{});
}

BOOST_AUTO_TEST_CASE(rows_that_a_norm_of_nan_has_spoilt_are_clear_in_the_next_step) {
  auto const samples = sentences<double>(23, 2);
  auto const data = samples.data().batch(GlobalBatch{4});
  auto const check = [&](auto const& strategy, SGD const& optimizer) {
    std::vector<std::uint64_t> bits;
    for (std::size_t sparse_from : {0u, 1000u}) {
      auto model =
          compile<double>(strategy, network(sparse_from), optimizer, SparseCategoricalCrossentropy{.from_logits = true},
                          CompileOptions{.seed = 2, .parallelism = Parallelism::intra_op});
      std::vector<double> const kept = model.engine().weights().host_parameters();
      std::vector<double> values(kept.size(), std::numeric_limits<double>::quiet_NaN());
      model.engine().weights().set_parameters(values);
      fit(strategy, model, data, {.verbose = false});
      values = kept;
      model.engine().weights().set_parameters(values);
      fit(strategy, model, data, {.verbose = false});
      for (auto const& name : model.weight_names())
        for (double const weight : model.weights(name)) BOOST_REQUIRE(std::isfinite(weight));
      bits.push_back(test::weight_bits(model));
    }
    BOOST_TEST(bits[0] == bits[1]);
  };
  for (SGD const& optimizer :
       {SGD{.learning_rate = 0.1, .clipnorm = 0.5}, SGD{.learning_rate = 0.1, .global_clipnorm = 0.5}}) {
    check(OneDeviceStrategy<>(), optimizer);
    check(Accumulate<OneDeviceStrategy<>, 2>(), optimizer);
  }
}

// Pieces of a step touch rows of their own: those of all pieces travel, and no others.

BOOST_AUTO_TEST_CASE(pieces_give_the_bits_that_whole_tables_give_on_one_device) {
  auto const samples = sentences<double>(23, 2);
  Accumulate<OneDeviceStrategy<>, 3> const strategy;
  for (std::size_t batch : {7u, 2u}) {  // of batches of 2 most pieces have no rows
    std::vector<std::uint64_t> bits;
    for (std::size_t sparse_from : {0u, 1000u}) {
      auto model = compile<double>(strategy, network(sparse_from), Adam{.learning_rate = 0.01},
                                   SparseCategoricalCrossentropy{.from_logits = true},
                                   CompileOptions{.parallelism = Parallelism::intra_op});
      fit(strategy, model, samples.data().batch(GlobalBatch{batch}), {.epochs = 3, .verbose = false});
      bits.push_back(test::weight_bits(model));
    }
    BOOST_TEST(bits[0] == bits[1]);
  }
}

BOOST_AUTO_TEST_CASE(pieces_of_tables_train_on_ranks_as_on_one_device) {
  auto const& world = test::environment().world();
  Adam const optimizer{.learning_rate = 0.01, .epsilon = 1e-3};
  for (std::size_t batch : {7u, 2u})
    trained<double>(
        OneDeviceStrategy<>(), network(0), optimizer, Parallelism::samples, batch,
        [&](auto const& reference, auto const& expected) {
          for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
            for (Exchange exchange : {Exchange::automatic, Exchange::messages})
              trained<double>(
                  Accumulate<MultiWorkerMirroredStrategy<>, 3>(world, Kokkos::DefaultExecutionSpace(), 256, exchange),
                  network(0), optimizer, plan, batch, [&](auto const& model, History const& history) {
                    test::check_same_weights(model, reference, 10 * test::tolerance<double>);
                    test::check_same_history(history, expected, 10 * test::tolerance<double>);
                    test::check_equal_on_all(world, model);
                  });
        });
}

BOOST_AUTO_TEST_CASE(bytes_that_pieces_exchange_follow_the_rows_that_they_touch) {
  auto const& world = test::environment().world();
  constexpr std::size_t large = 5000, columns = 8, steps = 4;
  auto const samples = sentences<float>(8 * steps, 2);
  auto const bytes = [&](auto const& strategy) {
    auto model = compile(
        strategy,
        Sequential{Input<words>{}, Embedding<large, columns>{.sparse_from = 0}, Flatten{}, Dense<test::classes>{}},
        SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true},
        CompileOptions{.parallelism = Parallelism::intra_op});
    std::size_t const before = sent;
    for (std::size_t step = 0; step < steps; ++step) {
      std::size_t const rows = 8 / world.size(), first = 8 * step + rows * world.rank();
      model.engine().train_step({.x = samples.x.data() + first * words,
                                 .y = samples.y.data() + first,
                                 .rows = rows,
                                 .first_row = rows * world.rank(),
                                 .global_rows = rows * world.size()});
    }
    return sent - before;
  };
  using Workers = MultiWorkerMirroredStrategy<>;
  std::size_t const whole = bytes(Workers(world)), pieces = bytes(Accumulate<Workers, 2>(world));
  BOOST_TEST(pieces == whole);  // the same rows, each once a step
  BOOST_TEST(pieces < large * columns * sizeof(float) / 10);
  if (world.size() > 1) BOOST_TEST(pieces > 0u);
}
