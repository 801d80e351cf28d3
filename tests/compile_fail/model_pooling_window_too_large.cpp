// expect: trireme: the window of a Conv2D or pooling layer is higher than its input
#include "trireme/layers/pooling2d.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/sequential.hpp"

int main() {
#ifdef TRIREME_MUST_FAIL
  trireme::Sequential const model{trireme::Input<4, 6, 3>{}, trireme::MaxPooling2D<5, 5>{}};
#else
  trireme::Sequential const model{trireme::Input<5, 6, 3>{}, trireme::MaxPooling2D<5, 5>{}};
#endif
  return static_cast<int>(trireme::describe<float>(model).elements);
}
