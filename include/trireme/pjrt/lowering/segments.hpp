/// Segments: a program that is cut where processes sum tensors, since a program itself reaches those of its client
/// only.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/element.hpp"
#include "trireme/pjrt/lowering/tensor_type.hpp"

namespace trireme::lowering {

inline std::string type_text(Element element, std::vector<std::size_t> const& extents) {
  std::string text = "tensor<";
  for (std::size_t extent : extents) text += formatted("{}x", extent);
  return text + std::string(element_name(element)) + ">";
}

/// Tiles along each axis, and the devices in order; or a copy on each device. Source: OpSharding in
/// https://github.com/openxla/xla/blob/main/xla/xla_data.proto.
inline std::string sharding_text(std::size_t rank, std::optional<std::size_t> axis, std::size_t shards) {
  if (!axis) return "{replicated}";
  std::vector<std::size_t> tiles(rank, 1);
  tiles[*axis] = shards;
  return formatted("{{devices=[{}]<=[{}]}}", fmt::join(tiles, ","), shards);
}

/// An argument or a result of a program: a value by its number.
struct Port {
  static constexpr std::size_t no_result = std::numeric_limits<std::size_t>::max();
  std::size_t id;
  TensorType type;
  std::optional<std::size_t> axis{};  ///< that the devices of a replica divide
  std::size_t result = no_result;     ///< index of the result that replaces an argument

  std::string type_name() const { return type_text(type.element, type.extents()); }
  TensorType on_device(std::size_t shards) const { return axis ? type.divided(*axis, shards) : type; }

  /// Attributes in a program's head: the sharding, and the result that overwrites an argument.
  std::string attributes(std::size_t shards) const {
    std::vector<std::string> all;
    if (shards > 1) all.push_back(formatted("mhlo.sharding = \"{}\"", sharding_text(type.rank, axis, shards)));
    if (result != no_result) all.push_back(formatted("tf.aliasing_output = {} : i32", result));
    return all.empty() ? std::string() : formatted(" {{{}}}", fmt::join(all, ", "));
  }
};

/// Program of lines between its arguments and its results.
inline Program program_of(std::vector<Port> const& arguments, std::vector<Port> const& results, std::string_view lines,
                          std::size_t shards) {
  Program program;
  program.shards = shards;
  std::string taken, given, types, head;
  for (Port const& port : arguments) {
    taken += formatted("{}%v{}: {}{}", taken.empty() ? "" : ", ", port.id, port.type_name(), port.attributes(shards));
    program.arguments.push_back(port.on_device(shards));
  }
  for (Port const& port : results) {
    char const* const comma = given.empty() ? "" : ", ";
    given += formatted("{}%v{}", comma, port.id);
    types += comma + port.type_name();
    head += comma + port.type_name() + port.attributes(shards);
    program.results.push_back(port.on_device(shards));
  }
  std::string const returned = results.empty() ? "" : formatted(" {} : {}", given, types);
  program.text = formatted("func.func public @main({}) -> ({}) {{\n{}  return{}\n}}\n", taken, head, lines, returned);
  return program;
}

/// A sum over processes between two segments: numbers of the values before and after it.
struct Cut {
  std::size_t line;  ///< first line of the next segment
  std::vector<Port> summands, sums;
};

/// A part of a program that runs at once. Its first results are the summands of the cut behind it.
struct Segment {
  Program program;
  std::vector<std::size_t> arguments, results;  ///< numbers of the values
  std::vector<std::size_t> sums;                ///< numbers under which later segments take the sums
};

/// A whole program in segments; the last one has all of its results.
struct SegmentedProgram {
  std::vector<std::size_t> arguments;  ///< numbers of the values
  std::vector<Segment> segments;
};

/// A program that sums nothing over processes.
inline SegmentedProgram in_one_segment(Program program) {
  SegmentedProgram whole;
  Segment only{std::move(program), {}, {}, {}};
  for (std::size_t index = 0; index < only.program.arguments.size(); ++index) {
    whole.arguments.push_back(index);
    only.arguments.push_back(index);
  }
  whole.segments.push_back(std::move(only));
  return whole;
}

/// Cutter of a program's lines into segments. A segment takes the values of earlier ones as arguments, and computes
/// constants and broadcasts of them anew.
class SegmentCutter {
 public:
  /// \param type_of  the types of all values that lines define, by number
  SegmentCutter(std::vector<std::string> const& lines, std::vector<Port> const& arguments,
                std::vector<Port> const& results, std::vector<Cut> const& cuts,
                std::map<std::size_t, TensorType> const& type_of, std::size_t shards)
      : lines_(lines), arguments_(arguments), results_(results), cuts_(cuts), shards_(shards) {
    for (auto const& [id, type] : type_of) ports_.insert_or_assign(id, Port{id, type});
    for (std::size_t line = 0; line < lines.size(); ++line)
      for (std::size_t const id : names(lines[line])) defined_at_.insert({id, line});
    for (Port const& port : arguments) from_outside(port);
    for (Cut const& cut : cuts)
      for (Port const& port : cut.sums) from_outside(port);
  }

  SegmentedProgram segments() {
    SegmentedProgram whole;
    for (Port const& port : arguments_) whole.arguments.push_back(port.id);
    std::vector<Draft> drafts;
    for (std::size_t s = 0; s <= cuts_.size(); ++s) drafts.push_back(draft(s));
    for (std::size_t s = 0; s < drafts.size(); ++s) {
      bool const is_last = s == cuts_.size();
      std::vector<Port> results = is_last ? results_ : cuts_[s].summands;
      std::set<std::size_t> carried;
      for (std::size_t later = s + 1; later < drafts.size(); ++later)
        for (std::size_t const id : drafts[later].taken)
          if (defined_at_.contains(id) && begin(s) <= defined_at_[id] && defined_at_[id] < end(s)) carried.insert(id);
      for (std::size_t const id : carried) results.push_back(port(id));
      whole.segments.push_back(segment(drafts[s], results, is_last));
      if (is_last) continue;
      for (Port const& sum : cuts_[s].sums) whole.segments.back().sums.push_back(sum.id);
    }
    return whole;
  }

 private:
  /// Values that a segment takes, and its lines.
  struct Draft {
    std::set<std::size_t> taken, known;
    std::string before, lines;
  };

  std::size_t begin(std::size_t s) const { return s == 0 ? 0 : cuts_[s - 1].line; }
  std::size_t end(std::size_t s) const { return s == cuts_.size() ? lines_.size() : cuts_[s].line; }

  void from_outside(Port const& port) {
    defined_at_.erase(port.id);
    ports_.insert_or_assign(port.id, Port{port.id, port.type, port.axis});
  }

  /// Numbers of the values that a line names.
  static std::vector<std::size_t> names(std::string_view line) {
    std::vector<std::size_t> found;
    for (std::size_t at = line.find("%v"); at != line.npos; at = line.find("%v", at + 2)) {
      std::size_t id = 0;
      char const* const text = line.data() + at + 2;
      if (std::from_chars(text, line.data() + line.size(), id).ptr != text) found.push_back(id);
    }
    return found;
  }

  Draft draft(std::size_t s) {
    Draft draft;
    for (std::size_t line = begin(s); line < end(s); ++line) {
      for (std::size_t const id : names(lines_[line])) need(draft, id, begin(s));
      draft.lines += lines_[line];
    }
    for (Port const& port : s == cuts_.size() ? results_ : cuts_[s].summands) need(draft, port.id, begin(s));
    return draft;
  }

  void need(Draft& draft, std::size_t id, std::size_t begin) {
    auto const defined = defined_at_.find(id);
    if (defined != defined_at_.end() && defined->second >= begin) return;
    if (!draft.known.insert(id).second) return;
    if (defined == defined_at_.end() || !is_cheap(lines_[defined->second])) {
      draft.taken.insert(id);
      return;
    }
    for (std::size_t const operand : names(lines_[defined->second])) need(draft, operand, begin);
    draft.before += lines_[defined->second];
  }
  static bool is_cheap(std::string const& line) {
    return line.find(" = stablehlo.constant ") != line.npos || line.find(" = stablehlo.iota ") != line.npos ||
           line.find(" = stablehlo.broadcast_in_dim ") != line.npos;
  }

  Segment segment(Draft const& draft, std::vector<Port> const& results, bool is_last) {
    Segment segment;
    std::vector<Port> arguments;
    for (std::size_t const id : draft.taken) {
      arguments.push_back(port(id));
      // Only the last segment may overwrite an argument of the whole.
      auto const whole = std::ranges::find(arguments_, id, &Port::id);
      if (is_last && whole != arguments_.end()) arguments.back().result = whole->result;
      segment.arguments.push_back(id);
    }
    for (Port const& port : results) segment.results.push_back(port.id);
    segment.program = program_of(arguments, results, draft.before + draft.lines, shards_);
    return segment;
  }

  Port const& port(std::size_t id) const {
    auto const found = ports_.find(id);
    if (found == ports_.end()) throw Error("the type of a value that a program needs behind a sum is not known");
    return found->second;
  }

  std::vector<std::string> const& lines_;
  std::vector<Port> const &arguments_, &results_;
  std::vector<Cut> const& cuts_;
  std::size_t shards_;
  std::map<std::size_t, Port> ports_;
  std::map<std::size_t, std::size_t> defined_at_;  ///< lines by number of the value
};

}  // namespace trireme::lowering
