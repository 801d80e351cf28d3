/// Names of types as users write them, the same from every compiler.
#pragma once

#include <string>
#include <string_view>
#include <typeinfo>

namespace trireme {

namespace detail {

/// "Dense<10, ReLU>" from the name that the ABI gives to trireme::Dense<10ul, trireme::ReLU>.
std::string readable_type(char const* mangled);

/// "Dense" from "Dense<10, ReLU>".
std::string without_arguments(std::string text);

}  // namespace detail

/// "Dense<10, ReLU>"
template <class T>
std::string type_text() {
  return detail::readable_type(typeid(T).name());
}

/// "Dense": the class_name of a layer, or the type without its arguments.
template <class T>
std::string type_name() {
  if constexpr (requires { std::string_view(T::class_name); })
    return std::string(T::class_name);
  else
    return detail::without_arguments(type_text<T>());
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/core/type_text.ipp"
#endif
