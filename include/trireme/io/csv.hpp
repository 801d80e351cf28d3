/// Tables of numbers in text files.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/error.hpp"
#include "trireme/io/file_content.hpp"
#include "trireme/io/numbers.hpp"
#include "trireme/tensor/host_tensor.hpp"
#include "trireme/text.hpp"

namespace trireme::io {

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

namespace detail {

inline std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

template <class V>
std::optional<V> parse_whole(std::string_view text) {
  V value{};
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A number of type T; integers may be written as 3, 3.0 or 3e0.
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
  return value ? exact_cast<T>(*value) : std::nullopt;
}

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

}  // namespace detail

template <class T>
HostTensor<T> read_csv(std::string const& path, CsvOptions options) {
  static_assert(std::is_arithmetic_v<T> && !std::is_same_v<T, bool> && !std::is_same_v<T, char>,
                "trireme: read_csv reads numbers, such as float, double or std::int32_t");
  std::vector<char> const content = file_content(path);
  std::string_view rest(content.data(), content.size());
  auto values = std::make_shared<std::vector<T>>();
  std::size_t rows = 0, columns = 0;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    std::size_t const end = std::min(rest.find('\n'), rest.size());
    std::string_view const line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (number <= options.skip_rows || detail::trimmed(line).empty()) continue;
    std::size_t fields = 0;
    detail::split(line, options.delimiter, [&](std::string_view field) {
      ++fields;
      auto const value = detail::parse_number<T>(field);
      if (!value)
        throw FileError(path, formatted("line {}, column {}: '{}' is not {}", number, fields, field.substr(0, 40),
                                        std::is_integral_v<T> ? "an integer of the type asked for" : "a number"));
      values->push_back(*value);
    });
    if (rows == 0) columns = fields;
    if (fields != columns)
      throw FileError(path, formatted("line {}: has {} columns where {} were expected", number, fields, columns));
    ++rows;
  }
  if (rows == 0) throw FileError(path, "holds no row of numbers");
  HostTensor<T> table;
  table.data = values->data();
  table.owner = std::move(values);
  table.extents = {rows, columns};
  table.origin = path;
  return table;
}

}  // namespace trireme::io
