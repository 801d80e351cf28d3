// An error that a layer throws on any thread reaches the caller of fit, and the model can be trained again.
#define BOOST_TEST_MODULE errors_of_layers
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <atomic>
#include <cstddef>
#include <string>
#include <thread>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"

using namespace trireme;

namespace {

/// Threads on which Refusing throws, in forward or in backward.
enum class Refuses { never, caller, others, all };
std::atomic<Refuses> forward_refuses = Refuses::never, backward_refuses = Refuses::never;
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
    refuse(backward_refuses);
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
