/// Calls that end early, for the programs of tests/mpi: a small classifier, and errors of one rank in its fit,
/// evaluate or predict.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

/// Samples of zeros, all of label 1.
struct ZeroSamples {
  std::size_t count;
  xt::xtensor<float, 2> x = xt::zeros<float>({count, std::size_t{3}});
  std::vector<std::int32_t> y = std::vector<std::int32_t>(count, 1);

  auto data() const { return data::from_tensor_slices(x, y); }
};

/// Classifier of ten classes for such samples.
template <class Strategy>
auto classifier(Strategy const& strategy) {
  return compile(strategy, Sequential{Input<3>{}, Dense<10>{}}, SGD{},
                 SparseCategoricalCrossentropy{.from_logits = true});
}

/// Fits it to batches of such samples.
template <class Strategy, class Batches, class... Callbacks>
void fit_classifier(Strategy const& strategy, Batches const& batches, FitOptions const& options,
                    Callbacks&&... callbacks) {
  auto model = classifier(strategy);
  fit(strategy, model, batches, options, std::forward<Callbacks>(callbacks)...);
}

/// The same for one epoch of ten global batches.
template <class Strategy, class Callback>
void fit_ten_batches(Strategy const& strategy, Callback const& callback) {
  ZeroSamples const samples{200};
  fit_classifier(strategy, samples.data().batch(GlobalBatch{20}), {.verbose = false}, callback);
}

/// Callback that calls f(run) after the third batch of an epoch or of a test, on the ranks where `here` is true.
template <class F>
struct AfterThirdBatch {
  bool here;
  F f;
  template <class Run>
  void on_train_batch_end(Run& run) const {
    if (here && run.batch() == 2) f(run);
  }
  template <class Run>
  void on_test_batch_end(Run& run) const {
    on_train_batch_end(run);
  }
  template <class Run>
  void on_predict_batch_end(Run& run) const {
    on_train_batch_end(run);
  }
};

/// Function for AfterThirdBatch.
inline constexpr auto fails = [](auto const&) { throw std::runtime_error("no more"); };

/// Calls f(), which throws on one rank. There the error is caught and nothing else is called for an hour.
template <class F>
void catch_around(F const& f) {
  try {
    f();
  } catch (std::exception const&) {
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

}  // namespace trireme::test
