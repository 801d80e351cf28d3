// expect: trireme: Reshape must keep the number of elements of a sample
#include "trireme/layers/flatten.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/sequential.hpp"

int main() {
#ifdef TRIREME_MUST_FAIL
  trireme::Sequential const model{trireme::Input<12>{}, trireme::Reshape<3, 5>{}};
#else
  trireme::Sequential const model{trireme::Input<12>{}, trireme::Reshape<3, 4>{}};
#endif
  return static_cast<int>(trireme::describe<float>(model).elements);
}
