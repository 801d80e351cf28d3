/// Options of a BatchIterator.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace trireme {

/// Purpose of the batches of a BatchIterator.
enum class IteratorRole : std::size_t { training, validation, test, prediction };

/// Options of a BatchIterator: the purpose of its batches, their number, and weights of classes.
struct BatchIteratorOptions {
  IteratorRole role = IteratorRole::test;
  std::optional<std::size_t> steps{};  ///< batches of an epoch, if fewer than the data have, or if these have no end
  std::vector<double> class_weight{};
  std::size_t first_pass = 0;  ///< number of the pass over the data that epoch 0 has: passes differ in their orders

  bool trains() const { return role == IteratorRole::training; }     ///< the engine says which batches it trains on
  bool targets() const { return role != IteratorRole::prediction; }  ///< targets have to fit the model
  bool repeats() const { return trains() || role == IteratorRole::validation; }  ///< epoch after epoch reads the data
  /// The data in messages.
  std::string data() const {
    static constexpr std::array names{"the training data", "the validation data", "the test data",
                                      "the data to predict"};
    return names[static_cast<std::size_t>(role)];
  }
  /// The option that sets `steps`; empty if there is none.
  std::string steps_option() const {
    static constexpr std::array names{"steps_per_epoch", "", "steps", ""};
    return names[static_cast<std::size_t>(role)];
  }
};

}  // namespace trireme
