// expect: trireme: SparseCategoricalCrossentropy needs one output for each class
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

#ifdef TRIREME_MUST_FAIL
constexpr std::size_t outputs = 1;
#else
constexpr std::size_t outputs = 2;
#endif

void compile_model() {
  trireme::compile(trireme::OneDeviceStrategy<>(), trireme::Sequential{trireme::Input<4>{}, trireme::Dense<outputs>{}},
                   trireme::SGD{}, trireme::SparseCategoricalCrossentropy{.from_logits = true});
}
