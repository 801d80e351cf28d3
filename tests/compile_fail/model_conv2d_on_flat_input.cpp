// expect: trireme: Conv2D and 2-D pooling take (height, width, channels)
#include "trireme/layers/conv2d.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/sequential.hpp"

int main() {
#ifdef TRIREME_MUST_FAIL
  trireme::Sequential const model{trireme::Input<784>{}, trireme::Conv2D<8, 3, 3>{}};
#else
  trireme::Sequential const model{trireme::Input<28, 28, 1>{}, trireme::Conv2D<8, 3, 3>{}};
#endif
  return static_cast<int>(trireme::describe<float>(model).elements);
}
