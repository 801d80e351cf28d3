/// A model of two outputs, of which the first has labels in few samples and weights with a penalty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "support/small_training.hpp"
#include "trireme/compile.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/outputs.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace trireme::test {

/// Checks that the logged loss has the whole penalty, whichever samples have labels. The rate is 0, so that the penalty
/// stays as it is.
template <class Strategy>
void check_masked_penalties(Strategy const& strategy) {
  constexpr std::size_t count = 11;
  auto const samples = make_samples<double>(count, {4}, 3);
  auto const make = [](auto const& where) {
    return compile<double>(
        where, Sequential{Input<4>{}, Fork{Dense<3>{.kernel_regularizer = L2(0.1)}, Dense<1>{}}},
        SGD{.learning_rate = 0},
        Outputs{output<"kind">(SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = -1}),
                output<"y">(MeanSquaredError{})},
        CompileOptions{.seed = 3});
  };
  auto model = make(strategy);
  double penalty = 0;
  for (double const w : make(OneDeviceStrategy<>()).weights("dense/kernel")) penalty += 0.1 * w * w;
  std::vector<double> const y(count, 0.5);
  for (std::size_t labelled : {std::size_t{0}, std::size_t{3}, count}) {
    std::vector<std::int32_t> kinds(count, -1);  // those with labels come last
    for (std::size_t i = count - labelled; i < count; ++i) kinds[i] = static_cast<std::int32_t>(i % 3);
    auto const data = data::from_tensor_slices(samples.x, std::tie(kinds, y)).batch(GlobalBatch{4});
    auto const history = fit(strategy, model, data, validation(data), {.verbose = false});
    for (std::string const prefix : {"", "val_"}) {
      double const found =
          history[prefix + "loss"][0] - history[prefix + "kind_loss"][0] - history[prefix + "y_loss"][0];
      check_close(found, penalty, 1e-13, (prefix + "penalty with " + std::to_string(labelled) + " labels").c_str());
    }
  }
}

}  // namespace trireme::test
