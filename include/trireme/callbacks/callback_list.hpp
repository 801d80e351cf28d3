/// CallbackList: the callbacks of one call of fit, evaluate or predict.
#pragma once

#include <cstddef>
#include <tuple>

#include "trireme/callbacks/compared_logs.hpp"
#include "trireme/callbacks/dispatch.hpp"
#include "trireme/callbacks/hooks.hpp"
#include "trireme/callbacks/progress.hpp"

namespace trireme {

/// Callbacks of a call; each member calls one hook of all of them, in the user's order. Requests to stop are resolved
/// among all processes before the member returns, which is a collective only if some callback may decide alone.
template <class Run, class Engine, class... Callbacks>
class CallbackList {
 public:
  /// List of references to callbacks; the progress gets their decision to stop.
  CallbackList(Run& run, Engine& engine, Progress& progress, Callbacks&... callbacks)
      : run_(run), engine_(engine), progress_(progress), callbacks_(callbacks...) {}

  /// Hook `on_train_begin` of all callbacks.
  void train_begin() { notify<hooks::TrainBegin>(); }
  /// May set the progress to that of a saved run.
  void train_resume() { notify<hooks::TrainResume>(); }
  /// Hook `on_epoch_begin` of all callbacks.
  void epoch_begin() { notify<hooks::EpochBegin>(); }
  /// Hook `on_epoch_resume` of all callbacks.
  void epoch_resume() { notify<hooks::EpochResume>(); }
  /// Hook `on_train_batch_begin` of all callbacks.
  void train_batch_begin() { notify<hooks::TrainBatchBegin>(); }
  /// Hook `on_train_batch_end` of all callbacks.
  void train_batch_end() { notify<hooks::TrainBatchEnd>(); }
  /// Hook `on_test_begin` of all callbacks.
  void test_begin() { notify<hooks::TestBegin>(); }
  /// Hook `on_test_batch_begin` of all callbacks.
  void test_batch_begin() { notify<hooks::TestBatchBegin>(); }
  /// Hook `on_test_batch_end` of all callbacks.
  void test_batch_end() { notify<hooks::TestBatchEnd>(); }
  /// Hook `on_test_end` of all callbacks.
  void test_end() { notify<hooks::TestEnd>(); }
  /// Hook `on_epoch_end` of all callbacks. Before one of them decides by logged values, those that the user's callbacks
  /// have set are compared among all processes: a collective.
  void epoch_end() {
    progress_.stop_if(engine_.resolve(detail::notify_in_turn<hooks::EpochEnd>(callbacks_, run_, ComparedLogs{run_})));
  }
  /// Hook `on_save_point` of all callbacks.
  void save_point() { notify<hooks::SavePoint>(); }
  /// Hook `on_train_end` of all callbacks.
  void train_end() { call<hooks::TrainEnd>(); }
  /// Hook `on_train_complete` of all callbacks.
  void train_complete() { call<hooks::TrainComplete>(); }
  /// Hook `on_predict_begin` of all callbacks.
  void predict_begin() { call<hooks::PredictBegin>(); }
  /// Hook `on_predict_batch_begin` of all callbacks.
  void predict_batch_begin() { call<hooks::PredictBatchBegin>(); }
  /// Hook `on_predict_batch_end` of all callbacks.
  void predict_batch_end() { call<hooks::PredictBatchEnd>(); }
  /// Hook `on_predict_end` of all callbacks.
  void predict_end() { call<hooks::PredictEnd>(); }

  /// True if the processes have decided to stop.
  bool stop_requested() const { return progress_.stop; }

  /// Callbacks in the user's order.
  std::tuple<Callbacks&...>& all() { return callbacks_; }

 private:
  struct ComparedLogs {
    Run& run;
    template <std::size_t I>
    void turn_of() const {
      if constexpr (detail::decides_by_new_logs<I, Run, Callbacks...>())
        run.require_same_changes("on_epoch_end of fit");
    }
  };

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

namespace detail {

/// Throws on all processes where hooks of the user's callbacks on one have set other learning rates, restored other
/// weights or logged other values; without callbacks there is nothing to compare. Collective.
template <class... Callbacks, class R>
void require_same_changes(R const& run, char const* call) {
  if constexpr (sizeof...(Callbacks) > 0) run.require_same_changes(call);
}

}  // namespace detail

}  // namespace trireme
