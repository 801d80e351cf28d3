// ranks: 2 3
// After an error that a layer throws on all ranks, with sums of gradients under way, training goes on as without it.
#define BOOST_TEST_MODULE errors_of_layers_on_ranks
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <string>

#include "trireme/compile.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }

bool refuses = false;

struct Refusing {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (refuses) throw ValueError("these rows are refused");
    if (b.dx) kernels::copy(context, b.rows * in.size(), b.dy, b.dx);
  }
};

template <class Strategy>
void check_goes_on(std::string const& what, Strategy const& strategy) {
  auto const first = test::mlp_samples<double>(24), second = test::mlp_samples<double>(24, 2);
  auto const compiled = [&] {
    // Backward comes to the wide layers first, whose sums take a while.
    return compile<double>(strategy,
                           Sequential{Input<test::mlp_inputs>{}, Dense<64, Tanh>{}, Refusing{}, Dense<700, Tanh>{},
                                      Dense<700, Tanh>{}, Dense<test::classes>{}},
                           SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true},
                           CompileOptions{.seed = 5});
  };
  auto expected = compiled(), found = compiled();
  for (auto* model : {&expected, &found}) model->train_on_batch(first.x, first.y);
  for (int step = 0; step < 3; ++step) {
    refuses = true;
    BOOST_TEST(test::message_of<ValueError>([&] { found.train_on_batch(second.x, second.y); }) ==
               "these rows are refused");
    refuses = false;
    for (auto* model : {&found, &expected}) model->train_on_batch(first.x, first.y);
    for (std::string const& name : expected.weight_names())
      BOOST_TEST((found.weights(name) == expected.weights(name)), what << ", step " << step << ", " << name);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_under_way_change_nothing_of_the_next_step) {
  check_goes_on("messages", MultiWorkerMirroredStrategy<Space>(world(), {}, 1 << 20, Exchange::messages));
  check_goes_on("shared memory", MultiWorkerMirroredStrategy<Space>(world()));
  check_goes_on("shards of optimizer state", ShardedStrategy<Space, 1>(world()));
  check_goes_on("shards of gradients", ShardedStrategy<Space, 2>(world()));
  check_goes_on("shards of weights", ShardedStrategy<Space, 3>(world()));
}
