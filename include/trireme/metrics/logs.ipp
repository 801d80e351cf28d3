/// Definitions of trireme/metrics/logs.hpp.
#pragma once

#include "trireme/metrics/logs.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "trireme/core/linkage.hpp"
#include "trireme/mpi/uniform.hpp"

namespace trireme {

TRIREME_INLINE std::optional<Uniform<double>> Logs::find(std::string_view name) const {
  for (Entry const& entry : *this) {
    if (entry.name == name) return entry.value;
  }
  return std::nullopt;
}

TRIREME_INLINE double detail::unsigned_nan(double value) {
  return std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value;
}

TRIREME_INLINE void Logs::set(std::string_view name, Uniform<double> value) {
  value = value.map(detail::unsigned_nan);
  for (std::size_t i = 0; i < size_; ++i) {
    if (entries_[i].name == name) {
      entries_[i].value = value;
      return;
    }
  }
  if (size_ == entries_.size()) {
    entries_.push_back({std::string(name), value});
  } else {
    entries_[size_].name.assign(name);
    entries_[size_].value = value;
  }
  ++size_;
}

TRIREME_INLINE std::string Logs::names() const {
  std::string text;
  for (Entry const& entry : *this) text += (text.empty() ? "" : ", ") + entry.name;
  return text;
}

}  // namespace trireme
