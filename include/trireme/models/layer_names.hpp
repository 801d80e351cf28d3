/// Numbers the layers of one model as Keras does: dense, dense_1, dense_2.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "trireme/io/keras_names.hpp"

namespace trireme {

class LayerNames {
 public:
  std::string next(std::string_view class_name) {
    std::string name = keras_snake_case(class_name);
    std::size_t const index = count_[name]++;
    return index == 0 ? name : name + "_" + std::to_string(index);
  }

 private:
  std::map<std::string, std::size_t> count_;
};

}  // namespace trireme
