/// A small model's tensors, for the tests of both kinds of files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "trireme/io/named_tensor.hpp"

namespace trireme::test {

/// A convolution in float, a dense layer in double, and an optimizer with its count of steps.
struct SmallModel {
  std::vector<float> kernel = std::vector<float>(3 * 3 * 2);
  std::vector<double> bias = std::vector<double>(2);
  std::int64_t iteration = 0;
  float rate = 0;

  static SmallModel filled() {
    SmallModel model;
    std::iota(model.kernel.begin(), model.kernel.end(), 0.5f);
    model.bias = {1.0 / 3, -2e-300};
    model.iteration = (std::int64_t{1} << 40) + 1;
    model.rate = 0.125f;
    return model;
  }

  std::vector<NamedTensor> tensors() const {
    return {named_tensor({"layers", "conv2d", "vars"}, 0, {3, 3, 1, 2}, kernel.data()),
            named_tensor({"layers", "conv2d", "vars"}, 1, {2}, bias.data()),
            named_tensor({"optimizer", "vars"}, 0, {}, &iteration), named_tensor({"optimizer", "vars"}, 1, {}, &rate)};
  }

  std::vector<NamedDestination> destinations() {
    return {named_destination({"layers", "conv2d", "vars"}, 0, {3, 3, 1, 2}, kernel.data()),
            named_destination({"layers", "conv2d", "vars"}, 1, {2}, bias.data()),
            named_destination({"optimizer", "vars"}, 0, {}, &iteration),
            named_destination({"optimizer", "vars"}, 1, {}, &rate)};
  }

  bool operator==(SmallModel const&) const = default;
};

}  // namespace trireme::test
