// expect: trireme: CategoricalAccuracy needs a target for each class, but this loss takes class indices
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/categorical_accuracy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

#ifdef TRIREME_MUST_FAIL
using Metric = trireme::CategoricalAccuracy;
#else
using Metric = trireme::Accuracy;
#endif

void compile_model() {
  trireme::compile(trireme::OneDeviceStrategy<>(), trireme::Sequential{trireme::Input<4>{}, trireme::Dense<3>{}},
                   trireme::SGD{}, trireme::SparseCategoricalCrossentropy{.from_logits = true}, Metric{});
}
