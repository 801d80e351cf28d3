/// True if a class has a member of a name.
#pragma once

#include <type_traits>

namespace trireme::detail {

template <class Class, class Named>
struct NameProbe : Class, Named {};

template <class Name, class Class>
concept NamesOneMember = requires { typename Name::template Member<Class>; };

/// True if Class has a member of the name, whatever its signature, template or access: the name is then ambiguous in a
/// class that inherits it from elsewhere too. Of a final class this cannot be known, and `if_final` is the answer.
///
/// \tparam Name  has a struct Named with such a member, and an alias template Member<C> = decltype(&C::member).
template <class Name, class Class, bool if_final>
inline constexpr bool declares_member = [] {
  if constexpr (!std::is_class_v<Class>)
    return false;
  else if constexpr (std::is_final_v<Class>)
    return if_final;
  else
    return !NamesOneMember<Name, NameProbe<Class, typename Name::Named>>;
}();

}  // namespace trireme::detail
