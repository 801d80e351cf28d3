/// CallbackList: the callbacks of one call of fit, evaluate or predict.
#pragma once

#include <tuple>

#include "trireme/callbacks/dispatch.hpp"
#include "trireme/callbacks/hooks.hpp"
#include "trireme/callbacks/progress.hpp"

namespace trireme {

/// Callbacks of a call; each member calls one hook of all of them, in the user's order. Requests to stop are resolved
/// among all processes before the member returns, which is a collective only if some callback may decide alone.
template <class Run, class Engine, class... Callbacks>
class CallbackList {
 public:
  CallbackList(Run& run, Engine& engine, Progress& progress, Callbacks&... callbacks)
      : run_(run), engine_(engine), progress_(progress), callbacks_(callbacks...) {}

  void train_begin() { notify<hooks::TrainBegin>(); }
  /// May set the progress to that of a saved run.
  void train_resume() { notify<hooks::TrainResume>(); }
  void epoch_begin() { notify<hooks::EpochBegin>(); }
  void epoch_resume() { notify<hooks::EpochResume>(); }
  void train_batch_begin() { notify<hooks::TrainBatchBegin>(); }
  void train_batch_end() { notify<hooks::TrainBatchEnd>(); }
  void test_begin() { notify<hooks::TestBegin>(); }
  void test_batch_begin() { notify<hooks::TestBatchBegin>(); }
  void test_batch_end() { notify<hooks::TestBatchEnd>(); }
  void test_end() { notify<hooks::TestEnd>(); }
  void epoch_end() { notify<hooks::EpochEnd>(); }
  void save_point() { notify<hooks::SavePoint>(); }
  void train_end() { call<hooks::TrainEnd>(); }
  void predict_begin() { call<hooks::PredictBegin>(); }
  void predict_batch_begin() { call<hooks::PredictBatchBegin>(); }
  void predict_batch_end() { call<hooks::PredictBatchEnd>(); }
  void predict_end() { call<hooks::PredictEnd>(); }

  bool stop_requested() const { return progress_.stop; }

  std::tuple<Callbacks&...>& all() { return callbacks_; }

 private:
  template <class Hook>
  void notify() {
    progress_.stop_if(engine_.resolve(trireme::notify<Hook>(callbacks_, run_)));
  }
  /// Calls a hook after which nothing is left to stop.
  template <class Hook>
  void call() {
    trireme::notify<Hook>(callbacks_, run_);
  }

  Run& run_;
  Engine& engine_;
  Progress& progress_;
  std::tuple<Callbacks&...> callbacks_;
};

}  // namespace trireme
