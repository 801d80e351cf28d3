// The shorter samples of README.md and of docs/failure.md, which scripts/check_doc_samples.py compares. Files lie in
// the test's folder.
#define BOOST_TEST_MODULE readme
#include "support/kokkos_fixture.hpp"

#include <array>
#include <cstddef>
#include <filesystem>

#include <trireme/trireme.hpp>

namespace tr = trireme;

namespace {

auto const layers =
    tr::Sequential{tr::Input<4>{}, tr::Dense<3, tr::Tanh>{.name = "encoder"}, tr::Dense<2>{.name = "head"}};

}  // namespace

#ifdef TRIREME_HAVE_HDF5

BOOST_AUTO_TEST_CASE(weights_are_taken_by_the_names_of_layers) {
  tr::OneDeviceStrategy<> const strategy;
  auto const other = tr::compile(strategy, layers);
  other.save_weights("pretrained.weights.h5");
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<4>{}, tr::Dense<3, tr::Tanh>{.name = "backbone"},
                                                    tr::Dense<5>{.name = "head"}});
  // clang-format off
  model.load_weights("pretrained.weights.h5", {.from = "encoder", .into = "backbone", .skip_mismatch = true});
  model.copy_weights(other, {.from = "encoder", .into = "backbone"});  // both return which weights were taken, and kept
  tr::Shared encoder{tr::Sequential{tr::Dense<64, tr::ReLU>{}, tr::Dense<8>{}}};  // a layer of several models
  // clang-format on
  auto const taken = model.weights("backbone/kernel"), given = other.weights("encoder/kernel");
  BOOST_TEST((taken == given));
  BOOST_TEST(tr::compile(strategy, tr::Sequential{tr::Input<4>{}, encoder}).weights("sequential/dense_1/bias").size() ==
             8U);
}

BOOST_AUTO_TEST_CASE(a_predictor_serves_a_model_that_was_compiled_without_optimizer) {
  tr::OneDeviceStrategy<> const strategy;
  tr::compile(strategy, layers).save_weights("best.weights.h5");
  xt::xtensor<float, 2> const x = xt::ones<float>({2, 4});
  std::array<float, 4> const one_row{1, 1, 1, 1};
  std::array<float, 2> out{};

  auto model = tr::compile(strategy, layers);  // weights alone: no gradients, no optimizer state
  model.load_weights("best.weights.h5");
  auto const predictor = model.predictor();
  auto y = predictor.predict(x);  // x (samples, ...): an array, a View, a flat range; y an xtensor array
  predictor.infer(one_row, out);  // writes to memory of the caller and allocates nothing

  BOOST_TEST(y(1, 0) == out[0]);
  BOOST_TEST(y(1, 1) == out[1]);
}

BOOST_AUTO_TEST_CASE(a_complete_run_leaves_no_checkpoint) {
  tr::OneDeviceStrategy<> const strategy;
  auto model = tr::compile(strategy, layers, tr::SGD{.learning_rate = 0.01}, tr::MeanSquaredError{});
  xt::xtensor<float, 2> const x = xt::ones<float>({6, 4}), y = xt::ones<float>({6, 2});
  auto const train = tr::data::from_tensor_slices(x, y).batch(tr::GlobalBatch{3});
  tr::fit(strategy, model, train, {.epochs = 100}, tr::BackupAndRestore{.path = "run.h5", .save_freq = 500});
  BOOST_TEST(model.engine().optimizer().iteration() == 200U);
  BOOST_TEST(!std::filesystem::exists("run.h5"));
}

#endif

BOOST_AUTO_TEST_CASE(tuples_and_graphs_are_models) {
  tr::OneDeviceStrategy<> const strategy;
  auto const pair =
      tr::Sequential{tr::Inputs{tr::Input<32>{}, tr::Input<32>{}},
                     tr::Each{tr::Sequential{tr::Dense<64, tr::ReLU>{}, tr::Dense<32, tr::ReLU>{}}},  // one for both
                     tr::Concatenate{}, tr::Dense<64, tr::ReLU>{},
                     tr::Fork{tr::Dense<1>{.name = "ratio"}, tr::Dense<2>{.name = "damped"}}};
  auto const model = tr::compile(strategy, pair);
  BOOST_TEST(model.weights("ratio/kernel").size() == 64U);
}
