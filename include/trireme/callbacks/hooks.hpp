/// Hooks of callbacks: one tag for each hook, in the order in which `fit`, then `predict`, calls them.
///
/// A tag has its hook's name in three forms: for the call, for detecting whether a class declares it, and for the error
/// message about a wrong signature.
#pragma once

namespace trireme {

/// Placeholder for an absent hook: `LambdaCallback` has one for each hook that was not given.
struct NoHook {
  constexpr NoHook operator()(auto const&) const { return {}; }
};

/// List of hooks as a type.
template <class... Hooks>
struct HookList {};

namespace hooks {

// A macro, since the name of a member to call and detect cannot be a template argument.
#define TRIREME_HOOK(TYPE, NAME)                                                                          \
  struct TYPE {                                                                                           \
    struct Named {                                                                                        \
      int NAME;                                                                                           \
    };                                                                                                    \
    template <class Class>                                                                                \
    using Member = decltype(&Class::NAME);                                                                \
    static constexpr auto call(auto& callback, auto& run) -> decltype(callback.NAME(run)) {               \
      return callback.NAME(run);                                                                          \
    }                                                                                                     \
    template <bool Fits>                                                                                  \
    static consteval void require_signature() {                                                           \
      static_assert(Fits, "trireme: the hook " #NAME                                                      \
                          " of a callback must be callable with (Run&) or (Run const&) and return void, " \
                          "Control or Uniform<Control>");                                                 \
    }                                                                                                     \
  }

TRIREME_HOOK(TrainBegin, on_train_begin);
/// After all callbacks have begun; one of them may resume the run of an earlier process here (`run.resume`).
TRIREME_HOOK(TrainResume, on_train_resume);
TRIREME_HOOK(EpochBegin, on_epoch_begin);
/// In place of EpochBegin, in an epoch that an earlier process has begun to train.
TRIREME_HOOK(EpochResume, on_epoch_resume);
TRIREME_HOOK(TrainBatchBegin, on_train_batch_begin);
TRIREME_HOOK(TrainBatchEnd, on_train_batch_end);
TRIREME_HOOK(TestBegin, on_test_begin);
TRIREME_HOOK(TestBatchBegin, on_test_batch_begin);
TRIREME_HOOK(TestBatchEnd, on_test_batch_end);
TRIREME_HOOK(TestEnd, on_test_end);
TRIREME_HOOK(EpochEnd, on_epoch_end);
/// After each batch and each epoch, when all callbacks have been called and all processes have agreed on whether to go
/// on. The run can be saved here (`run.save`) and resumed from here.
TRIREME_HOOK(SavePoint, on_save_point);
TRIREME_HOOK(TrainEnd, on_train_end);
/// After on_train_end of all callbacks and the last comparison of the processes: training has succeeded, and the model
/// is final.
TRIREME_HOOK(TrainComplete, on_train_complete);
TRIREME_HOOK(PredictBegin, on_predict_begin);
TRIREME_HOOK(PredictBatchBegin, on_predict_batch_begin);
TRIREME_HOOK(PredictBatchEnd, on_predict_batch_end);
TRIREME_HOOK(PredictEnd, on_predict_end);

#undef TRIREME_HOOK

/// List of all hooks, in the order of their calls.
using All = HookList<TrainBegin, TrainResume, EpochBegin, EpochResume, TrainBatchBegin, TrainBatchEnd, TestBegin,
                     TestBatchBegin, TestBatchEnd, TestEnd, EpochEnd, SavePoint, TrainEnd, TrainComplete, PredictBegin,
                     PredictBatchBegin, PredictBatchEnd, PredictEnd>;

}  // namespace hooks

}  // namespace trireme
