/// Config: the numbers and switches that an object was given, by name, with the range of each.
///
/// A type lists its own in one member, which `compile` and `fit` call on every layer, optimizer, schedule, loss,
/// metric, initializer, callback and struct of options:
///
///     struct Dropout {
///       float rate = 0.5f;
///       void config(Config& c) const { c("rate", rate, intervals::below_one); }
///     };
///
/// A number outside of its range is an error, "Dropout::rate of layer 'dropout' is 1.5, which is outside of [0, 1)".
/// The list is also what all processes must have alike (mpi/same_config.hpp). A type of a user's own may have
/// the member too.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/core/type_text.hpp"

namespace trireme {

/// An interval of numbers. It contains no NaN.
struct Interval {
  double lowest, highest;
  bool open_below = false, open_above = false;  ///< true if the bound itself is left out

  /// True if the value lies in the interval; false for NaN.
  constexpr bool contains(double value) const {
    return (open_below ? value > lowest : value >= lowest) && (open_above ? value < highest : value <= highest);
  }
  /// "[0, 1)"
  std::string text() const;
};

namespace intervals {
/// No bound.
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double most = 9007199254740992.0;  ///< 2^53: counts beyond it were negative or have overflowed

/// Intervals of Config's numbers: each bound belongs to the interval unless it is open.
inline constexpr Interval not_nan{-infinity, infinity};
inline constexpr Interval finite{-infinity, infinity, true, true};
inline constexpr Interval not_negative{0, infinity, false, true};
inline constexpr Interval positive{0, infinity, true, true};
inline constexpr Interval fraction{0, 1};
inline constexpr Interval below_one{0, 1, false, true};
inline constexpr Interval nonzero_fraction{0, 1, true, false};
inline constexpr Interval count{0, most};           ///< of things that may be none
inline constexpr Interval positive_count{1, most};  ///< of things that must not be none
/// Numbers from `lowest` on, without infinity.
constexpr Interval at_least(double lowest) { return {lowest, infinity, false, true}; }
}  // namespace intervals

/// Checks that a number is in its range.
///
/// \throws ValueError "<name> is <value>, which is outside of <range>"
void require_in(Interval const& range, std::string_view name, double value);

/// Visitor of an object's members: the object's `config` calls it for each of them.
class Config {
 public:
  struct Entry {
    std::string name, value;
    bool may_change = false;  ///< from a run to the one that goes on with it, as numbers of a range may
  };

  /// A number. \throws ValueError if it is outside of the range
  template <class Number>
    requires std::is_arithmetic_v<Number>
  void operator()(std::string_view name, Number value, Interval const& range) {
    add_number(name, formatted("{}", value), range.contains(static_cast<double>(value)), range);
  }
  template <class Number>
  void operator()(std::string_view name, std::optional<Number> const& value, Interval const& range) {
    if (value)
      (*this)(name, *value, range);
    else
      add(full_name(name), unset, true);
  }
  template <class Number>
  void operator()(std::string_view name, std::vector<Number> const& values, Interval const& range) {
    add(full_name(name), formatted("{} numbers", values.size()), true);
    for (std::size_t i = 0; i < values.size(); ++i) (*this)(formatted("{}[{}]", name, i), values[i], range);
  }

  /// A switch, an alternative, or an integer that may be any, such as a seed.
  template <class Value>
    requires(std::is_integral_v<Value> || std::is_enum_v<Value>)
  void operator()(std::string_view name, Value value) {
    if constexpr (std::is_enum_v<Value>)
      add(full_name(name), formatted("{}", static_cast<long long>(value)));
    else
      add(full_name(name), formatted("{}", value));
  }

  /// One of these that may be left out.
  template <class Value>
  void operator()(std::string_view name, std::optional<Value> const& value) {
    if (value)
      (*this)(name, *value);
    else
      add(full_name(name), unset);
  }

  /// A text, such as a path.
  void operator()(std::string_view name, std::string const& value);

  /// An object within this one. A stand-in for some value, such as Rate, has `config(Config&, name)` instead.
  template <class Object>
    requires std::is_class_v<Object>
  void operator()(std::string_view name, Object const& object) {
    if constexpr (requires { object.config(*this, name); }) {
      object.config(*this, name);
    } else {
      std::string const full = full_name(name);
      add(full, type_name<Object>());
      list(object, full);
    }
  }

  /// An object that is no member of another, by its role: "the loss".
  template <class Object>
  void object(std::string_view role, Object const& given) {
    add(std::string(role), type_name<Object>());
    list(given, {});
  }
  /// The members of an object that belongs to what has the name `owner`.
  template <class Object>
  void list(Object const& given, std::string_view owner) {
    Scope const scope(*this, type_name<Object>(), owner);
    if constexpr (requires { given.config(*this); }) given.config(*this);
    if constexpr (requires { std::string_view(Object::monitor); })
      add(full_name("monitor"), std::string(std::string_view(Object::monitor)));
  }

  /// Names that follow have "type::" before and " of owner" after them while it lives.
  class Scope {
   public:
    Scope(Config& config, std::string type, std::string_view owner);
    ~Scope();
    Scope(Scope const&) = delete;
    Scope& operator=(Scope const&) = delete;

   private:
    Config& config_;
    std::string type_, owner_;
  };

  /// Adds the text of a value to the entries.
  void add(std::string name, std::string value, bool may_change = false);
  /// Adds entries that another Config has listed.
  void add(std::vector<Entry> const& entries);

  /// A condition on several numbers together. \throws ValueError "<type> <sentence>"
  void require(bool holds, std::string_view sentence) const;

  /// Entries in the order in which they were listed.
  std::vector<Entry> const& entries() const { return entries_; }

 private:
  static constexpr char const* unset = "unset";  ///< in place of a value

  std::string full_name(std::string_view name) const;
  void add_number(std::string_view name, std::string text, bool in_range, Interval const& range);

  std::string type_, owner_;
  std::vector<Entry> entries_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/core/config.ipp"
#endif
