/// Marks a dataset as validation data in a call of `fit`.
#pragma once

#include <utility>

namespace trireme {

/// Stand-in for validation data that were not given.
struct NoData {};

/// Dataset marked as validation data in a call of `fit`. Made by `validation(data)`.
template <class Data>
struct Validation {
  Data data;
};

/// Validation data of `fit`, in batches: `fit(strategy, model, train, validation(test), {.epochs = 10})`. The dataset
/// has the extents that the model's input and loss take.
///
/// Compile-time errors: arrays, or a dataset without `batch`.
template <class Data>
Validation<Data> validation(Data data) {
  return {std::move(data)};
}

}  // namespace trireme
