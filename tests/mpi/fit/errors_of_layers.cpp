// ranks: 1 2 3
// After an error that a layer throws on all ranks, with sums of gradients under way, training goes on as without it.
#define BOOST_TEST_MODULE errors_of_layers_on_ranks
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/refusing_layer.hpp"
#include "support/small_training.hpp"

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>

#include "trireme/compile.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/compressed.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/virtual_replicas.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;
using test::Refuses;
using test::Refusing;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
using Whole = MultiWorkerMirroredStrategy<Space>;

Communicator const& world() { return test::environment().world(); }
Whole by_messages() { return Whole(world(), {}, 1 << 20, Exchange::messages); }

void check_refused(auto& model, auto const& x, auto const& y, Refuses pass) {
  test::refuses = pass;
  BOOST_TEST(test::message_of<ValueError>([&] { model.train_on_batch(x, y); }) == Refusing::message);
  test::refuses = Refuses::never;
}

/// \param alone  true if each process's optimizer steps without the others: within operators it then does in backward,
/// and layers behind the one that throws have been updated.
template <class Strategy>
void check_goes_on(std::string const& what, Strategy const& strategy,
                   std::initializer_list<Parallelism> plans = {Parallelism::automatic}, bool alone = false) {
  auto const first = test::mlp_samples<double>(24), second = test::mlp_samples<double>(24, 2);
  for (Parallelism const plan : plans) {
    auto const compiled = [&] {
      // Backward comes to the wide layers first, whose sums take a while. Adam's steps, and the random numbers of
      // Dropout, depend on the number of steps.
      return compile<double>(strategy,
                             Sequential{Input<test::mlp_inputs>{}, Dropout{.rate = 0.25f}, Dense<16, Tanh>{},
                                        Refusing{}, Dense<400, Tanh>{}, Dense<400, Tanh>{}, Dense<test::classes>{}},
                             Adam{.learning_rate = 0.01}, SparseCategoricalCrossentropy{.from_logits = true},
                             CompileOptions{.seed = 5, .parallelism = plan});
    };
    auto expected = compiled(), found = compiled();
    for (auto* model : {&expected, &found}) model->train_on_batch(first.x, first.y);
    for (Refuses const pass : {Refuses::forward, Refuses::backward, Refuses::backward}) {
      check_refused(found, second.x, second.y, pass);
      BOOST_TEST(found.engine().iteration() == expected.engine().iteration(), what);
      for (auto* model : {&found, &expected}) model->train_on_batch(first.x, first.y);
      if (pass == Refuses::backward && plan != Parallelism::samples && alone) continue;
      for (std::string const& name : expected.weight_names())
        BOOST_TEST((found.weights(name) == expected.weights(name)), what << ", " << name);
    }
  }
}

/// A state that follows the mean of the inputs.
struct RunningMean {
  enum States : std::size_t { moving_mean };
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class In>
  constexpr auto states(In const& in) const {
    return std::array{StateShape{"moving_mean", {in.back()}, 0, 0.5f}};
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
    T* const update = f.state_updates[moving_mean];
    if (!update) return;
    for (std::size_t j = 0; j < in.size(); ++j) {
      update[j] = 0;
      for (std::size_t row = 0; row < f.rows; ++row)
        update[j] += f.x[row * in.size() + j] / static_cast<T>(f.keys.global_rows);
    }
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), b.dy, b.dx);
  }
};

template <class Strategy>
void check_goes_on_without_rows(std::string const& what, Strategy const& strategy) {
  constexpr std::size_t states = 100'000;  // their sum is under way for a while
  auto const compiled = [&] {
    return compile<double>(strategy, Sequential{Input<4>{}, Dense<states>{}, RunningMean{}, Refusing{}, Dense<2>{}},
                           SGD{.learning_rate = 1e-6}, MeanSquaredError{}, CompileOptions{.seed = 5});
  };
  auto expected = compiled(), found = compiled();
  std::size_t const ranks = world().size();
  auto const ones = [](std::size_t rows, std::size_t columns) -> xt::xarray<double> {
    return xt::ones<double>({rows, columns});
  };
  xt::xarray<double> const x = 3.0 * ones(ranks, 4);
  auto const y = ones(ranks, 2), row = ones(1, 4), target = ones(1, 2);
  check_refused(found, x, y, ranks > 1 ? Refuses::backward : Refuses::forward);
  for (auto* model : {&found, &expected}) model->train_on_batch(row, target);
  for (std::string const& name : expected.weight_names())
    BOOST_TEST((found.weights(name) == expected.weights(name)), what << ", " << name);
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_under_way_change_nothing_of_the_next_step) {
  auto const plans = {Parallelism::samples, Parallelism::intra_op};
  bool const one = world().size() == 1;
  check_goes_on("messages", by_messages(), plans, one);
  check_goes_on("shared memory", Whole(world()), plans, one);
  check_goes_on("compressed", Compressed<Whole, BFloat16>(world()), {Parallelism::intra_op}, one);
  check_goes_on("pieces", Accumulate<Whole, 2>(world()), {Parallelism::intra_op});
  check_goes_on("shards of a batch", VirtualReplicas<Whole, 4>(world()));
  check_goes_on("shards of optimizer state", ShardedStrategy<Space, 1>(world()));
  check_goes_on("shards of gradients", ShardedStrategy<Space, 2>(world()));
  check_goes_on("shards of weights", ShardedStrategy<Space, 3>(world()));
}

BOOST_AUTO_TEST_CASE(a_local_step_that_an_error_ends_is_not_counted) {
  check_goes_on("own steps", LocalSGD<Whole, 3>(world()), {Parallelism::samples, Parallelism::intra_op}, true);
}

BOOST_AUTO_TEST_CASE(sums_under_way_change_nothing_of_the_next_step_of_a_rank_without_rows) {
  check_goes_on_without_rows("messages", by_messages());
  check_goes_on_without_rows("shared memory", Whole(world()));
  check_goes_on_without_rows("shards of optimizer state", ShardedStrategy<Space, 1>(world()));
  check_goes_on_without_rows("shards of gradients", ShardedStrategy<Space, 2>(world()));
  check_goes_on_without_rows("shards of weights", ShardedStrategy<Space, 3>(world()));
}
