// ranks: 1 2 3 4
// Collective members of a model and a run that are called otherwise on one rank: one sentence on all ranks, and no
// weights that differ from those of the chief.
#define BOOST_TEST_MODULE differing_calls
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"
#include "support/uniform_error.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "trireme/callbacks/control.hpp"
#include "trireme/callbacks/csv_logger.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/learning_rate_scheduler.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/weights_file.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/local_sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/parameter_server/parameter_server.hpp"
#include "trireme/strategies/pipeline/pipeline.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;

Communicator const& world() { return test::environment().world(); }
std::size_t last_rank() { return world().size() - 1; }
bool on_last_rank() { return world().size() > 1 && world().rank() == last_rank(); }

using Strategies = std::tuple<MultiWorkerMirroredStrategy<Space>, ShardedStrategy<Space, 1>, ShardedStrategy<Space, 3>,
                              PipelineStrategy<Space>, ParameterServerStrategy<Space>>;

template <class Strategy>
Strategy strategy_on_all() {
  if constexpr (std::is_same_v<Strategy, ParameterServerStrategy<Space>>)
    return Strategy(world(), {.staleness = 0});
  else if constexpr (std::is_same_v<Strategy, PipelineStrategy<Space>>)
    return Strategy(world(), {.stages = world().size() % 2 == 0 ? 2u : 1u});
  else
    return Strategy(world());
}

/// Hash of the weights; 0 on a server, which does not hold all.
template <class Model>
std::uint64_t bits_of(Model const& model) {
  if constexpr (requires { model.engine().weights().worker(); })
    if (!model.engine().weights().worker()) return 0;
  return test::weight_bits(model);
}

template <class Strategy>
struct Trained {
  Strategy strategy = strategy_on_all<Strategy>();
  test::Samples<float> samples = test::mlp_samples<float>(13);
  decltype(compile(strategy, test::mlp(), Adam{}, SparseCategoricalCrossentropy{})) model =
      compile(strategy, test::mlp(), Adam{.learning_rate = 0.25}, SparseCategoricalCrossentropy{.from_logits = true});

  template <class... Callbacks>
  void train(std::size_t epochs, Callbacks&&... callbacks) {
    fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = epochs, .verbose = false},
        std::forward<Callbacks>(callbacks)...);
  }
};

template <class E = ValueError, class F>
std::string message_of(F&& f) {
  return test::uniform_message_of<E>(world(), std::forward<F>(f));
}

/// The sentence about what the last rank does in place of rank 0; none in a run of one rank.
std::string sentence(std::string const& call, std::string const& what, std::string const& last,
                     std::string const& chief) {
  if (world().size() == 1) return "";
  return fmt::format("{}: rank {} has {} {} where rank 0 has {}", call, last_rank(), what, last, chief);
}

/// A folder that all ranks share, deleted at the end.
struct Folder {
  std::string path = "differing_calls";
  Folder() {
    path += fmt::format("_{}", world().size());
    if (world().is_chief()) std::filesystem::create_directories(path);
    world().barrier();
  }
  ~Folder() {
    world().barrier();
    if (world().is_chief()) std::filesystem::remove_all(path);
  }
};

/// A folder of this rank in the shared one, where it works as on a local disk, until the end.
struct OwnFolder {
  std::filesystem::path home = std::filesystem::current_path();
  explicit OwnFolder(Folder const& folder) {
    auto const own = home / folder.path / fmt::format("rank{}", world().rank());
    std::filesystem::create_directories(own);
    std::filesystem::current_path(own);
  }
  ~OwnFolder() { std::filesystem::current_path(home); }
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(another_path_on_one_rank_is_an_error_of_all, Strategy, Strategies) {
  Trained<Strategy> trained;
  auto& model = trained.model;
  Folder const folder;
  std::string const path = folder.path + "/a.npz", other = folder.path + "/other.npz", wrong = folder.path + "/a.h5";
  auto const differs = [&](char const* call, std::string const& last) {
    return sentence(call, "the path", last, path);
  };
  BOOST_TEST(message_of([&] { model.save_weights(on_last_rank() ? wrong : path); }) == differs("save_weights", wrong));
  BOOST_TEST(message_of([&] { model.save_weights(on_last_rank() ? other : path); }) == differs("save_weights", other));
  BOOST_TEST(std::filesystem::exists(path) == (world().size() == 1));
  world().barrier();
  model.save_weights(path);
  model.save_weights(other);
  BOOST_TEST(message_of([&] { model.load_weights(on_last_rank() ? other : path); }) == differs("load_weights", other));
  BOOST_TEST(message_of([&] { model.load_weights(on_last_rank() ? other : path, {.by_name = true}); }) ==
             differs("load_weights", other));
  BOOST_TEST(message_of([&] {
               trained.train(1, LambdaCallback{.on_epoch_end = [&](auto& run) {
                               run.save_weights(on_last_rank() ? wrong : path);
                             }});
             }) == differs("save_weights", wrong));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_call_on_one_rank_is_an_error_of_all, Strategy, Strategies) {
  Trained<Strategy> trained;
  auto& model = trained.model;
  auto const data = trained.samples.data().batch(GlobalBatch{4});
  Folder const folder;
  std::string const path = folder.path + "/a.npz";
  BOOST_TEST(message_of([&] {
               if (on_last_rank())
                 model.load_weights(path);
               else
                 model.save_weights(path);
             }) == sentence("save_weights", "the call", "load_weights", "save_weights"));
  BOOST_TEST(message_of([&] {
               if (on_last_rank())
                 predict(trained.strategy, model, data);
               else
                 evaluate(trained.strategy, model, data);
             }) == sentence("evaluate", "the call", "predict", "evaluate"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(other_options_of_a_transfer_on_one_rank_are_an_error_of_all, Strategy, Strategies) {
  Trained<Strategy> trained, source;
  auto& model = trained.model;
  Folder const folder;
  std::string const path = folder.path + "/a.npz";
  model.save_weights(path);
  auto const before = bits_of(model);
  BOOST_TEST(message_of([&] { model.load_weights(path, {.by_name = on_last_rank()}); }) ==
             sentence("load_weights", "by_name", "true", "false"));
  BOOST_TEST(message_of([&] { model.copy_weights(source.model, {.skip_mismatch = on_last_rank()}); }) ==
             sentence("copy_weights", "skip_mismatch", "true", "false"));
  BOOST_TEST(message_of([&] {
               model.copy_weights(source.model, {.from = on_last_rank() ? "nowhere" : "", .skip_mismatch = true});
             }) == sentence("copy_weights", "from", "'nowhere'", "''"));
  BOOST_TEST(bits_of(model) == before);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_that_the_chief_alone_has_gives_all_the_state, Strategy, Strategies) {
  Trained<Strategy> trained, other;
  Folder const folder;
  trained.train(2);
  trained.model.save_weights(folder.path + "/0.npz");
  OwnFolder const own(folder);
  if (world().is_chief()) std::filesystem::copy_file("../0.npz", "w.npz");
  other.model.load_weights("w.npz");
  BOOST_TEST(bits_of(other.model) == bits_of(trained.model));
  // With the same moments of Adam, which the next steps show.
  trained.train(1);
  other.train(1);
  BOOST_TEST(other.model.engine().iteration() == trained.model.engine().iteration());
  BOOST_TEST(bits_of(other.model) == bits_of(trained.model));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_that_the_chief_lacks_is_an_error_of_all_and_changes_nothing, Strategy,
                              Strategies) {
  Trained<Strategy> trained, other;
  Folder const folder;
  trained.train(1);
  trained.model.save_weights(folder.path + "/0.npz");
  auto const before = bits_of(other.model);
  OwnFolder const own(folder);
  if (!world().is_chief()) std::filesystem::copy_file("../0.npz", "w.npz");
  BOOST_TEST(message_of<FileError>([&] {
               other.model.load_weights("w.npz");
             }).starts_with(world().size() == 1 ? "w.npz: " : "on rank 0: w.npz: "));
  BOOST_TEST(bits_of(other.model) == before);
  BOOST_TEST(other.model.engine().iteration() == 0u);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_that_differs_on_one_rank_gives_all_the_state_of_the_chief, Strategy, Strategies) {
  Trained<Strategy> trained, other;
  Folder const folder;
  trained.train(2);
  trained.model.save_weights(folder.path + "/0.npz");
  // Of another step and rate, as a local disk may hold it.
  other.model.engine().optimizer().set_learning_rate(0.5);
  other.model.save_weights(folder.path + "/1.npz");
  OwnFolder const own(folder);
  std::filesystem::copy_file(on_last_rank() ? "../1.npz" : "../0.npz", "w.npz");
  other.model.load_weights("w.npz");
  BOOST_TEST(other.model.engine().iteration() == trained.model.engine().iteration());
  BOOST_TEST(other.model.engine().optimizer().learning_rate() == 0.25);
  BOOST_TEST(bits_of(other.model) == bits_of(trained.model));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_file_with_a_wrong_optimizer_state_is_an_error_of_all_and_changes_nothing, Strategy,
                              Strategies) {
  Trained<Strategy> trained, other, untouched;
  Folder const folder;
  trained.train(1);
  trained.model.save_weights(folder.path + "/0.npz");
  std::string const path = folder.path + "/wrong.npz";
  auto const before = bits_of(other.model);
  /// The file at `path` has another learning rate and number of steps.
  auto const write = [&](float rate, std::int64_t iteration) {
    auto read = trireme::detail::state_to_read(other.model.engine());
    world().on_chief(
        [](auto const&, ModelDescription const* model, auto* state, std::string const& good, std::string const& wrong,
           float bad_rate, std::int64_t bad_iteration) {
          auto const tensors = [&](auto const& make, auto tensor) {
            return trireme::detail::state_tensors<decltype(tensor), Adam>(*model, *state, true, true, make);
          };
          read_weights(good, tensors([](auto&&... all) { return named_destination(all...); }, NamedDestination{}));
          state->learning_rate = bad_rate;
          state->iteration = bad_iteration;
          write_weights(wrong, tensors([](auto&&... all) { return named_tensor(all...); }, NamedTensor{}));
        },
        &other.model.engine().model().description(), &read, folder.path + "/0.npz", path, rate, iteration);
  };
  auto const refused = [&](float rate, std::int64_t iteration, std::string const& what) {
    write(rate, iteration);
    BOOST_TEST(message_of<FileError>([&] { other.model.load_weights(path); }) ==
               (world().size() == 1 ? "" : "on rank 0: ") + path + ": " + what);
    BOOST_TEST(bits_of(other.model) == before);
    BOOST_TEST(other.model.engine().iteration() == 0u);
    BOOST_TEST(other.model.engine().optimizer().learning_rate() == 0.25);
  };
  refused(-0.5f, 4, "the learning rate is -0.5, which is outside of [0, inf)");
  refused(std::numeric_limits<float>::quiet_NaN(), 4, "the learning rate is nan, which is outside of [0, inf)");
  refused(0.5f, -3, "the number of steps is -3, which is outside of [0, 2^53]");
  // Nor the moments of Adam, which the next steps show.
  other.train(1);
  untouched.train(1);
  BOOST_TEST(bits_of(other.model) == bits_of(untouched.model));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_learning_rate_on_one_rank_is_an_error_of_all, Strategy, Strategies) {
  auto const error = sentence("fit", "the learning rate", "0.125", "0.25");
  auto const rate = [] { return on_last_rank() ? 0.125 : 0.25; };
  {
    Trained<Strategy> trained;
    BOOST_TEST(message_of([&] {
                 trained.train(1, LearningRateScheduler{.schedule = [&](std::size_t) { return rate(); }});
               }) == error);
    if (world().size() > 1) BOOST_TEST(trained.model.engine().iteration() == 0u);
  }
  {
    Trained<Strategy> trained;
    BOOST_TEST(message_of([&] {
                 trained.train(1, LambdaCallback{.on_train_batch_end = [&](auto& run) {
                                 if (run.batch() == 1) run.set_learning_rate(rate());
                               }});
               }) == error);
  }
  {
    Trained<Strategy> trained;
    trained.model.engine().optimizer().set_learning_rate(rate());
    BOOST_TEST(message_of([&] { trained.train(1); }) == error);
    BOOST_TEST(message_of([&] { trained.model.train_on_batch(trained.samples.x, trained.samples.y); }) ==
               sentence("train_on_batch", "the learning rate", "0.125", "0.25"));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_learning_rate_that_differed_for_some_steps_is_an_error_of_all, Strategy, Strategies) {
  Trained<Strategy> trained;
  auto const text = message_of([&] {
    trained.train(1, LambdaCallback{.on_train_batch_begin = [&](auto& run) {
                    run.set_learning_rate(on_last_rank() && run.batch() == 1 ? 0.125 : 0.25);
                  }});
  });
  BOOST_TEST((text.find("learning rates that hooks have set") != std::string::npos) == (world().size() > 1), text);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_snapshot_restored_on_one_rank_is_an_error_of_all, Strategy, Strategies) {
  auto const error = sentence("fit", "the number of restored snapshots", "1", "0");
  Snapshot first;
  Trained<Strategy> trained, again;
  BOOST_TEST(message_of([&] {
               trained.train(2, LambdaCallback{.on_train_begin = [&](auto& run) { first.take(run); },
                                               .on_epoch_end =
                                                   [&](auto& run) {
                                                     if (run.epoch() == 1 && on_last_rank()) first.restore_to(run);
                                                   }});
             }) == error);
  BOOST_TEST(message_of([&] {
               again.train(1, LambdaCallback{.on_train_begin = [&](auto& run) { first.take(run); },
                                             .on_train_end =
                                                 [&](auto& run) {
                                                   if (on_last_rank()) first.restore_to(run);
                                                 }});
             }) == error);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_value_logged_on_one_rank_is_an_error_of_all, Strategy, Strategies) {
  Trained<Strategy> trained;
  auto const data = trained.samples.data().batch(GlobalBatch{4});
  auto const set_on_last = [](auto& run) {
    if (on_last_rank()) run.logs().set("gap", run.learning_rate());
  };
  BOOST_TEST(message_of([&] { trained.train(1, LambdaCallback{.on_epoch_begin = set_on_last}); }) ==
             sentence("fit", "the logged values", "gap", "none"));
  BOOST_TEST(message_of([&] { trained.train(1, LambdaCallback{.on_epoch_end = set_on_last}); }) ==
             sentence("fit", "the logged values", "gap, loss", "loss"));
  auto const text = message_of([&] { trained.train(2, LambdaCallback{.on_epoch_end = set_on_last}); });
  BOOST_TEST((text.find("has the checksum of the values logged in earlier epochs") != std::string::npos) ==
                 (world().size() > 1),
             text);
  BOOST_TEST(message_of([&] {
               evaluate(trained.strategy, trained.model, data, {}, LambdaCallback{.on_test_end = set_on_last});
             }) == sentence("evaluate", "the logged values", "gap, loss", "loss"));
}

namespace {

/// Logs a value; `f` gets a number that is the same on all ranks.
template <class F>
void log(auto& run, std::string const& name, F const& f) {
  run.logs().set(name, run.learning_rate().map(f));
}

/// The error of a training whose losses fall by 1, but on the last rank rise in the second epoch, to 9.
template <bool InTheTest>
std::string error_of_another_loss(auto decides) {
  Trained<MultiWorkerMirroredStrategy<Space>> trained;
  auto const data = trained.samples.data().batch(GlobalBatch{4});
  auto const train = [&](auto changes) {
    fit(trained.strategy, trained.model, data, validation(data), {.epochs = 3, .verbose = false}, changes, decides);
  };
  auto const change = [](auto& run) {
    double const loss = 3.0 - static_cast<double>(run.epoch());
    log(run, "val_loss", [&](double) { return run.epoch() == 1 && on_last_rank() ? 9 : loss; });
  };
  return message_of([&] {
    if constexpr (InTheTest)
      train(LambdaCallback{.on_test_end = change});
    else
      train(LambdaCallback{.on_epoch_end = change});
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_logged_otherwise_on_one_rank_is_an_error_of_all_before_callbacks_decide_by_it) {
  Folder const folder;
  auto const error = sentence("on_epoch_end of fit", "the logged value of val_loss", "9", "2");
  EarlyStopping<"val_loss"> const stopping{.patience = 1};
  ReduceLROnPlateau<"val_loss"> const plateau{.patience = 1};
  ModelCheckpoint<"val_loss"> const best{.path = folder.path + "/best.npz", .save_best_only = true};
  BOOST_TEST(error_of_another_loss<false>(best) == error);
  BOOST_TEST(error_of_another_loss<false>(stopping) == error);
  BOOST_TEST(error_of_another_loss<true>(stopping) == error);
  BOOST_TEST(error_of_another_loss<false>(plateau) == error);
}

BOOST_AUTO_TEST_CASE(values_logged_with_other_bits_of_a_nan_or_in_another_order_are_the_same) {
  Trained<MultiWorkerMirroredStrategy<Space>> trained;
  auto const set = [](auto& run) {
    for (bool const first : {on_last_rank(), !on_last_rank()})
      log(run, first ? "a" : "b",
          [](double rate) { return std::copysign(std::nan("1"), on_last_rank() ? -rate : rate); });
  };
  BOOST_TEST(message_of([&] {
               trained.train(2, LambdaCallback{.on_epoch_end = set}, EarlyStopping<"loss">{.patience = 1});
             }) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_decision_to_stop_on_one_rank_is_an_error_of_all, Strategy, Strategies) {
  Trained<Strategy> trained;
  auto const stops_on_last = [](auto& run) {
    return stop_if(run.learning_rate(), [](double) { return on_last_rank(); });
  };
  BOOST_TEST(message_of([&] { trained.train(2, LambdaCallback{.on_epoch_end = stops_on_last}); }) ==
             sentence("fit", "the decision to stop training:", "yes", "no"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_snapshot_restored_on_one_rank_in_a_test_or_a_prediction_is_an_error_of_all, Strategy,
                              Strategies) {
  Snapshot first;
  Trained<Strategy> trained;
  auto const data = trained.samples.data().batch(GlobalBatch{4});
  auto const restore_on_last = [&](auto& run) {
    first.take(run);
    if (on_last_rank()) first.restore_to(run);
  };
  BOOST_TEST(message_of([&] {
               evaluate(trained.strategy, trained.model, data, {}, LambdaCallback{.on_test_end = restore_on_last});
             }) == sentence("evaluate", "the number of restored snapshots", "1", "0"));
  BOOST_TEST(message_of([&] {
               predict(trained.strategy, trained.model, data, LambdaCallback{.on_predict_end = restore_on_last});
             }) == sentence("predict", "the number of restored snapshots", "1", "0"));
}

BOOST_AUTO_TEST_CASE(a_snapshot_restored_on_one_rank_where_processes_step_alone_is_an_error_of_all) {
  for (std::size_t const step : {1u, 2u}) {  // within a period, and where one begins
    Trained<LocalSGD<MultiWorkerMirroredStrategy<Space>, 2>> trained;
    BOOST_TEST(message_of([&] {
                 trained.train(2, LambdaCallback{.on_train_batch_end = [&](auto& run) {
                                 if (run.step() == step && on_last_rank()) run.restore(run.snapshot());
                               }});
               }) == sentence("fit", "the number of restored snapshots", "1", "0"));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_snapshot_restored_on_one_rank_is_an_error_of_all, Strategy, Strategies) {
  Snapshot first, second;
  Trained<Strategy> trained, again, late;
  auto const take = [](Snapshot& snapshot) { return [&snapshot](auto& run) { snapshot.take(run); }; };
  BOOST_TEST(message_of([&] {
               trained.train(2, LambdaCallback{.on_train_begin = take(first), .on_epoch_end = [&](auto& run) {
                                                 if (run.epoch() == 0)
                                                   second.take(run);
                                                 else
                                                   (on_last_rank() ? second : first).restore_to(run);
                                               }});
             }) == sentence("fit", "a snapshot restored, the last one of step", "4", "0"));
  // The last one is the same, and the one before it is not.
  auto const text = message_of([&] {
    again.train(2, LambdaCallback{.on_train_begin = take(first), .on_epoch_end = [&](auto& run) {
                                    if (run.epoch() == 0) return second.take(run);
                                    (on_last_rank() ? second : first).restore_to(run);
                                    first.restore_to(run);
                                  }});
  });
  BOOST_TEST(
      (text.find("the moments and snapshots that hooks have restored") != std::string::npos) == (world().size() > 1),
      text);
  // The same one, but a step later, in between which the weights were others.
  auto const later = message_of([&] {
    late.train(1, LambdaCallback{.on_train_begin = take(first), .on_train_batch_end = [&](auto& run) {
                                   if (run.batch() == (on_last_rank() ? 2u : 1u)) first.restore_to(run);
                                 }});
  });
  BOOST_TEST(
      (later.find("the moments and snapshots that hooks have restored") != std::string::npos) == (world().size() > 1),
      later);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_that_are_set_tell_snapshots_of_one_step_apart, Strategy, Strategies) {
  std::vector<float> const zeros(test::classes, 0.f);
  auto const names_history = [](std::string const& text) {
    bool const named = text.find("the moments and snapshots that hooks have restored") != std::string::npos;
    BOOST_TEST(named == (world().size() > 1), text);
  };
  Snapshot kept;
  Trained<Strategy> trained, again, alike;
  // Taken before the call on some ranks, and behind it on one.
  names_history(message_of([&] {
    trained.train(2, LambdaCallback{.on_epoch_end = [&](auto& run) {
                    if (run.epoch() == 1) return kept.restore_to(run);
                    if (!on_last_rank()) kept.take(run);
                    run.model().set_weights("dense_1/bias", zeros);
                    if (on_last_rank()) kept.take(run);
                  }});
  }));
  // Restored before the call on some ranks, and behind it on one.
  names_history(message_of([&] {
    again.train(2, LambdaCallback{.on_epoch_end = [&](auto& run) {
                  if (run.epoch() == 0) return kept.take(run);
                  if (!on_last_rank()) kept.restore_to(run);
                  run.model().set_weights("dense_1/bias", zeros);
                  if (on_last_rank()) kept.restore_to(run);
                }});
  }));
  BOOST_TEST(message_of([&] {
               alike.train(2, LambdaCallback{.on_epoch_end = [&](auto& run) {
                             run.model().set_weights("dense_1/bias", zeros);
                             if (run.epoch() == 0) return kept.take(run);
                             kept.restore_to(run);
                           }});
             }) == "");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(equal_snapshots_that_ranks_take_in_other_hooks_can_be_restored, Strategy, Strategies) {
  Snapshot kept;
  Trained<Strategy> trained;
  std::uint64_t bits = 0;
  BOOST_TEST(message_of([&] {
               trained.train(2, LambdaCallback{.on_epoch_begin =
                                                   [&](auto& run) {
                                                     if (run.epoch() == 1 && on_last_rank()) kept.take(run);
                                                   },
                                               .on_epoch_end =
                                                   [&](auto& run) {
                                                     if (run.epoch() == 1) return kept.restore_to(run);
                                                     bits = bits_of(run.model());
                                                     if (!on_last_rank()) kept.take(run);
                                                   }});
             }) == "");
  BOOST_TEST(bits_of(trained.model) == bits);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_unknown_weight_on_one_rank_is_an_error_of_all_or_of_that_rank_alone, Strategy,
                              Strategies) {
  Trained<Strategy> trained;
  auto const known = trained.model.weight_names().front();
  auto const read = [&] { trained.model.weights(on_last_rank() ? "unknown" : known); };
  constexpr bool is_collective = trireme::detail::is_divided<typename decltype(trained.model)::Engine>;
  if constexpr (is_collective) {
    auto const text = message_of([&] { read(); });
    BOOST_TEST((text.find("unknown") != std::string::npos) == (world().size() > 1), text);
  } else if (on_last_rank()) {
    // Local: the other ranks neither wait for it nor see it, and training goes on.
    BOOST_CHECK_EXCEPTION(read(), ValueError, [](ValueError const& error) { return !error.uniform(); });
  } else if (bits_of(trained.model) != 0) {  // of a server it is an error too
    read();
  }
  trained.train(1);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_are_copied_to_all_ranks, Strategy, Strategies) {
  Trained<Strategy> trained, source;
  trained.train(1);
  source.train(2);
  trained.model.copy_weights(source.model);
  BOOST_TEST(bits_of(trained.model) == bits_of(source.model));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(another_file_of_a_callback_on_one_rank_is_an_error_before_training, Strategy,
                              Strategies) {
  Trained<Strategy> trained;
  Folder const folder;
  std::string const path = folder.path + "/a.csv", other = folder.path + "/other.csv";
  BOOST_TEST(message_of([&] { trained.train(1, CSVLogger{.path = on_last_rank() ? other : path}); }) ==
             sentence("fit", "CSVLogger::path", other, path));
  std::string const best = folder.path + "/best.npz", wrong = folder.path + "/best.h5";
  auto const text =
      message_of([&] { trained.train(1, ModelCheckpoint<"loss">{.path = on_last_rank() ? wrong : best}); });
  if (world().size() > 1) {
    BOOST_TEST(text.ends_with(fmt::format("::path {} where rank 0 has {}", wrong, best)), text);
    BOOST_TEST(trained.model.engine().iteration() == 0u);
  }
}

namespace {

/// Saves the run at each save point, or notes why it could not.
struct SavesEachTime {
  std::string path;
  std::vector<std::string>* refusals;
  void on_save_point(auto& run) {
    try {
      run.save(path);
    } catch (ValueError const& error) {
      refusals->push_back(error.what());
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(saving_a_run_while_workers_go_their_own_pace_is_an_error_and_no_hang) {
  if (world().size() == 1) return;  // no other to wait for
  ParameterServerStrategy<Space> const strategy(world(), {.staleness = 4});
  auto const samples = test::mlp_samples<float>(13);
  auto model = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  Folder const folder;
  std::vector<std::string> refusals;
  fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.verbose = false},
      SavesEachTime{folder.path + "/run.npz", &refusals});
  for (auto const& text : refusals)
    BOOST_TEST(text.starts_with("saving the run was called in a hook of a batch"), text);
  // Some worker has taken a batch; which ones have is their pace's choice.
  BOOST_TEST(world().allreduce_or(!refusals.empty()).value());
}

BOOST_AUTO_TEST_CASE(setting_weights_while_workers_go_their_own_pace_is_an_error_and_no_hang) {
  if (world().size() == 1) return;  // no other to wait for
  ParameterServerStrategy<Space> const strategy(world(), {.staleness = 4});
  auto const samples = test::mlp_samples<float>(13);
  auto model = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto source = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  auto const bias = model.weight_names().back();
  auto const refused = [](std::string const& call, auto const& f) {
    BOOST_CHECK_EXCEPTION(f(), ValueError, [&](ValueError const& error) {
      return std::string(error.what()).starts_with(call + " was called in a hook of a batch");
    });
  };
  fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.verbose = false},
      LambdaCallback{.on_train_batch_end = [&](auto& run) {
        refused("set_weights", [&] { run.model().set_weights(bias, std::vector<float>(test::classes, 1.f)); });
        refused("load_weights", [&] { run.model().load_weights("none.npz"); });
        refused("copy_weights", [&] { run.model().copy_weights(source); });
        refused("evaluate", [&] { evaluate(strategy, run.model(), samples.data().batch(GlobalBatch{4})); });
        refused("predict", [&] { predict(strategy, run.model(), samples.data().batch(GlobalBatch{4})); });
        refused("train_on_batch", [&] { run.model().train_on_batch(samples.x, samples.y); });
      }});
  BOOST_TEST(model.engine().iteration() == 4u);
}

BOOST_AUTO_TEST_CASE(one_snapshot_is_restored_by_workers_servers_and_evaluators_at_any_pace) {
  ParameterServerStrategy<Space> const strategy(world(), {.staleness = 4, .evaluator = world().size() > 2});
  auto const samples = test::mlp_samples<float>(40);
  auto model = compile(strategy, test::mlp(), SGD{}, SparseCategoricalCrossentropy{.from_logits = true});
  Snapshot kept;
  BOOST_TEST(message_of([&] {
               fit(strategy, model, samples.data().batch(GlobalBatch{4}), {.epochs = 3, .verbose = false},
                   LambdaCallback{.on_epoch_end = [&](auto& run) {
                     if (run.epoch() == 0) return kept.take(run);
                     kept.restore_to(run);
                   }});
             }) == "");
}
