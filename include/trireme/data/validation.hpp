/// Marks a dataset as validation data in a call of `fit`.
#pragma once

#include <utility>

namespace trireme {

/// Stand-in for validation data that were not given.
struct NoData {};

/// A dataset marked as validation data in a call of `fit`.
template <class Data>
struct Validation {
  Data data;
};

/// `fit(strategy, model, train, validation(test), ...)`
template <class Data>
Validation<Data> validation(Data data) {
  return {std::move(data)};
}

}  // namespace trireme
