/// LayerName: the user's own name for a layer.
#pragma once

#include <concepts>
#include <string_view>
#include <type_traits>

#include "trireme/core/linkage.hpp"

namespace trireme {

namespace detail {

/// Copy of a text that stays until the program ends. Texts that are equal have one copy. Any thread may call it.
std::string_view kept_text(std::string_view text);

}  // namespace detail

/// Name of a layer, empty by default: `Dense<8>{.name = "encoder"}`. Names made at run time are kept until the program
/// ends, so that a function may return a layer whose name it made: `Dense<8>{.name = fmt::format("block_{}", i)}`.
class LayerName {
 public:
  constexpr LayerName() = default;
  /// Name of a literal, a std::string or a view. A copy of the text is kept unless the name is a constant.
  template <class Text>
    requires(!std::same_as<Text, LayerName> && std::convertible_to<Text const&, std::string_view>)
  constexpr LayerName(Text const& text) : text_(text) {
    if (!std::is_constant_evaluated()) text_ = detail::kept_text(text_);
  }

  constexpr operator std::string_view() const { return text_; }
  /// True if there is no name.
  constexpr bool empty() const { return text_.empty(); }
  template <class Text>
    requires std::convertible_to<Text const&, std::string_view>
  friend constexpr bool operator==(LayerName name, Text const& text) {
    return name.text_ == std::string_view(text);
  }

 private:
  std::string_view text_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/layers/layer_name.ipp"
#endif
