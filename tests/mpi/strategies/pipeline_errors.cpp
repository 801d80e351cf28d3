// ranks: 2 3 4
// After an error on all ranks in different batches or micro-batches, a pipeline goes on as without it: messages that no
// stage had received are not taken for those of later steps.
#define BOOST_TEST_MODULE pipeline_errors
#include "support/kokkos_fixture.hpp"
#include "support/message_of.hpp"
#include "support/small_training.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }

constexpr std::size_t never = 1000;

/// Forward passes that the first refusing layer of this stage lets through.
struct Passes {
  std::size_t allowed = never, done = 0, layer = never;

  void reach(std::size_t place) {
    if (allowed == never) return;
    if (layer == never) layer = place;
    if (place == layer && done++ == allowed) throw std::runtime_error("these rows are refused");
  }
};
Passes forwards;

struct Refusing {
  std::size_t place = 0;

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    forwards.reach(place);
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), b.dy, b.dx);
  }
};

/// Throws at the begin of a batch of a test.
struct Throwing {
  std::size_t test_batch;

  template <class Run>
  void on_test_batch_begin(Run const& run) const {
    if (run.batch() == test_batch) throw std::runtime_error("these rows are refused");
  }
};

using Strategy = PipelineStrategy<Space>;

/// Layers of at least four stages. \param width  elements of a row between the first and the second stage.
template <std::size_t width>
auto compiled(Strategy const& strategy) {
  return compile<double>(strategy,
                         Sequential{Input<test::mlp_inputs>{}, Dense<width, Tanh>{}, Refusing{.place = 0},
                                    Dropout{.rate = 0.2f}, Dense<8, Tanh>{}, Refusing{.place = 1}, Dense<8, Tanh>{},
                                    Refusing{.place = 2}, Dense<test::classes>{}, Refusing{.place = 3}},
                         SGD{.learning_rate = 0.1, .momentum = 0.9}, SparseCategoricalCrossentropy{.from_logits = true},
                         CompileOptions{.seed = 5});
}

/// `call(model, strategy, data, stage)` throws on all ranks. Then, and after a second time, the model trains, tests and
/// predicts to the bit as one that ran `trained(model, strategy, data)` in its place.
template <std::size_t width = 8, class Call, class Trained>
void check_goes_on(PipelineOptions const& options, Call const& call, Trained const& trained) {
  Strategy const strategy(world(), options);
  auto const samples = test::mlp_samples<double>(64), few = test::mlp_samples<double>(8, 4),
             others = test::mlp_samples<double>(64, 2);
  auto expected = compiled<width>(strategy), found = compiled<width>(strategy);
  auto const data = samples.data().batch(GlobalBatch{8});
  for (int time = 0; time < 2; ++time) {
    auto const caught = test::message_of<std::runtime_error>(
        [&] { call(found, strategy, others.data().batch(GlobalBatch{8}), found.engine().stage()); });
    BOOST_TEST(caught == "these rows are refused");
    forwards = {};
    trained(expected, strategy, others.data().batch(GlobalBatch{8}));
    for (auto* model : {&expected, &found}) {
      fit(strategy, *model, data, {.verbose = false});
      model->train_on_batch(few.x, few.y);
    }
    BOOST_TEST(evaluate(strategy, found, data).find("loss")->value() ==
               evaluate(strategy, expected, data).find("loss")->value());
    BOOST_TEST((predict(strategy, found, data) == predict(strategy, expected, data)));
    for (std::string const& name : expected.weight_names())
      BOOST_TEST((found.weights(name) == expected.weights(name)), "time " << time << ", " << name);
  }
}

constexpr auto nothing = [](auto&&...) {};

/// Numbers of stages, from two on, that divide the ranks.
std::vector<std::size_t> stage_counts() {
  std::vector<std::size_t> counts;
  for (std::size_t stages = 2; stages <= world().size(); ++stages)
    if (world().size() % stages == 0) counts.push_back(stages);
  return counts;
}

}  // namespace

BOOST_AUTO_TEST_CASE(hooks_that_throw_in_different_batches_of_a_test) {
  for (std::size_t const stages : stage_counts())
    check_goes_on(
        {.micro_batches = 2, .stages = stages},
        [&](auto& model, auto const& strategy, auto const& data, std::size_t stage) {
          evaluate(strategy, model, data, {}, Throwing{.test_batch = 2 * (stages - stage) - 1});
        },
        nothing);
}

BOOST_AUTO_TEST_CASE(hooks_that_throw_in_different_batches_of_a_validation) {
  for (std::size_t const stages : stage_counts())
    check_goes_on(
        {.micro_batches = 2, .stages = stages},
        [&](auto& model, auto const& strategy, auto const& data, std::size_t stage) {
          fit(strategy, model, data, validation(data), {.verbose = false},
              Throwing{.test_batch = 2 * (stages - stage) - 1});
        },
        [](auto& model, auto const& strategy, auto const& data) { fit(strategy, model, data, {.verbose = false}); });
}

BOOST_AUTO_TEST_CASE(layers_that_throw_in_different_micro_batches_of_a_test) {
  for (std::size_t const stages : stage_counts())
    check_goes_on(
        {.micro_batches = 4, .stages = stages},
        [&](auto& model, auto const& strategy, auto const& data, std::size_t stage) {
          forwards.allowed = 3 * (stages - 1 - stage);
          evaluate(strategy, model, data);
        },
        nothing);
}

BOOST_AUTO_TEST_CASE(layers_that_throw_in_different_micro_batches_of_a_prediction) {
  for (std::size_t const stages : stage_counts())
    check_goes_on(
        {.micro_batches = 8, .stages = stages},
        [&](auto& model, auto const& strategy, auto const& data, std::size_t stage) {
          forwards.allowed = 2 * (stages - 1 - stage);
          predict(strategy, model, data);
        },
        nothing);
}

BOOST_AUTO_TEST_CASE(messages_that_wait_for_their_receiver) {
  // Too large for MPI to send before the receiver takes them, and sent again from the same memory.
  for (std::size_t const stages : stage_counts())
    check_goes_on<20'000>(
        {.micro_batches = 2, .stages = stages},
        [&](auto& model, auto const& strategy, auto const& data, std::size_t stage) {
          if (stage == 0) forwards.allowed = 1;
          evaluate(strategy, model, data, {}, Throwing{.test_batch = stage == 0 ? never : 0});
        },
        nothing);
}

BOOST_AUTO_TEST_CASE(layers_that_throw_in_different_micro_batches_of_one_batch) {
  for (std::size_t const stages : stage_counts())
    check_goes_on(
        {.micro_batches = 8, .stages = stages},
        [&](auto& model, auto const&, auto const&, std::size_t stage) {
          auto const batch = test::mlp_samples<double>(16, 3);
          forwards.allowed = stages - 1 - stage;
          model.train_on_batch(batch.x, batch.y);
        },
        nothing);
}
