// ranks: 1 2 3 4   labels: law
// Law 1 in stages with frozen layers; what takes statistics of its rows sees micro-batches, as under Accumulate.
#define BOOST_TEST_MODULE pipeline_layers
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"
#include "support/small_training.hpp"

#include <cstddef>

#include "trireme/layers/batch_normalization.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/graph.hpp"
#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"

using namespace trireme;
using test::law::input, test::law::trained, test::law::Training;

namespace {

using T = double;
Communicator const& world() { return test::environment().world(); }

/// Against `one`, which sees the same rows at once as a micro-batch of this pipeline does. Batches of 7 are uneven over
/// pipelines and micro-batches; of batches of 2 some have nothing.
template <class Architecture, class Reference = OneDeviceStrategy<>>
void check_law(Architecture const& architecture, std::size_t micro_batches, Reference const& one = Reference(),
               bool one_pipeline = false) {
  using Strategy = PipelineStrategy<Kokkos::DefaultExecutionSpace>;
  constexpr std::size_t most = ParameterCuts<Architecture>::size() + 1;
  for (std::size_t batch : {7u, 2u}) {
    Training const training{.parallelism = Parallelism::intra_op, .batch = batch};
    trained<T>(one, architecture, training, [&](auto const& reference, auto const& expected) {
      for (std::size_t stages = 1; stages <= std::min(most, world().size()); ++stages) {
        if (world().size() % stages != 0 || (one_pipeline && stages != world().size())) continue;
        trained<T>(Strategy(world(), {.micro_batches = micro_batches, .stages = stages}), architecture, training,
                   [&](auto const& model, History const& history) {
                     BOOST_TEST_CONTEXT("batches of " << batch << ", " << stages << " stages") {
                       double const limit = (batch == 2 ? 30 : 3) * test::tolerance<T>;
                       test::check_same_weights(model, reference, limit);
                       test::check_same_history(history, expected, limit);
                     }
                   });
      }
    });
  }
}

/// With a stage for each of four ranks.
template <class Normalization>
auto normalized(Normalization const& normalization) {
  return Sequential{
      input(),          Conv2D<3, 3, 3, Same, NoBias>{}, normalization, ReLU{}, MaxPooling2D<2, 2>{}, Flatten{},
      Dense<9, Tanh>{}, Dense<test::classes>{}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(graphs_train_in_stages) {
  // Stages of a node, a block, a node, a block with dropout, and the head.
  auto const graph = Graph{input(),
                           node<"first">(Conv2D<3, 3, 3, ReLU, Same>{}),
                           node<"left">(Conv2D<3, 1, 1>{}),
                           node<"right", "first">(Conv2D<3, 3, 3, Same>{}),
                           node<"sum", "left", "right">(Add{}),
                           node<"pool">(MaxPooling2D<2, 2>{}),
                           node<"flat">(Flatten{}),
                           node<"hidden">(Dense<7, Tanh>{}),
                           node<"frozen", "hidden">(Frozen{Dense<5, Tanh>{}}),
                           node<"drop", "hidden">(Dropout{.rate = 0.25f}),
                           node<"both", "drop", "frozen">(Concatenate{}),
                           node<"head">(Dense<test::classes>{})};
  static_assert(ParameterCuts<decltype(graph)>::size() >= 3);
  check_law(graph, 4);
}

BOOST_AUTO_TEST_CASE(convolutions_train_in_stages) {
  check_law(Sequential{input(), Conv2D<3, 3, 3, ReLU, Same>{}, Frozen{Conv2D<3, 1, 1>{}}, MaxPooling2D<2, 2>{},
                       Flatten{}, Dropout{.rate = 0.25f}, Dense<7, Tanh>{}, Dense<test::classes>{}},
            4);
}

BOOST_AUTO_TEST_CASE(statistics_of_a_micro_batch_are_those_of_a_piece) {
  check_law(normalized(BatchNormalization<>{.momentum = 0.8}), 3,
            Accumulate<OneDeviceStrategy<>, 3>(OneDeviceStrategy<>()), true);
}
