/// ProgramText: the text of a program under construction: its arguments, its lines and its results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/element.hpp"
#include "trireme/pjrt/lowering/tensor_type.hpp"
#include "trireme/pjrt/lowering/value.hpp"

namespace trireme::lowering {

inline std::string type_text(Element element, std::vector<std::size_t> const& extents) {
  std::string text = "tensor<";
  for (std::size_t extent : extents) text += formatted("{}x", extent);
  return text + std::string(element_name(element)) + ">";
}
template <class T, class E>
std::string type_text(Value<T, E> const& value) {
  return type_text(element_of<T>, value.extents.to_vector());
}

/// Writer of a program. "%v7" is value 7, whichever operation made it.
class ProgramText {
 public:
  template <class T, class E>
  Value<T, E> argument(E const& extents) {
    Value<T, E> const value{extents, next_id()};
    arguments_.push_back({value.id, tensor_type<T>(extents.to_vector()), no_result});
    return value;
  }

  template <class T, class E>
  void result(Value<T, E> const& value) {
    results_.push_back({value.id, tensor_type<T>(value.extents.to_vector()), no_result});
  }

  /// Adds a result that replaces an argument: the caller donates the argument's array, which the program may overwrite.
  template <class T, class E, class F>
  void result(Value<T, E> const& value, Value<T, F> const& instead_of) {
    require_same(value.extents, instead_of.extents);
    for (Port& port : arguments_)
      if (port.id == instead_of.id) port.result = results_.size();
    result(value);
  }

  Program finish() const {
    Program program;
    std::string arguments, results, types;
    for (Port const& port : arguments_) {
      arguments += formatted("{}%v{}: {}", arguments.empty() ? "" : ", ", port.id, type(port));
      if (port.result != no_result) arguments += formatted(" {{tf.aliasing_output = {} : i32}}", port.result);
      program.arguments.push_back(port.type);
    }
    for (Port const& port : results_) {
      results += formatted("{}%v{}", results.empty() ? "" : ", ", port.id);
      types += formatted("{}{}", types.empty() ? "" : ", ", type(port));
      program.results.push_back(port.type);
    }
    program.text = formatted("func.func public @main({}) -> ({}) {{\n{}  return {} : {}\n}}\n", arguments, types, body_,
                             results, types);
    return program;
  }

  // ---- lines, for the operations of Builder

  std::size_t next_id() { return next_id_++; }

  void line(std::string_view text) {
    body_ += "  ";
    body_ += replaced_.empty() ? std::string(text) : with_replaced(text);
    body_ += '\n';
  }

  /// Lets lines from here on read `now` where they name `before`.
  template <class T, class E, class F>
  void replace(Value<T, E> const& before, Value<T, F> const& now) {
    require_same(before.extents, now.extents);
    replaced_[std::to_string(before.id)] = std::to_string(now.id);
  }

  /// `text : type`, for operations whose operands have the result's type.
  template <class T, class E>
  Value<T, E> emit(E const& extents, std::string_view text) {
    Value<T, E> const value{extents, next_id()};
    line(formatted("%v{} = {} : {}", value.id, text, type_text(value)));
    return value;
  }

  /// `text : (types of operands) -> type`.
  template <class T, class E>
  Value<T, E> emit_call(E const& extents, std::string_view text, std::string_view operands) {
    Value<T, E> const value{extents, next_id()};
    line(formatted("%v{} = {} : {} -> {}", value.id, text, operands, type_text(value)));
    return value;
  }

 private:
  /// A line with the names of replaced values.
  std::string with_replaced(std::string_view text) const {
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
      std::size_t const name = text.find("%v", at);
      std::size_t const number = name == text.npos ? text.size() : name + 2;
      result += text.substr(at, number - at);
      at = std::min(text.find_first_not_of("0123456789", number), text.size());
      if (number == at) continue;
      std::string const id(text.substr(number, at - number));
      auto const now = replaced_.find(id);
      result += now == replaced_.end() ? id : now->second;
    }
    return result;
  }

  static constexpr std::size_t no_result = std::numeric_limits<std::size_t>::max();
  struct Port {
    std::size_t id;
    TensorType type;
    std::size_t result;  ///< index of the result that replaces an argument
  };
  static std::string type(Port const& port) { return type_text(port.type.element, port.type.extents()); }

  std::vector<Port> arguments_, results_;
  std::string body_;
  std::map<std::string, std::string> replaced_;  ///< numbers in the names of values
  std::size_t next_id_ = 0;
};

}  // namespace trireme::lowering
