/// Tables of numbers in text files.
#pragma once

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/text.hpp"
#include "trireme/io/byte_source.hpp"
#include "trireme/io/numbers.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/tensor/host_tensor.hpp"

namespace trireme::io {

/// Designated initializers name the members in this order.
struct CsvOptions {
  char delimiter = ',';       ///< ' ' stands for any number of blanks and tabs
  std::size_t skip_rows = 0;  ///< lines before the numbers, such as names of columns
};

/// A table (rows, columns); `columns(0, 64)` and `column(64)` of it are inputs and targets. Lines without any text are
/// left out; the file may be compressed with gzip.
///
/// \throws FileError naming line and column of a field that is no number of type T, or the line whose number of fields
///         differs from the first one's.
template <class T>
HostTensor<T> read_csv(std::string const& path, CsvOptions options = {});

/// The same from a source of bytes.
template <class T>
HostTensor<T> read_csv(ByteSource& source, CsvOptions options = {});

namespace detail {

std::string_view trimmed(std::string_view text);

template <class V>
concept HasFromChars = requires(char const* text, V value) { std::from_chars(text, text, value); };

/// As std::from_chars, whose floating-point numbers libc++ lacks before version 20: strtod reads the same where the
/// text has no space, sign or prefix that it would accept besides.
template <class V>
std::optional<V> parse_in_c_locale(std::string_view text) {
  static locale_t const c_locale = newlocale(LC_ALL_MASK, "C", nullptr);
  if (text.empty() || text.find_first_of("+ \t\n\v\f\rxX") < std::min(text.size(), text.find_first_of("eE")))
    return std::nullopt;
  std::string const terminated(text);
  char* end = nullptr;
  errno = 0;
  V value{};
  if constexpr (std::is_same_v<V, float>)
    value = strtof_l(terminated.c_str(), &end, c_locale);
  else
    value = strtod_l(terminated.c_str(), &end, c_locale);
  bool const out_of_range = errno == ERANGE && (std::isinf(value) || value == 0);
  if (out_of_range || end != terminated.c_str() + terminated.size()) return std::nullopt;
  return value;
}

template <class V>
std::optional<V> parse_whole(std::string_view text) {
  if constexpr (HasFromChars<V>) {
    V value{};
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
  } else {
    return parse_in_c_locale<V>(text);
  }
}

/// A number of type T; integers may be written as 3, and below 2^53 as 3.0 or 3e0.
template <class T>
std::optional<T> parse_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  if constexpr (std::is_integral_v<T>)
    if (auto const whole = parse_whole<T>(text)) return whole;
  if constexpr (std::is_floating_point_v<T>) {
    if (auto const value = parse_whole<T>(text)) return value;
  }
  // For T = float also what is too large or too small for it: infinity or zero, as the conversion rounds.
  auto const value = parse_whole<double>(text);
  if (!value) return std::nullopt;
  // From 2^53 on a double may be another integer than was written.
  if constexpr (std::is_integral_v<T>)
    if (std::abs(*value) >= 0x1p53) return std::nullopt;
  return exact_cast<T>(*value);
}

/// The lines of a file, without their ends; one at a time is in memory.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(&source) {}

  /// The next line, valid until the next call; nothing behind the last.
  std::optional<std::string_view> next();

  /// Of the line that was given last, from 1 on.
  std::size_t number() const { return number_; }

 private:
  static constexpr std::size_t longest = std::size_t{1} << 24;

  /// Reads what follows what has not been given yet; false if there is nothing.
  bool refill();

  ByteSource* source_;
  std::string buffer_;  ///< [begin_, end_) has not been given yet
  std::size_t begin_ = 0, end_ = 0, number_ = 0;
};

/// Calls f(field) for each field of a line.
template <class F>
void split(std::string_view line, char delimiter, F&& f) {
  if (delimiter == ' ') {
    for (line = trimmed(line); !line.empty(); line = trimmed(line)) {
      std::size_t const end = std::min(line.find_first_of(" \t"), line.size());
      f(line.substr(0, end));
      line.remove_prefix(end);
    }
    return;
  }
  while (true) {
    std::size_t const end = line.find(delimiter);
    f(trimmed(line.substr(0, end)));
    if (end == std::string_view::npos) return;
    line.remove_prefix(end + 1);
  }
}

template <class T>
HostTensor<T> csv_table(ByteSource& source, CsvOptions const& options) {
  LineReader lines(source);
  auto values = std::make_shared<std::vector<T>>();
  std::size_t rows = 0, columns = 0;
  while (auto const line = lines.next()) {
    if (lines.number() <= options.skip_rows || trimmed(*line).empty()) continue;
    std::size_t fields = 0;
    split(*line, options.delimiter, [&](std::string_view field) {
      ++fields;
      auto const value = parse_number<T>(field);
      if (!value)
        source.fail(formatted("line {}, column {}: '{}' is not {}", lines.number(), fields, printable(field),
                              std::is_integral_v<T> ? "an integer of the type asked for" : "a number"));
      values->push_back(*value);
    });
    if (rows == 0) columns = fields;
    if (fields != columns)
      source.fail(formatted("line {}: has {} columns where {} were expected", lines.number(), fields, columns));
    ++rows;
  }
  if (rows == 0) source.fail("holds no row of numbers");
  HostTensor<T> table;
  table.data = values->data();
  table.owner = std::move(values);
  table.extents = {rows, columns};
  table.origin = source.path();
  return table;
}

}  // namespace detail

template <class T>
HostTensor<T> read_csv(ByteSource& source, CsvOptions options) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>,
                "trireme: read_csv reads numbers, such as float, double or std::int32_t");
  return within_memory(source.path(), [&] { return detail::csv_table<T>(source, options); });
}

template <class T>
HostTensor<T> read_csv(std::string const& path, CsvOptions options) {
  ByteSource source(path);
  return read_csv<T>(source, options);
}

}  // namespace trireme::io

#ifndef TRIREME_COMPILED
#include "trireme/io/csv.ipp"
#endif
