/// Named values of an epoch or a batch, in the order in which they were set.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/mpi/uniform.hpp"

namespace trireme {

namespace detail {
/// The value, or a NaN without a sign: the one of an operation without a result is negative on x86, and reads "-nan".
double unsigned_nan(double value);
}  // namespace detail

/// Named values of an epoch or a batch: `loss`, the metrics, `val_…`, and what callbacks add.
///
/// They are in the order in which they were set, and the same on every process, so that decisions which follow from
/// them alone are too. Setting names that were set before `clear` in the same order allocates nothing.
class Logs {
 public:
  struct Entry {
    std::string name;
    Uniform<double> value;
  };

  /// The value of this name; empty if none was set. Not collective.
  std::optional<Uniform<double>> find(std::string_view name) const;

  /// Sets or replaces the value of this name; a NaN loses its sign. Not collective; to be called alike on every
  /// process.
  void set(std::string_view name, Uniform<double> value);

  /// Removes all values.
  void clear() { size_ = 0; }
  /// Number of values.
  std::size_t size() const { return size_; }
  /// True if there is no value.
  bool empty() const { return size_ == 0; }
  /// First entry, in the order in which names were set.
  Entry const* begin() const { return entries_.data(); }
  /// Behind the last entry.
  Entry const* end() const { return entries_.data() + size_; }

  /// Saves or sets all values, as part of a checkpoint.
  template <class Archive>
  void state(Archive& archive) {
    std::vector<std::pair<std::string, double>> values;
    for (Entry const& entry : *this) values.emplace_back(entry.name, entry.value.value());
    archive("values", values);
    clear();
    for (auto const& [name, value] : values) set(name, detail::UniformAccess::make(value));
  }

  /// All names, for messages: "loss, accuracy, val_loss".
  std::string names() const;

 private:
  std::vector<Entry> entries_;  // beyond size_: kept for their memory
  std::size_t size_ = 0;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/metrics/logs.ipp"
#endif
