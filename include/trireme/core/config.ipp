/// Definitions of trireme/core/config.hpp.
#pragma once

#include "trireme/core/config.hpp"

#include <string>
#include <string_view>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"

namespace trireme {

TRIREME_INLINE void require_in(Interval const& range, std::string_view name, double value) {
  if (!range.contains(value))
    throw ValueError(formatted("{} is {}, which is outside of {}", name, value, range.text()));
}

TRIREME_INLINE Config::Scope::~Scope() {
  config_.type_ = std::move(type_);
  config_.owner_ = std::move(owner_);
}

TRIREME_INLINE void Config::require(bool holds, std::string_view sentence) const {
  if (!holds) throw ValueError(type_ + (owner_.empty() ? "" : " of " + owner_) + " " + std::string(sentence));
}

TRIREME_INLINE std::string Config::full_name(std::string_view name) const {
  std::string full = type_.empty() ? std::string(name) : type_ + "::" + std::string(name);
  if (!owner_.empty()) full += " of " + owner_;
  return full;
}

TRIREME_INLINE std::string Interval::text() const {
  std::string const upper = highest == intervals::most ? "2^53" : formatted("{}", highest);
  return formatted("{}{}, {}{}", open_below ? "(" : "[", lowest, upper, open_above ? ")" : "]");
}

}  // namespace trireme
