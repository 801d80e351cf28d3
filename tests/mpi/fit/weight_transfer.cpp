// ranks: 1 2 3
// Weights taken from files and other models, by place or by name, and layers that several models share.
#define BOOST_TEST_MODULE weight_transfer
#include "support/kokkos_fixture.hpp"
#include "support/small_training.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <unistd.h>

#include "trireme/activations/sigmoid.hpp"
#include "trireme/callbacks/backup_and_restore.hpp"
#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/batch_normalization.hpp"
#include "trireme/losses/binary_crossentropy.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/shared.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/strategies/sharded/sharded.hpp"

using namespace trireme;

namespace {

using Space = Kokkos::DefaultExecutionSpace;
Communicator const& world() { return test::environment().world(); }

using Strategies = std::tuple<MultiWorkerMirroredStrategy<Space>, ShardedStrategy<Space, 3>>;

#ifdef TRIREME_HAVE_HDF5
std::vector<std::string> const endings{".npz", ".weights.h5"};
#else
std::vector<std::string> const endings{".npz"};
#endif

/// A file that all ranks name alike, gone at the end.
struct CommonFile {
  std::string path;
  explicit CommonFile(std::string const& ending) {
    path = (std::filesystem::temp_directory_path() / ("trireme_transfer_" + std::to_string(::getpid()))).string();
    world().broadcast(path);
    path += ending;
  }
  ~CommonFile() {
    if (world().is_chief()) std::filesystem::remove(path);
  }
};

auto encoder() { return Sequential{Dense<5, Tanh>{.name = "wide"}, Dense<3>{.name = "narrow"}}; }

template <class T = double, class Strategy>
auto classifier(Strategy const& strategy, std::uint64_t seed) {
  return compile<T>(
      strategy, Sequential{Input<6>{}, encoder(), BatchNormalization<>{.name = "norm"}, Dense<4>{.name = "head"}},
      Adam{.learning_rate = 0.01}, SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = seed});
}

/// The layers of `encoder` at the top, in another order of classes, and a head of another width.
template <class Strategy>
auto regressor(Strategy const& strategy, std::uint64_t seed) {
  return compile<double>(strategy,
                         Sequential{Input<6>{}, Dense<6>{.name = "before"}, Dense<5, Tanh>{.name = "wide"},
                                    Dense<3>{.name = "narrow"}, Dense<2>{.name = "head"}},
                         SGD{.learning_rate = 0.1}, MeanSquaredError{}, CompileOptions{.seed = seed});
}

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (Error const& error) {
    BOOST_TEST(error.uniform());
    return error.what();
  }
  return "nothing was thrown";
}

template <class A, class B>
bool same(A const& a, std::string const& path, B const& b, std::string const& other) {
  auto const left = a.weights(path);
  auto const right = b.weights(other);
  return left.shape() == right.shape() && std::equal(left.begin(), left.end(), right.begin());
}

using Paths = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(layers_of_a_file_are_taken_by_name_below_a_folder, Strategy, Strategies) {
  Strategy const strategy(world());
  auto const source = classifier(strategy, 1);
  for (std::string const& ending : endings) {
    CommonFile const file(ending);
    source.save_weights(file.path);
    auto target = regressor(strategy, 2);
    auto const before = target.weights("before/kernel");
    auto const taken = target.load_weights(file.path, {.from = "sequential", .skip_mismatch = true});
    BOOST_TEST(taken.taken == (Paths{"wide/kernel", "wide/bias", "narrow/kernel", "narrow/bias"}),
               boost::test_tools::per_element());
    BOOST_TEST(taken.kept == (Paths{"before/kernel", "before/bias", "head/kernel", "head/bias"}),
               boost::test_tools::per_element());
    BOOST_TEST(same(target, "wide/kernel", source, "sequential/wide/kernel"));
    BOOST_TEST(same(target, "narrow/bias", source, "sequential/narrow/bias"));
    BOOST_TEST((target.weights("before/kernel") == before));

    // And back, into the folder.
    CommonFile const other("_regressor" + ending);
    target.set_weights("wide/bias", std::vector<double>{1, 2, 3, 4, 5});
    target.save_weights(other.path);
    auto back = classifier(strategy, 3);
    BOOST_TEST(back.load_weights(other.path, {.into = "sequential/"}).taken ==
                   (Paths{"sequential/wide/kernel", "sequential/wide/bias", "sequential/narrow/kernel",
                          "sequential/narrow/bias"}),
               boost::test_tools::per_element());
    BOOST_TEST(same(back, "sequential/wide/bias", target, "wide/bias"));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_layer_without_a_match_is_named_and_nothing_changes, Strategy, Strategies) {
  Strategy const strategy(world());
  auto const source = classifier(strategy, 1);
  for (std::string const& ending : endings) {
    CommonFile const file(ending);
    source.save_weights(file.path);
    auto target = regressor(strategy, 2);
    auto const before = target.weights("narrow/kernel");
    auto const says = [&](LoadOptions const& options, std::string const& text) {
      std::string const message = message_of([&] { target.load_weights(file.path, options); });
      BOOST_TEST(message.find(file.path) != std::string::npos);
      BOOST_TEST(message.find(text) != std::string::npos, message);
    };
    says({.from = "sequential"}, "has no layer 'sequential/before' for the model's 'before'");
    says({.from = "nowhere/", .into = "narrow"}, "has no layer 'nowhere' for the model's 'narrow'");
    says({.by_name = true}, "has no layer 'before' for the model's 'before'");
    says({.from = "sequential", .into = "nowhere"}, "is to give weights to layers of the model that it does not have");
    says({.from = "nowhere", .skip_mismatch = true}, "has no layer that fits the model");
    says({.from = "head", .into = "head"}, "has extents (3, 4) for 'head/kernel', whose own are (3, 2)");
    BOOST_TEST((target.weights("narrow/kernel") == before));
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_does_not_fit_by_place_is_left_out_and_reported, Strategy, Strategies) {
  Strategy const strategy(world());
  auto const source = regressor(strategy, 1);
  CommonFile const file(".npz");
  source.save_weights(file.path);
  auto target = compile<double>(strategy, Sequential{Input<6>{}, Dense<6>{}, Dense<7>{}, Dense<3>{}},
                                SGD{.learning_rate = 0.5}, MeanSquaredError{}, CompileOptions{.seed = 9});
  auto const taken = target.load_weights(file.path, {.skip_mismatch = true});
  BOOST_TEST(taken.taken == (Paths{"dense/kernel", "dense/bias"}), boost::test_tools::per_element());
  BOOST_TEST(taken.kept == (Paths{"dense_1/kernel", "dense_1/bias", "dense_2/kernel", "dense_2/bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(same(target, "dense/kernel", source, "before/kernel"));
  BOOST_TEST(target.engine().optimizer().learning_rate() == 0.5);  // the optimizer's state stays
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_are_copied_by_name_between_models, Strategy, Strategies) {
  Strategy const strategy(world());
  auto const source = classifier<float>(strategy, 1);
  auto target = regressor(strategy, 2);
  auto const taken = target.copy_weights(source, {.from = "sequential", .skip_mismatch = true});
  BOOST_TEST(taken.taken == (Paths{"wide/kernel", "wide/bias", "narrow/kernel", "narrow/bias"}),
             boost::test_tools::per_element());
  BOOST_TEST(same(target, "narrow/kernel", source, "sequential/narrow/kernel"));
  BOOST_TEST(message_of([&] { target.copy_weights(source, {.from = "sequential"}); }) ==
             "the model to copy weights from has no layer 'sequential/before' for the model's 'before'");
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_are_copied_between_strategies_whose_chiefs_differ, Strategy, Strategies) {
  Strategy const strategy(world());
  auto const source = regressor(strategy, 1);
  auto const check = [&](auto const& other) {
    auto target = regressor(other, 2);
    target.copy_weights(source);
    for (auto const& name : source.weight_names()) BOOST_TEST(same(target, name, source, name), name);
  };
  Communicator const reversed = world().split(0, world().size() - world().rank());
  check(OneDeviceStrategy<>());
  check(MultiWorkerMirroredStrategy<>(reversed));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(training_one_model_moves_the_shared_layers_of_all, Strategy, Strategies) {
  Strategy const strategy(world());
  Shared body{encoder()};
  auto const make = [&](auto const& layers) {
    return compile<double>(strategy, Sequential{Input<6>{}, layers, Dense<4>{.name = "head"}},
                           Adam{.learning_rate = 0.01}, SparseCategoricalCrossentropy{.from_logits = true},
                           CompileOptions{.seed = 5});
  };
  auto first = make(body);
  auto alone = make(encoder());
  BOOST_TEST(same(first, "sequential/wide/kernel", alone, "sequential/wide/kernel"));
  auto second = compile<double>(strategy, Sequential{Input<6>{}, body, Dense<2>{}}, SGD{.learning_rate = 0.1},
                                MeanSquaredError{}, CompileOptions{.seed = 8});
  BOOST_TEST(same(second, "sequential/wide/kernel", first, "sequential/wide/kernel"));

  auto const samples = test::mlp_samples<double>(23);
  auto const data = samples.data().batch(GlobalBatch{7});
  fit(strategy, first, data, {.epochs = 2, .verbose = false});
  fit(strategy, alone, data, {.epochs = 2, .verbose = false});
  for (auto const& path : alone.weight_names()) BOOST_TEST(same(first, path, alone, path));  // sharing changes nothing
  BOOST_TEST(same(second, "sequential/wide/kernel", first, "sequential/wide/kernel"));
  BOOST_TEST(same(second, "sequential/narrow/bias", first, "sequential/narrow/bias"));

  xt::xarray<double> const x = test::mlp_samples<double>(4, 9).x;
  second.train_on_batch(x, xt::xarray<double>(xt::zeros<double>({4, 2})));
  BOOST_TEST(same(first, "sequential/narrow/kernel", second, "sequential/narrow/kernel"));
  BOOST_TEST(!same(first, "sequential/narrow/kernel", alone, "sequential/narrow/kernel"));

  auto moved = std::move(second);
  first.set_weights("sequential/wide/bias", std::vector<double>{1, 2, 3, 4, 5});
  BOOST_TEST(same(moved, "sequential/wide/bias", first, "sequential/wide/bias"));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_frozen_layer_follows_the_model_that_trains_it, Strategy, Strategies) {
  Strategy const strategy(world());
  Shared generator{Sequential{Dense<6, Tanh>{}, Dense<6>{}}};
  Shared discriminator{Sequential{Dense<5, Tanh>{}, BatchNormalization<>{}, Dense<1, Sigmoid>{}}};
  auto judge = compile<double>(strategy, Sequential{Input<6>{}, discriminator}, Adam{.learning_rate = 0.02},
                               BinaryCrossentropy{}, CompileOptions{.seed = 2});
  auto gan = compile<double>(strategy, Sequential{Input<6>{}, generator, Frozen{discriminator}},
                             Adam{.learning_rate = 0.02}, BinaryCrossentropy{}, CompileOptions{.seed = 3});
  auto const samples = test::mlp_samples<double>(12);
  xt::xarray<double> const real = xt::ones<double>({12, 1});
  auto const before = gan.weights("sequential_1/dense/kernel");
  judge.train_on_batch(samples.x, real);
  BOOST_TEST(!(gan.weights("sequential_1/dense/kernel") == before));
  for (auto const& path : judge.weight_names())
    BOOST_TEST(same(gan, "sequential_1" + path.substr(path.find('/')), judge, path));
  gan.train_on_batch(samples.x, real);
  for (auto const& path : judge.weight_names())
    BOOST_TEST(same(gan, "sequential_1" + path.substr(path.find('/')), judge, path));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_shared_layer_is_called_for_each_part_of_a_tuple, Strategy, Strategies) {
  Strategy const strategy(world());
  Shared layer{Dense<6, Tanh>{.name = "common"}};
  auto const compiled = [&](auto const& twin) {
    return compile<double>(strategy, Sequential{Input<6>{}, Fork{Skip{}, Dense<6>{}}, twin, Add{}},
                           SGD{.learning_rate = 0.1}, MeanSquaredError{}, CompileOptions{.seed = 6});
  };
  auto shared = compiled(Each{Sequential{layer, Dense<2>{}}});
  auto alone = compiled(Each{Sequential{Dense<6, Tanh>{.name = "common"}, Dense<2>{}}});
  auto other = compile<double>(strategy, Sequential{Input<6>{}, Fork{Skip{}, Dense<6>{}}, Each{layer}, Add{}},
                               SGD{.learning_rate = 0.1}, MeanSquaredError{}, CompileOptions{.seed = 7});
  auto const samples = test::mlp_samples<double>(5);
  xt::xarray<double> const y = xt::ones<double>({5, 2});
  shared.train_on_batch(samples.x, y);
  alone.train_on_batch(samples.x, y);
  for (auto const& path : alone.weight_names()) BOOST_TEST(same(shared, path, alone, path));
  BOOST_TEST(same(other, "common/kernel", alone, "sequential/common/kernel"));
}

BOOST_AUTO_TEST_CASE(a_shared_layer_outlives_its_model_and_fits_only_its_extents) {
  MultiWorkerMirroredStrategy<Space> const strategy(world());
  Shared layer{Dense<3>{.name = "common"}};
  auto const compiled = [&](auto const& architecture) {
    return compile<double>(strategy, architecture, SGD{}, MeanSquaredError{}, CompileOptions{.seed = 4});
  };
  xt::xarray<double> kernel;
  {
    auto first = compiled(Sequential{Input<6>{}, layer});
    kernel = first.weights("common/kernel") + 1;
    first.set_weights("common/kernel", kernel);
  }
  auto const second = compiled(Sequential{Input<6>{}, Fork{layer, Dense<3>{}}, Add{}});
  BOOST_TEST((second.weights("common/kernel") == kernel));
  BOOST_TEST(message_of([&] { compiled(Sequential{Input<7>{}, layer}); }) ==
             "'common/kernel' is Shared and has extents (7, 3), but (6, 3) in the model that was compiled first");
  BOOST_TEST(message_of([&] { compiled(Sequential{Input<3>{}, layer, layer}); }) ==
             "the layer 'common' is Shared and stands twice in one model");
}

BOOST_AUTO_TEST_CASE(a_layer_that_other_models_share_on_one_rank_is_refused_by_one_sentence) {
  MultiWorkerMirroredStrategy<Space> const strategy(world());
  OneDeviceStrategy<Space> const alone;
  Shared const layer{Dense<3>{.name = "common"}};
  auto const compiled = [&](auto const& any) {
    return compile<double>(any, Sequential{Input<6>{}, layer}, SGD{}, MeanSquaredError{});
  };
  auto model = compiled(strategy);
  std::vector<decltype(compiled(alone))> later;
  if (world().rank() == 1) later.push_back(compiled(alone));
  auto const set = [&] { model.set_weights("common/bias", std::vector<double>{1, 2, 3}); };
  if (world().size() == 1) return set();
  std::string const message = message_of(set);
  BOOST_TEST(message ==
             "the layer of 'common/kernel' is Shared by 1 model on rank 0 and by 2 on rank 1: models that share "
             "layers are compiled, and end, on the same processes");
}

namespace {

struct Killed {};

/// Models of one body, of which `other` trains at rate 0 where a number is to stay as it is.
template <class Strategy>
struct TwoModels {
  Strategy const strategy{world()};
  test::Samples<double> const samples = test::mlp_samples<double>(23);
  Shared<decltype(encoder())> body{encoder()};

  template <class Head = Dense<4>>
  auto compiled(auto const& layers, double rate, std::uint64_t seed, Head const& head = {.name = "head"}) const {
    return compile<double>(strategy, Sequential{Input<6>{}, layers, head}, SGD{.learning_rate = rate},
                           SparseCategoricalCrossentropy{.from_logits = true}, CompileOptions{.seed = seed});
  }
  auto data() const { return samples.data().batch(GlobalBatch{7}); }
  template <class... Callbacks>
  std::vector<double> losses(auto& model, std::size_t epochs, Callbacks&&... callbacks) const {
    return fit(strategy, model, data(), {.epochs = epochs, .verbose = false}, callbacks...)["loss"];
  }
  double loss(auto& model) const { return evaluate(strategy, model, data()).find("loss")->value(); }
};

constexpr char const* body_kernel = "sequential/wide/kernel";

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(what_uses_another_model_within_an_epoch_leaves_its_steps, Strategy, Strategies) {
  auto const train = [](auto const& hook) {
    TwoModels<Strategy> const models;
    auto first = models.compiled(models.body, 0.2, 1), other = models.compiled(models.body, 0, 2);
    return models.losses(first, 2, LambdaCallback{.on_train_batch_end = [&](auto&) { hook(models, first, other); }});
  };
  auto const expected = train([](auto&&...) {});
  auto const keeps = [&](char const* what, auto const& hook) {
    BOOST_TEST_CONTEXT(what) BOOST_TEST(train(hook) == expected, boost::test_tools::per_element());
  };
  keeps("train_on_batch", [](auto& models, auto& first, auto& other) {
    other.train_on_batch(models.samples.x, models.samples.y);
    BOOST_TEST(same(other, body_kernel, first, body_kernel));
  });
  keeps("fit", [](auto& models, auto&, auto& other) { models.losses(other, 1); });
  keeps("set_weights",
        [](auto&, auto&, auto& other) { other.set_weights("head/bias", std::vector<double>{1, 2, 3, 4}); });
  keeps("compile", [](auto& models, auto& first, auto&) {
    BOOST_TEST(same(models.compiled(models.body, 0, 3), body_kernel, first, body_kernel));
  });
  keeps("weights", [](auto&, auto& first, auto& other) {
    BOOST_TEST(same(other, body_kernel, first, body_kernel));  // before and after the values are fetched
    auto copy = TwoModels<Strategy>().compiled(encoder(), 0, 4);
    copy.copy_weights(other);
    BOOST_TEST(same(copy, body_kernel, first, body_kernel));
    BOOST_TEST(same(other, body_kernel, first, body_kernel));
  });
  keeps("evaluate", [](auto& models, auto& first, auto& other) {
    auto copy = TwoModels<Strategy>().compiled(encoder(), 0, 4);
    copy.copy_weights(first, {.from = "sequential", .into = "sequential"});
    copy.set_weights("head/kernel", other.weights("head/kernel"));
    BOOST_TEST(models.loss(other) == models.loss(copy));
  });
}

BOOST_AUTO_TEST_CASE_TEMPLATE(steps_before_an_error_are_in_all_models, Strategy, Strategies) {
  TwoModels<Strategy> const models;
  auto first = models.compiled(models.body, 0.2, 1), other = models.compiled(models.body, 0, 2);
  auto const before = first.weights(body_kernel);
  int batch = 0;
  auto const kill = [&](auto&) {
    if (++batch == 2) throw Killed();
  };
  BOOST_CHECK_THROW(models.losses(first, 1, LambdaCallback{.on_train_batch_end = kill}), Killed);
  auto const trained = first.weights(body_kernel);
  BOOST_TEST(!(trained == before));
  other.train_on_batch(models.samples.x, models.samples.y);
  BOOST_TEST((first.weights(body_kernel) == trained));
  BOOST_TEST((other.weights(body_kernel) == trained));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(weights_that_are_restored_are_in_all_models, Strategy, Strategies) {
  TwoModels<Strategy> const models;
  auto judge = models.compiled(models.body, 0.2, 1);
  auto gan = models.compiled(Frozen{models.body}, 0.01, 2);
  std::vector<xt::xarray<double>> kernels;
  models.losses(gan, 3, EarlyStopping<"loss">{.min_delta = 10, .patience = 10, .restore_best_weights = true},
                LambdaCallback{.on_epoch_end = [&](auto&) {
                  kernels.push_back(judge.weights(body_kernel));
                  judge.train_on_batch(models.samples.x, models.samples.y);
                }});
  BOOST_TEST((gan.weights(body_kernel) == kernels[0]));
  BOOST_TEST((judge.weights(body_kernel) == kernels[0]));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_resumed_run_has_its_shared_layers_in_all_models, Strategy, Strategies) {
  CommonFile const file("_run.npz");
  // Of a frozen layer that a hook trains, too. Losses of the other model at each begin of an epoch and batch.
  auto const train = [&](auto const& around, double rate, int last) {
    TwoModels<Strategy> const models;
    auto model = models.compiled(around(models.body), 0.2, 1);
    auto other = models.compiled(models.body, rate, 2, Frozen{Dense<4>{}});
    std::vector<double> losses;
    int batch = 0;
    auto const note = [&](auto&) { losses.push_back(models.loss(other) + other.weights(body_kernel)(0, 0)); };
    LambdaCallback hooks{.on_epoch_begin = note,
                         .on_train_batch_begin = note,
                         .on_train_batch_end =
                             [&](auto&) {
                               if (++batch == last) throw Killed();
                             },
                         .on_epoch_end =
                             [&](auto&) {
                               if (rate > 0) other.train_on_batch(models.samples.x, models.samples.y);
                             }};
    BackupAndRestore backup{.path = file.path, .save_freq = 2};
    if (last > 0)
      BOOST_CHECK_THROW(models.losses(model, 3, hooks, backup), Killed);
    else
      for (double const loss : models.losses(model, 3, hooks, backup)) losses.push_back(loss);
    return losses;
  };
  auto const resumes = [&](auto const& around, double rate) {
    auto const whole = train(around, rate, 0);
    for (int const last : {6, 7}) {  // of batches 4 an epoch; saved after every second
      train(around, rate, last);
      auto const rest = train(around, rate, 0);
      BOOST_TEST_REQUIRE(rest.size() < whole.size());
      auto const same_place = whole.end() - static_cast<std::ptrdiff_t>(rest.size());
      BOOST_TEST(rest == std::vector(same_place, whole.end()), boost::test_tools::per_element());
    }
  };
  resumes([](auto const& body) { return body; }, 0);
  resumes([](auto const& body) { return Frozen{body}; }, 0.1);
}

BOOST_AUTO_TEST_CASE(a_model_on_other_processes_is_used_at_the_end_of_an_epoch) {
  TwoModels<MultiWorkerMirroredStrategy<Space>> const models;
  OneDeviceStrategy<Space> const alone;
  auto first = models.compiled(models.body, 0.2, 1);
  auto other = compile<double>(alone, Sequential{Input<6>{}, models.body, Dense<4>{}}, SGD{},
                               SparseCategoricalCrossentropy{.from_logits = true});
  auto const evaluated = [&] { evaluate(alone, other, models.data()); };
  int refused = 0;
  auto const refuse = [&](auto const& f, std::string const& call) {
    BOOST_CHECK_EXCEPTION(f(), ValueError, [&](ValueError const& error) {
      return error.what() ==
             "'" + call + "' needs the newest weights of 'sequential/wide/kernel', a Shared layer that a model on " +
                 std::to_string(world().size()) +
                 " processes has changed since they were published, and the model that it is called for, on 1, cannot "
                 "get them: call it at the end of an epoch, or after publish_shared of the other model";
    });
    ++refused;
  };
  auto const batch_end = [&](auto&) {
    if (world().size() == 1) return evaluated();
    refuse(evaluated, "evaluate");
    refuse([&] { other.weights(body_kernel); }, "weights");
  };
  models.losses(first, 1, LambdaCallback{.on_train_batch_end = batch_end, .on_epoch_end = [&](auto&) {
                                           evaluated();
                                           BOOST_TEST(same(other, body_kernel, first, body_kernel));
                                         }});
  BOOST_TEST(refused == (world().size() == 1 ? 0 : 8));
}
