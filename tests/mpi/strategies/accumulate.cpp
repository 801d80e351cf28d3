// ranks: 1 2 3 4   labels: law
// Law 1: a batch in pieces trains as the batch does.
#define BOOST_TEST_MODULE accumulate
#include "support/kokkos_fixture.hpp"
#include "support/law_models.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "trireme/strategies/data_parallel/accumulate.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace {

template <std::size_t Pieces>
using Pieced = Accumulate<MultiWorkerMirroredStrategy<>, Pieces>;
constexpr std::size_t a_bucket_a_parameter = 1;

/// Gradients of one process, that notes what it is told.
template <class T>
struct Notes final : GradientSink<T> {
  template <class... A>
  explicit Notes(A const&...) {}
  SharedGradients<T, Kokkos::DefaultExecutionSpace>* shared() { return nullptr; }
  void begin(T* arena) {
    ++steps;
    gradients = arena;
    told.clear();
  }
  GradientSink<T>* sink() { return this; }
  void ready(T const* from) override { told.emplace_back(from, from + size(from)); }
  std::size_t size(T const* first) const { return elements - static_cast<std::size_t>(first - gradients); }
  void finish() {
    ++finished;
    for (auto const& part : told) {
      auto const* const now = gradients + (elements - part.size());
      final_when_told = final_when_told && std::equal(part.begin(), part.end(), now);
    }
  }

  std::string placement() const { return {}; }

  T* gradients = nullptr;
  std::size_t elements = 0, steps = 0, finished = 0;
  std::vector<std::vector<T>> told;
  bool final_when_told = true;
};

/// OneDeviceStrategy with those.
struct Noted {
  using Space = Kokkos::DefaultExecutionSpace;
  template <class Model>
  using Engine = DataParallel<Model, Space, SingleProcess, Notes<typename Model::scalar>>;
  OneDeviceStrategy<> one{};
  SingleProcess const& group() const { return one.group(); }
  template <class Model>
  Engine<Model> build(Model model, Parallelism plan) const {
    return one.build_as<Engine<Model>>(std::move(model), plan);
  }
};

Communicator const& world() { return test::environment().world(); }

/// Under both plans and both ways of exchange. Of batches of 2 most pieces have no rows.
template <class T, std::size_t Pieces, class Architecture>
void check_law(Architecture const& architecture) {
  using test::law::trained, test::law::Training;
  for (std::size_t batch : {13u, 2u})
    trained<T>(OneDeviceStrategy<>(), architecture, Training{.batch = batch},
               [&](auto const& reference, History const& expected) {
                 for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                   for (Exchange exchange : {Exchange::automatic, Exchange::messages})
                     BOOST_TEST_CONTEXT("batches of " << batch
                                                      << (plan == Parallelism::samples ? ", rows" : ", products")
                                                      << (exchange == Exchange::messages ? ", messages" : ""))
                 trained<T>(Pieced<Pieces>(world(), Kokkos::DefaultExecutionSpace(), a_bucket_a_parameter, exchange),
                            architecture, Training{.parallelism = plan, .batch = batch},
                            [&](auto const& model, History const& history) {
                              double const limit = (batch == 2 ? 30 : 3) * test::tolerance<T>;
                              test::check_same_weights(model, reference, limit);
                              test::check_same_history(history, expected, limit);
                              test::check_equal_on_all(world(), model);
                            });
               });
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_piece_is_the_strategy_itself) { check_law<double, 1>(test::law::perceptron()); }

BOOST_AUTO_TEST_CASE(statistics_of_a_piece_are_those_of_a_replica) {
  using test::law::Training;
  std::size_t const replicas = 3 * world().size(), batch = 2 * replicas;
  auto const architecture = test::law::normalized(BatchNormalization<>{.momentum = 0.7});
  auto const samples = test::cnn_samples<double>(3 * batch);
  test::law::trained_on<double>(MirroredStrategy<>(replicas), architecture, samples, Training{.batch = batch},
                                [&](auto const& reference, History const& expected) {
                                  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op})
                                    test::law::trained_on<double>(
                                        Pieced<3>(world()), architecture, samples,
                                        Training{.parallelism = plan, .batch = batch},
                                        [&](auto const& model, History const& history) {
                                          test::check_same_weights(model, reference, 3 * test::tolerance<double>);
                                          test::check_same_history(history, expected, 3 * test::tolerance<double>);
                                          test::check_equal_on_all(world(), model);
                                        });
                                });
}

BOOST_AUTO_TEST_CASE(statistics_of_the_global_batch_are_over_a_piece_of_all_ranks) {
  using test::law::Training;
  constexpr std::size_t pieces = 3, rows = 2;  // of a rank's piece
  std::size_t const ranks = world().size(), batch = ranks * pieces * rows, batches = 4;
  auto const samples = test::cnn_samples<double>(batches * batch);
  // The same rows, so ordered that replica p has what is piece p here.
  auto ordered = samples;
  std::size_t const size = samples.x.size() / samples.size();
  for (std::size_t i = 0, to = 0; i < batches; ++i)
    for (std::size_t piece = 0; piece < pieces; ++piece)
      for (std::size_t rank = 0; rank < ranks; ++rank)
        for (std::size_t row = 0; row < rows; ++row, ++to) {
          std::size_t const from = i * batch + (rank * pieces + piece) * rows + row;
          std::copy_n(samples.x.data() + from * size, size, ordered.x.data() + to * size);
          ordered.y[to] = samples.y[from];
        }
  Training const training{.batch = batch, .shuffle = false};
  test::law::trained_on<double>(
      MirroredStrategy<>(pieces), test::law::normalized(BatchNormalization<>{.momentum = 0.8}), ordered, training,
      [&](auto const& reference, History const& expected) {
        test::law::trained_on<double>(Pieced<pieces>(world()),
                                      test::law::normalized(SyncBatchNormalization<>{.momentum = 0.8}), samples,
                                      training, [&](auto const& model, History const& history) {
                                        test::check_same_weights(model, reference, 3 * test::tolerance<double>);
                                        test::check_same_history(history, expected, 3 * test::tolerance<double>);
                                        test::check_equal_on_all(world(), model);
                                      });
      });
}

BOOST_AUTO_TEST_CASE(pieces_without_rows_on_any_rank_leave_the_statistics_alone) {
  using test::law::trained, test::law::Training;
  auto const architecture = test::law::normalized(SyncBatchNormalization<>{.momentum = 0.8});
  trained<double>(Pieced<8>(world()), architecture, Training{.batch = 2}, [&](auto const& model, History const&) {
    for (auto const& name : model.weight_names())
      for (double value : model.weights(name)) BOOST_TEST(std::isfinite(value), name);
    test::check_equal_on_all(world(), model);
  });
}

BOOST_AUTO_TEST_CASE(workspaces_are_those_of_a_piece) {
  auto const model_of = [](auto const& strategy) {
    return compile<double>(strategy, test::cnn(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  };
  auto const whole = model_of(OneDeviceStrategy<>());
  auto const pieced = model_of(Accumulate<OneDeviceStrategy<>, 4>());
  std::size_t const arena = whole.description().arena_elements() * sizeof(double);
  BOOST_TEST(pieced.engine().memory_use(64).workspace_bytes == whole.engine().memory_use(16).workspace_bytes + arena);
  BOOST_TEST(pieced.engine().memory_use(64).rows == 64u);
}

BOOST_AUTO_TEST_CASE(a_step_reduces_once_and_is_told_of_gradients_when_they_are_final) {
  Accumulate<Noted, 3> const strategy;
  auto model = compile<double>(strategy, test::mlp(), SGD{.learning_rate = 0.1},
                               SparseCategoricalCrossentropy{.from_logits = true},
                               CompileOptions{.parallelism = Parallelism::intra_op});
  auto& notes = model.engine().synchronization();
  notes.elements = model.description().arena_elements();
  auto const samples = test::mlp_samples<double>(21);
  fit(strategy, model, samples.data().batch(GlobalBatch{7}), {.epochs = 2, .verbose = false});
  BOOST_TEST(notes.steps == 6u);
  BOOST_TEST(notes.finished == 6u);
  BOOST_TEST(notes.told.size() == 2u);  // two layers with parameters, and one piece that tells
  BOOST_TEST(notes.final_when_told);
}
