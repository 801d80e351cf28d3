// expect twice: trireme: two metrics of a model have the same name in the logs
// expect that_of_a_validation: trireme: two metrics of a model have the same name in the logs
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/metrics/weighted.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace {

/// A validation logs the accuracy under this name.
struct Validated : trireme::Accuracy {
  [[maybe_unused]] static constexpr trireme::FixedString name = "val_accuracy";
};

}  // namespace

#if defined(misuse_twice)
using Metric = trireme::Accuracy;
#elif defined(misuse_that_of_a_validation)
using Metric = Validated;
#else
using Metric = trireme::Weighted<trireme::Accuracy>;  // "weighted_accuracy" beside "accuracy"
#endif

void compile_model() {
  trireme::compile(trireme::OneDeviceStrategy<>(), trireme::Sequential{trireme::Input<4>{}, trireme::Dense<3>{}},
                   trireme::SGD{}, trireme::SparseCategoricalCrossentropy{.from_logits = true}, trireme::Accuracy{},
                   Metric{});
}
