/// Numbers the layers of one model as Keras does: dense, dense_1, dense_2.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/io/keras_names.hpp"

namespace trireme {

/// Names of a model's layers, numbered as Keras does: dense, dense_1, dense_2.
class LayerNames {
 public:
  /// Name of the next layer of this class.
  std::string next(std::string_view class_name) {
    std::string name = keras_snake_case(class_name);
    auto const index = std::count(given_.begin(), given_.end(), name);
    given_.push_back(name);
    return index == 0 ? name : formatted("{}_{}", name, index);
  }

 private:
  std::vector<std::string> given_;  ///< before they were numbered
};

}  // namespace trireme
