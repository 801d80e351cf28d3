/// ProgramText: the text of a program under construction: its arguments, its lines and its results.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/element.hpp"
#include "trireme/pjrt/lowering/segments.hpp"
#include "trireme/pjrt/lowering/tensor_type.hpp"
#include "trireme/pjrt/lowering/value.hpp"

namespace trireme::lowering {

template <class T, class E>
std::string type_text(Value<T, E> const& value) {
  return type_text(element_of<T>, value.extents.to_vector());
}

/// Writer of a program. "%v7" is value 7, whichever operation made it.
class ProgramText {
 public:
  /// \param shards  devices of a replica, which divide some of the arguments
  explicit ProgramText(std::size_t shards = 1) : shards_(shards) {}

  std::size_t shards() const { return shards_; }

  /// Lets products round their operands to XLA's default type. BFloat16 numbers lose nothing, gradients do.
  void allow_short_operands() { short_operands_ = true; }
  /// Precision of a product's operands. That of XLA's default is BFloat16 on TPUs and TF32 on GPUs.
  std::string_view operand_precision() const { return short_operands_ ? "DEFAULT" : "HIGHEST"; }

  /// \param axis  that the devices of a replica divide, if any
  template <class T, class E>
  Value<T, E> argument(E const& extents, std::optional<std::size_t> axis = {}) {
    Value<T, E> const value{extents, next_id()};
    arguments_.push_back(port(value));
    arguments_.back().axis = axis;
    return value;
  }

  /// A result, divided as an argument is if it is that argument.
  template <class T, class E>
  void result(Value<T, E> const& value) {
    results_.push_back(port(value));
    for (Port const& port : arguments_)
      if (port.id == value.id) results_.back().axis = port.axis;
  }

  /// Adds a result that replaces an argument: the caller donates the argument's array, which the program may overwrite.
  template <class T, class E, class F>
  void result(Value<T, E> const& value, Value<T, F> const& instead_of) {
    require_same(value.extents, instead_of.extents);
    std::optional<std::size_t> axis;
    for (Port& port : arguments_)
      if (port.id == instead_of.id) {
        port.result = results_.size();
        axis = port.axis;
      }
    result(value);
    results_.back().axis = axis;
  }

  /// The sums of tensors over all processes, which run the same program, in one exchange: a segment ends here.
  template <class E>
  std::vector<Value<double, E>> sum_processes(std::vector<Value<double, E>> const& summands) {
    Cut cut{lines_.size(), {}, {}};
    std::vector<Value<double, E>> sums;
    for (auto const& summand : summands) {
      sums.push_back({summand.extents, next_id()});
      cut.summands.push_back(port(summand));
      cut.sums.push_back(port(sums.back()));
    }
    cuts_.push_back(std::move(cut));
    return sums;
  }

  /// The program, which sums nothing over processes.
  Program finish() const {
    if (!cuts_.empty()) throw Error("a program that sums over processes ends in segments");
    return program_of(arguments_, results_, fmt::to_string(fmt::join(lines_, "")), shards_);
  }
  /// The same in segments, of which there is one more than sums over processes.
  SegmentedProgram finish_segments() const {
    return SegmentCutter(lines_, arguments_, results_, cuts_, types_, shards_).segments();
  }

  // ---- lines, for the operations of Builder

  std::size_t next_id() { return next_id_++; }

  void line(std::string_view text) {
    lines_.push_back(formatted("  {}\n", replaced_.empty() ? std::string(text) : with_replaced(text)));
  }

  /// Lets lines from here on read `now` where they name `before`.
  template <class T, class E, class F>
  void replace(Value<T, E> const& before, Value<T, F> const& now) {
    require_same(before.extents, now.extents);
    replaced_[std::to_string(before.id)] = std::to_string(now.id);
  }

  /// Notes the type of a value that a line defines, which a later segment may take.
  template <class T, class E>
  void defined(Value<T, E> const& value) {
    auto const extents = value.extents.to_vector();
    if (extents.size() <= TensorType::max_rank) types_.insert({value.id, tensor_type<T>(extents)});
  }

  /// `text : type`, for operations whose operands have the result's type.
  template <class T, class E>
  Value<T, E> emit(E const& extents, std::string_view text) {
    Value<T, E> const value{extents, next_id()};
    line(formatted("%v{} = {} : {}", value.id, text, type_text(value)));
    defined(value);
    return value;
  }

  /// `text : (types of operands) -> type`.
  template <class T, class E>
  Value<T, E> emit_call(E const& extents, std::string_view text, std::string_view operands) {
    Value<T, E> const value{extents, next_id()};
    line(formatted("%v{} = {} : {} -> {}", value.id, text, operands, type_text(value)));
    defined(value);
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

  template <class T, class E>
  static Port port(Value<T, E> const& value) {
    return {value.id, tensor_type<T>(value.extents.to_vector())};
  }

  std::size_t shards_;
  bool short_operands_ = false;
  std::vector<Port> arguments_, results_;
  std::vector<std::string> lines_;
  std::vector<Cut> cuts_;
  std::map<std::size_t, TensorType> types_;      ///< of values that lines define, by number
  std::map<std::string, std::string> replaced_;  ///< numbers in the names of values
  std::size_t next_id_ = 0;
};

}  // namespace trireme::lowering
