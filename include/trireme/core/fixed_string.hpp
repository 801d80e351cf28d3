/// A string as a template argument: `EarlyStopping<"val_loss">`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace trireme {

/// A string as a template argument, N counting the final zero.
template <std::size_t N>
struct FixedString {
  char characters[N]{};

  /// Copy of a string literal.
  constexpr FixedString(char const (&text)[N]) { std::copy_n(text, N, characters); }
  /// Characters without the final zero.
  constexpr std::string_view view() const { return {characters, N - 1}; }
  constexpr operator std::string_view() const { return view(); }
};

}  // namespace trireme
