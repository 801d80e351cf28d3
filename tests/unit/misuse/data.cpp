#include "support/misuse.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trireme/compile.hpp"
#include "trireme/data/from_generator.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

using Data = data::Dataset<float, std::int32_t>;

/// 12 samples, of which all are labelled 1 but sample 5.
Data digits(std::int32_t label = 1) {
  std::vector<std::int32_t> y(12, 1);
  y[5] = label;
  return data::from_tensor_slices(xt::xtensor<float, 2>(xt::zeros<float>({12, 3})), std::move(y));
}

/// So many samples, one after another.
Data generated(int samples) {
  return data::from_generator({3}, {}, [samples] {
    return [samples, i = 0](std::span<float> x, std::span<std::int32_t> y) mutable {
      if (i++ == samples) return false;
      x[0] = x[1] = x[2] = 0;
      y[0] = 1;
      return true;
    };
  });
}

auto model_of(MultiWorkerMirroredStrategy<> const& strategy) {
  return compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, SGD{},
                 SparseCategoricalCrossentropy{.from_logits = true});
}

using Batches = data::BatchedDataset<float, std::int32_t>;

void train(Environment& environment, Batches const& data, FitOptions options = {}) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model = model_of(strategy);
  options.verbose = false;
  fit(strategy, model, data, options);
}
void train(Environment& environment, Data const& data, FitOptions const& options = {}) {
  train(environment, data.batch(GlobalBatch{4}), options);
}
void validate(Environment& environment, Data const& data) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model = model_of(strategy);
  fit(strategy, model, digits().batch(GlobalBatch{4}), validation(data.batch(GlobalBatch{4})), {.verbose = false});
}
void test(Environment& environment, Batches const& data, EvaluateOptions const& options = {}) {
  MultiWorkerMirroredStrategy<> const strategy(environment.world());
  auto model = model_of(strategy);
  evaluate(strategy, model, data, options);
}

/// Another number on rank 1.
std::size_t other(Environment& environment, std::size_t value) { return value + environment.world().rank(); }

Misuse const table[] = {
    {"nothing_to_train_on", "the training data hold no sample",
     [](Environment& environment) { train(environment, digits().take(0)); }},
    {"nothing_generated", "the training data hold no sample",
     [](Environment& environment) { train(environment, generated(0).prefetch(2)); }},
    {"nothing_generated_again_and_again", "the training data hold no sample",
     [](Environment& environment) { train(environment, generated(0).repeat(), {.steps_per_epoch = 2}); }},
    {"no_batch_left", "the training data have no batch: take, skip or repeat leave none of their 12 samples",
     [](Environment& environment) { train(environment, digits().batch(GlobalBatch{4}).skip(3)); }},
    {"nothing_to_validate_on", "the validation data hold no sample",
     [](Environment& environment) { validate(environment, digits().skip(12)); }},
    {"nothing_generated_to_validate_on", "the validation data hold no sample",
     [](Environment& environment) { validate(environment, generated(0)); }},
    {"nothing_to_test", "the test data (held out) hold no sample",
     [](Environment& environment) { test(environment, digits().take(0).named("held out").batch(GlobalBatch{4})); }},
    {"steps_beyond_the_data", "steps_per_epoch is 4, but the training data have 3 batches: repeat() gives more",
     [](Environment& environment) { train(environment, digits(), {.steps_per_epoch = 4}); }},
    {"steps_beyond_a_generator", "the training data ended after 3 batches, but steps_per_epoch = 2 needs 4",
     [](Environment& environment) { train(environment, generated(12), {.epochs = 2, .steps_per_epoch = 2}); }},
    {"steps_beyond_the_test_data", "steps is 9, but the test data have 3 batches",
     [](Environment& environment) { test(environment, digits().batch(GlobalBatch{4}), {.steps = 9}); }},
    {"an_epoch_without_end", "the training data have no end: give them a take(), or set steps_per_epoch",
     [](Environment& environment) { train(environment, digits().repeat()); }},
    {"validation_without_end", "the validation data have no end: give them a take()",
     [](Environment& environment) { validate(environment, digits().repeat()); }},
    {"negative_take", "take(-3): the number of samples has to be whole, and from 0 to 281474976710656",
     [](Environment& environment) { train(environment, digits().take(-3)); }},
    {"shuffle_of_nothing", "shuffle(0): the number of samples in the buffer has to be whole, and from 1 to ",
     [](Environment& environment) { train(environment, digits().shuffle(0, 1)); }},
    {"repeated_too_often", "repeat(4611686018427387904): the number of passes has to be whole, and from 0 to ",
     [](Environment& environment) { train(environment, digits().repeat(std::size_t{1} << 62)); }},
    {"more_samples_than_an_epoch_can_have", "makes more than an epoch can have: repeat() goes on without end",
     [](Environment& environment) {
       train(environment, digits().repeat(std::size_t{1} << 48).repeat(std::size_t{1} << 48));
     }},
    {"prefetch_of_a_million", "prefetch(1000000): the number of batches has to be whole, and from 0 to 65536",
     [](Environment& environment) { train(environment, digits().prefetch(1e6)); }},
    {"batch_of_2_to_the_63", "batch(9223372036854775808): the number of samples has to be whole, and from 1 to ",
     [](Environment& environment) { test(environment, generated(12).batch(GlobalBatch{std::size_t{1} << 63})); }},
    {"wrong_label_of_validation", "label 7 at index 5 of the validation data is outside of [0, 4)",
     [](Environment& environment) { validate(environment, digits(7)); }},
    {"wrong_label_behind_take", "label 7 at index 5 of the training data is outside of [0, 4)",
     [](Environment& environment) { train(environment, digits(7).take(8)); }},
    {"other_batch_size", "on rank 1: batch of the training data has the size 5 where rank 0 has the size 4",
     [](Environment& environment) { train(environment, digits().batch(GlobalBatch{other(environment, 4)})); }, 2},
    {"other_seed", "on rank 1: shuffle of the training data has the seed 8 where rank 0 has the seed 7",
     [](Environment& environment) { train(environment, digits().shuffle(12, other(environment, 7))); }, 2},
    {"other_samples", "on rank 1: the training data differ from those of rank 0; for data that each rank owns, use ",
     [](Environment& environment) { train(environment, digits(environment.world().rank() == 0 ? 1 : 2)); }, 2},
    {"other_transformations", "on rank 1: the transformations of the training data differ: take where rank 0 has skip",
     [](Environment& environment) {
       train(environment, environment.world().rank() == 0 ? digits().skip(4) : digits().take(8));
     },
     2},
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
