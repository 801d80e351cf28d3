/// A name as a type.
#pragma once

#include <cstddef>
#include <utility>

#include "trireme/core/fixed_string.hpp"

namespace trireme::detail {

/// A type of characters: nvcc cannot write down types that have a string among their arguments.
template <char... Characters>
struct Name {
  static constexpr FixedString name{{Characters..., '\0'}};
};

template <FixedString Text, std::size_t... I>
constexpr Name<Text.characters[I]...> name_of_characters(std::index_sequence<I...>) {
  return {};
}
/// The name as a value. A template that deduces its type has one that nvcc can write down; an alias of it would not do.
template <FixedString Text>
constexpr auto name_of() {
  return name_of_characters<Text>(std::make_index_sequence<Text.view().size()>());
}

}  // namespace trireme::detail
