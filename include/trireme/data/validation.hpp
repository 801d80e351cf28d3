/// Marks a dataset as validation data in a call of `fit`.
#pragma once

#include <utility>

#include "trireme/core/config.hpp"

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

namespace detail {

/// Kinds of data of a call of `fit`, which processes compare before one of them waits for the others' validation.
struct GivenData {
  bool validates;
  void config(Config& c) const { c.add("data for", validates ? "training and validation" : "training alone"); }
};

}  // namespace detail

}  // namespace trireme
