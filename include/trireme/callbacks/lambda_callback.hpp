/// LambdaCallback: a callback made of lambdas.
#pragma once

#include <cstdlib>
#include <type_traits>

#include "trireme/callbacks/hooks.hpp"

namespace trireme {

namespace detail {
/// Default of a hook that was not given. Clang and GCC instantiate it for given lambdas too (to determine whether the
/// callback is default-constructible), so it has to compile for any type; it is never called for a lambda.
template <class Hook>
Hook no_hook() {
  if constexpr (std::is_same_v<Hook, NoHook>) {
    return {};
  } else {
    std::abort();
  }
}
}  // namespace detail

/// Callback with one callable for each hook; hooks that are not given cost nothing:
///
///     LambdaCallback{.on_epoch_end = [](auto& run) { fmt::print("{}\n", run.epoch()); }}
///
/// Hooks are given in the order below, which is the order in which they are called. A hook takes the Run and returns
/// void, Control or Uniform<Control>, as that of a struct does. Source: Keras `LambdaCallback`.
///
/// Compile-time errors: no hook, or one of another signature.
template <class TrainBegin = NoHook, class TrainResume = NoHook, class EpochBegin = NoHook, class EpochResume = NoHook,
          class TrainBatchBegin = NoHook, class TrainBatchEnd = NoHook, class TestBegin = NoHook,
          class TestBatchBegin = NoHook, class TestBatchEnd = NoHook, class TestEnd = NoHook, class EpochEnd = NoHook,
          class SavePoint = NoHook, class TrainEnd = NoHook, class TrainComplete = NoHook, class PredictBegin = NoHook,
          class PredictBatchBegin = NoHook, class PredictBatchEnd = NoHook, class PredictEnd = NoHook>
struct LambdaCallback {
  TrainBegin on_train_begin = detail::no_hook<TrainBegin>();
  TrainResume on_train_resume = detail::no_hook<TrainResume>();
  EpochBegin on_epoch_begin = detail::no_hook<EpochBegin>();
  EpochResume on_epoch_resume = detail::no_hook<EpochResume>();
  TrainBatchBegin on_train_batch_begin = detail::no_hook<TrainBatchBegin>();
  TrainBatchEnd on_train_batch_end = detail::no_hook<TrainBatchEnd>();
  TestBegin on_test_begin = detail::no_hook<TestBegin>();
  TestBatchBegin on_test_batch_begin = detail::no_hook<TestBatchBegin>();
  TestBatchEnd on_test_batch_end = detail::no_hook<TestBatchEnd>();
  TestEnd on_test_end = detail::no_hook<TestEnd>();
  EpochEnd on_epoch_end = detail::no_hook<EpochEnd>();
  SavePoint on_save_point = detail::no_hook<SavePoint>();
  TrainEnd on_train_end = detail::no_hook<TrainEnd>();
  TrainComplete on_train_complete = detail::no_hook<TrainComplete>();
  PredictBegin on_predict_begin = detail::no_hook<PredictBegin>();
  PredictBatchBegin on_predict_batch_begin = detail::no_hook<PredictBatchBegin>();
  PredictBatchEnd on_predict_batch_end = detail::no_hook<PredictBatchEnd>();
  PredictEnd on_predict_end = detail::no_hook<PredictEnd>();
};

}  // namespace trireme
