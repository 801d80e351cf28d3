// expect: trireme: the hook on_epoch_end of a callback must be callable with (Run&) or (Run const&) and return void
#include <tuple>

#include "trireme/callbacks/dispatch.hpp"

struct Run {};

struct StopAtOnce {
#ifdef TRIREME_MUST_FAIL
  bool on_epoch_end(Run const&) const { return true; }
#else
  trireme::Control on_epoch_end(Run const&) const { return trireme::Control::stop; }
#endif
};

int main() {
  std::tuple callbacks{StopAtOnce{}};
  Run run;
  trireme::notify<trireme::hooks::EpochEnd>(callbacks, run);
}
