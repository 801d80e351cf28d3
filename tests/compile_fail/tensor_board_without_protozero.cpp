// expect: trireme: TensorBoard needs protozero, which this build lacks
#undef TRIREME_HAVE_PROTOZERO
#include "trireme/callbacks/callback.hpp"
#include "trireme/callbacks/tensor_board.hpp"

struct Run {};

int main() {
  trireme::TensorBoard board{.log_dir = "logs", .update_freq = 100};
  static_assert(trireme::require_callback<trireme::TensorBoard, Run>());
#ifdef TRIREME_MUST_FAIL
  Run run;
  board.on_train_begin(run);
#endif
  return board.log_dir.empty() ? 1 : 0;
}
