// expect: trireme: the hook on_epoch_end of a callback must be callable with (Run&) or (Run const&)
#include <tuple>

#include "trireme/callbacks/dispatch.hpp"

struct Run {};

struct PrintEpoch {
#ifdef TRIREME_MUST_FAIL
  void on_epoch_end(Run&, int) {}
#else
  void on_epoch_end(Run&) {}
#endif
};

int main() {
  std::tuple callbacks{PrintEpoch{}};
  Run run;
  trireme::notify<trireme::hooks::EpochEnd>(callbacks, run);
}
