/// The version of the library, as macros and as text. Versions follow https://semver.org.
#pragma once

#include <string_view>

#define TRIREME_VERSION_MAJOR 0
#define TRIREME_VERSION_MINOR 1
#define TRIREME_VERSION_PATCH 0

/// In the order of versions: `#if TRIREME_VERSION >= 10203` from 1.2.3 on.
#define TRIREME_VERSION (TRIREME_VERSION_MAJOR * 10000 + TRIREME_VERSION_MINOR * 100 + TRIREME_VERSION_PATCH)

#define TRIREME_DETAIL_TEXT(number) #number
#define TRIREME_DETAIL_VERSION_TEXT(major, minor, patch) \
  TRIREME_DETAIL_TEXT(major) "." TRIREME_DETAIL_TEXT(minor) "." TRIREME_DETAIL_TEXT(patch)

namespace trireme {

/// "<major>.<minor>.<patch>".
constexpr std::string_view version() {
  return TRIREME_DETAIL_VERSION_TEXT(TRIREME_VERSION_MAJOR, TRIREME_VERSION_MINOR, TRIREME_VERSION_PATCH);
}

}  // namespace trireme
