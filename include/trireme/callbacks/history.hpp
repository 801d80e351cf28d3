/// History: the values that training logged, epoch by epoch.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// Record that `fit` returns: `history["val_loss"]` has one value for each epoch that logged it, in the units of the
/// loss or metric. The same on every process. Source: Keras `History`.
struct History {
  using logs_alike = void;  ///< what it logs is the same on all processes

  std::vector<std::size_t> epochs{};                                  ///< from 0
  std::vector<std::pair<std::string, std::vector<double>>> values{};  ///< in the order of the first log of each name

  /// Values of the name, one for each epoch that logged it.
  /// \throws ValueError that lists the names that there are.
  std::vector<double> const& operator[](std::string_view name) const&;
  /// The same of a history that ends with the expression: `fit(...)["loss"]`.
  std::vector<double> operator[](std::string_view name) const&& { return (*this)[name]; }

  /// True if an epoch has logged the name.
  bool contains(std::string_view name) const;

  /// "loss, accuracy, val_loss"
  std::string names() const;

  template <class Run>
  void on_epoch_end(Run& run) {
    epochs.push_back(run.epoch());
    for (auto const& entry : run.logs()) series(entry.name).push_back(entry.value.value());
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("epochs", epochs);
    archive("values", values);
  }

 private:
  std::vector<double>& series(std::string_view name);
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/history.ipp"
#endif
