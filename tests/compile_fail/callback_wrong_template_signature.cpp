// expect: trireme: the hook on_train_batch_end of a callback must be callable with (Run&) or (Run const&)
#include <tuple>

#include "trireme/callbacks/dispatch.hpp"

struct Run {};

struct CountBatches {
#ifdef TRIREME_MUST_FAIL
  template <class AnyRun>
  void on_train_batch_end(AnyRun&, int batch) {
    batches += batch;
  }
#else
  template <class AnyRun>
  void on_train_batch_end(AnyRun&) {
    ++batches;
  }
#endif
  int batches = 0;
};

int main() {
  std::tuple callbacks{CountBatches{}};
  Run run;
  trireme::notify<trireme::hooks::TrainBatchEnd>(callbacks, run);
}
