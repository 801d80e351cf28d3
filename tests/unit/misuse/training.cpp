#include "support/misuse.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

struct Digits {
  xt::xtensor<float, 2> x = xt::zeros<float>({12, 3});
  std::vector<std::int32_t> y = std::vector<std::int32_t>(12, 1);
};

auto classifier(MultiWorkerMirroredStrategy<> const& strategy) {
  return compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, SGD{},
                 SparseCategoricalCrossentropy{.from_logits = true});
}

void train(Environment& environment, Digits const& digits, FitOptions options = {}, std::size_t batch = 4) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model = classifier(strategy);
  options.verbose = false;
  fit(strategy, model, data::from_tensor_slices(digits.x, digits.y).batch(GlobalBatch{batch}), options);
}

Misuse const table[] = {
    {"label_out_of_range", "label 4 at index 5 of the training data is outside of [0, 4)",
     [](Environment& environment) {
       Digits digits;
       digits.y[5] = 4;
       train(environment, digits);
     }},
    {"samples_of_other_extents", "samples of the training data have the extents (5,), but the model takes (3,)",
     [](Environment& environment) {
       Digits digits;
       digits.x = xt::zeros<float>({12, 5});
       train(environment, digits);
     }},
    {"batch_of_nothing", "batch(0): the number of samples has to be whole, and from 1 to 281474976710656",
     [](Environment& environment) { train(environment, {}, {}, 0); }},
    {"missing_weights_file", "no_such_file.weights.h5",
     [](Environment& environment) {
       MultiWorkerMirroredStrategy<> const strategy(environment.world());
       classifier(strategy).load_weights("no_such_file.weights.h5");
     }},
    {"unknown_weights", "the model has no parameter 'dense/kernels'",
     [](Environment& environment) {
       MultiWorkerMirroredStrategy<> const strategy(environment.world());
       classifier(strategy).weights("dense/kernels");
     }},
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
