/// Definitions of trireme/core/config.hpp.
#pragma once

#include "trireme/core/config.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"

namespace trireme {

TRIREME_INLINE void require_in(Interval const& range, std::string_view name, double value) {
  if (!range.contains(value))
    throw ValueError(formatted("{} is {}, which is outside of {}", name, value, range.text()));
}

TRIREME_INLINE void Config::operator()(std::string_view name, std::string const& value) { add(full_name(name), value); }

TRIREME_INLINE void Config::add(std::string name, std::string value, bool may_change) {
  entries_.push_back({std::move(name), std::move(value), may_change});
}

TRIREME_INLINE void Config::add(std::vector<Entry> const& entries) {
  entries_.insert(entries_.end(), entries.begin(), entries.end());
}

TRIREME_INLINE void Config::add_number(std::string_view name, std::string text, bool in_range, Interval const& range) {
  std::string full = full_name(name);
  if (!in_range) throw ValueError(formatted("{} is {}, which is outside of {}", full, text, range.text()));
  add(std::move(full), std::move(text), true);
}

TRIREME_INLINE Config::Scope::Scope(Config& config, std::string type, std::string_view owner)
    : config_(config),
      type_(std::exchange(config.type_, std::move(type))),
      owner_(std::exchange(config.owner_, std::string(owner))) {}

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
