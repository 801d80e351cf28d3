// expect: trireme: a callback needs at least one hook, such as on_epoch_end(run)
#include "trireme/callbacks/callback.hpp"

struct Run {};

struct PrintEpoch {
#ifdef TRIREME_MUST_FAIL
  void at_epoch_end(Run&) {}
#else
  void on_epoch_end(Run&) {}
#endif
};

int main() { return trireme::require_callback<PrintEpoch, Run>() ? 0 : 1; }
