/// Definitions of trireme/layers/layer_name.hpp.
#pragma once

#include "trireme/layers/layer_name.hpp"

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string_view kept_text(std::string_view text) {
  static std::mutex mutex;
  // Never destroyed: other objects of static duration may hold layers.
  static auto& texts = *new std::set<std::string, std::less<>>;
  std::lock_guard const lock(mutex);
  auto found = texts.find(text);
  if (found == texts.end()) found = texts.emplace(text).first;
  return *found;
}

}  // namespace trireme::detail
