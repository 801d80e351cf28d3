// An error that a layer throws on any thread reaches the caller of fit, and the model can be trained again.
#define BOOST_TEST_MODULE errors_of_layers
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

/// Threads on which Refusing throws, in forward or in backward.
enum class Refuses { never, caller, others, all };
std::atomic<Refuses> forward_refuses = Refuses::never, backward_refuses = Refuses::never;
/// Passes of backward so far, and the one that is refused, counted from 1.
std::atomic<std::size_t> passes = 0, refused_pass = 0;
std::thread::id const caller = std::this_thread::get_id();

void refuse(Refuses where) {
  bool const here = std::this_thread::get_id() == caller;
  if (where == Refuses::all || (where == Refuses::caller && here) || (where == Refuses::others && !here))
    throw ValueError("these rows are refused");
}

struct Refusing {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    refuse(forward_refuses);
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    refuse(++passes == refused_pass ? Refuses::all : backward_refuses.load());
    if (b.dx) kernels::copy(context, b.rows * in.size(), b.dy, b.dx);
  }
};

template <class Strategy, class Layer>
void check_errors(Strategy const& strategy, Layer const& normalization) {
  auto const samples = test::mlp_samples<float>(24);
  auto model = compile(strategy,
                       Sequential{Input<test::mlp_inputs>{}, Dense<8>{}, normalization, Refusing{}, normalization,
                                  Dense<test::classes>{}},
                       SGD{}, SparseCategoricalCrossentropy{.from_logits = true},
                       CompileOptions{.parallelism = Parallelism::samples});
  auto const train = [&] {
    fit(strategy, model, samples.data().batch(GlobalBatch{12}), {.epochs = 1, .verbose = false});
  };
  for (auto* refuses : {&forward_refuses, &backward_refuses})
    for (Refuses const where : {Refuses::caller, Refuses::others, Refuses::all}) {
      *refuses = where;
      std::string const message = test::message_of<ValueError>(train);
      *refuses = Refuses::never;
      // The caller alone may run all partitions that need not run at once.
      if (where != Refuses::others || !message.empty()) BOOST_TEST(message == "these rows are refused");
      BOOST_CHECK_NO_THROW(train());
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_error_on_any_thread_reaches_the_caller_of_fit) {
  check_errors(MirroredStrategy<>(1), BatchNormalization<>{});
  check_errors(MirroredStrategy<>(5), BatchNormalization<>{});
  check_errors(MirroredStrategy<>(3), ReLU{});
}

// As many threads as shards, on any machine.
BOOST_AUTO_TEST_CASE(an_error_reaches_the_caller_where_threads_wait_for_each_other) {
  check_errors(VirtualReplicas<OneDeviceStrategy<>, 4>(), SyncBatchNormalization<>{});
}

BOOST_AUTO_TEST_CASE(more_replicas_than_threads_share_have_statistics_of_their_own) {
  check_errors(MirroredStrategy<>(1100), BatchNormalization<>{});
}

// Neither the pieces that were done by then, of weights and of tables, nor the rows that the last one had touched.
BOOST_AUTO_TEST_CASE(nothing_of_a_step_in_pieces_that_an_error_ends_is_in_the_next) {
  constexpr std::size_t words = 5, vocabulary = 60, pieces = 3;
  Accumulate<OneDeviceStrategy<>, pieces> const strategy;
  std::vector<test::Samples<double>> batches;
  for (std::uint64_t seed : {1u, 2u}) {
    batches.push_back(test::make_samples<double>(2 * pieces, {words}, test::classes, seed));
    for (double& word : batches.back().x) word = std::floor(std::abs(word) * vocabulary);
  }
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    // Backward touches a table on either side before it comes to the layer that refuses.
    Embedding<vocabulary, 4> const table{.sparse_from = 0};
    auto const network = Sequential{Input<words>{}, Concatenate{table, Sequential{table, Refusing{}}, table}, Flatten{},
                                    Dense<test::classes>{}};
    auto const compiled = [&] {
      return compile<double>(strategy, network, SGD{.learning_rate = 0.1},
                             SparseCategoricalCrossentropy{.from_logits = true},
                             CompileOptions{.seed = 5, .parallelism = plan});
    };
    auto const train = [&](auto& model, std::size_t batch) {
      model.train_on_batch(batches[batch].x, batches[batch].y);
    };
    auto counted = compiled();
    passes = 0;
    train(counted, 0);
    std::size_t const of_a_piece = passes / pieces;
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      auto expected = compiled(), found = compiled();
      train(expected, 1), train(found, 1);
      refused_pass = passes + piece * of_a_piece + 1;
      BOOST_TEST(test::message_of<ValueError>([&] { train(found, 0); }) == "these rows are refused");
      refused_pass = 0;
      for (std::size_t const batch : {1u, 0u, 1u}) train(expected, batch), train(found, batch);
      BOOST_TEST(test::weight_bits(found) == test::weight_bits(expected),
                 "piece " << piece << (plan == Parallelism::samples ? ", rows" : ", products"));
    }
  }
}
