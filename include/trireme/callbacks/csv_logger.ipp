/// Definitions of trireme/callbacks/csv_logger.hpp.
#pragma once

#include "trireme/callbacks/csv_logger.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "trireme/callbacks/output_files.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/growing_file.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

TRIREME_INLINE bool CSVLogger::separates(std::string_view text) {
  static constexpr std::string_view allowed = " \t,;:|/\\!#$%&()*<=>?@[]^`{}~'_";
  return text.size() == 1 && allowed.find(text[0]) != std::string_view::npos;
}

TRIREME_INLINE std::uint64_t CSVLogger::size_at_begin(std::vector<std::string> const& names) const {
  if (!append) return 0;
  if (auto const found = header()) require_columns(*found, names);
  std::error_code error;
  std::uint64_t const size = std::filesystem::file_size(path, error);
  return error ? 0 : size;
}

TRIREME_INLINE std::string CSVLogger::write(Logs const& logs, std::size_t epoch, bool is_first) {
  GrowingFile file(path);
  std::string const warning = begun ? "" : cut(file, epoch, is_first);
  auto const found = is_first && append ? header() : std::nullopt;
  if (found) {
    require_columns(*found, columns);
    columns = *found;
  }
  std::string text;
  if (!ends_with_newline()) text = "\n";
  bool has_header = is_first ? found.has_value() : !is_empty();
  if (!is_first && !warning.empty()) {  // what is there may be another log
    auto names = columns;
    names.insert(names.begin(), "epoch");
    has_header = first_line() == names;
  }
  if (!has_header) {
    text += "epoch" + separator + line_of_columns() + '\n';
  }
  text += formatted("{}", epoch);
  for (auto const& name : columns) {
    auto const value = logs.find(name);
    text += separator + (value ? formatted("{}", value->value()) : "NA");
  }
  text += '\n';
  bytes = file.append(text);
  return warning;
}

TRIREME_INLINE std::string CSVLogger::cut(GrowingFile& file, std::size_t epoch, bool is_first) const {
  if (append && !resumed) return "";
  bool const replaces = !append && bytes == 0;
  std::uint64_t const size = file.size();
  if (size < bytes)
    return formatted("warning: CSVLogger: {} has lost lines of the saved run; those that follow are appended to it",
                     path);
  if (!replaces && size > bytes && !wrote_the_rest(epoch, is_first))
    return formatted(
        "warning: CSVLogger: {} has lines of others behind those of the saved run; they stay, and lines of this run "
        "may be there twice",
        path);
  file.cut(bytes);
  return "";
}

TRIREME_INLINE bool CSVLogger::wrote_the_rest(std::size_t epoch, bool is_first) const {
  std::ifstream in(path, std::ios::binary);
  char before = '\n';
  if (bytes > 0) in.seekg(static_cast<std::streamoff>(bytes) - 1).get(before);
  std::string const rest{std::istreambuf_iterator<char>(in), {}};
  std::string_view left = rest;
  if (before != '\n') {  // the run found an unfinished line, and ended it
    if (!is_first || !left.starts_with('\n')) return false;
    left.remove_prefix(1);
  }
  auto const line = [&] { return left.substr(0, left.find('\n')); };
  auto const next = [&] { left.remove_prefix(std::min(left.size(), line().size() + 1)); };
  if (is_first && left.starts_with("epoch")) next();
  for (; !left.empty(); next()) {
    std::string const begin = formatted("{}{}", epoch++, separator);
    bool const is_unfinished = line().size() == left.size() && begin.starts_with(left);
    if (!is_unfinished && !line().starts_with(begin)) return false;
  }
  return true;
}

TRIREME_INLINE std::vector<std::string> CSVLogger::first_line() const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line.empty()) return {};
  if (line.back() == '\r') line.pop_back();
  return fields(line);
}

TRIREME_INLINE std::optional<std::vector<std::string>> CSVLogger::header() const {
  auto names = first_line();
  if (names.empty()) return std::nullopt;
  if (names.front() != "epoch") throw FileError(path, "is not a log to append to: its first column is not 'epoch'");
  names.erase(names.begin());
  return names;
}

TRIREME_INLINE void CSVLogger::require_columns(std::vector<std::string> const& found,
                                               std::vector<std::string> const& names) const {
  for (auto const& name : names)
    if (std::find(found.begin(), found.end(), name) == found.end())
      throw FileError(path, formatted("cannot be appended to, since it has no column '{}'", name));
}

TRIREME_INLINE bool CSVLogger::is_empty() const {
  std::error_code error;
  auto const status = std::filesystem::status(path, error);
  return !exists(status) || (is_regular_file(status) && std::filesystem::file_size(path, error) == 0);
}

TRIREME_INLINE bool CSVLogger::ends_with_newline() const {
  std::error_code error;
  if (is_empty() || !std::filesystem::is_regular_file(path, error)) return true;
  std::ifstream in(path, std::ios::binary);
  in.seekg(-1, std::ios::end);
  int const last = in.get();
  return !in || last == '\n';  // true too of a file that cannot be read
}

TRIREME_INLINE std::vector<std::string> CSVLogger::fields(std::string_view line) const {
  std::vector<std::string> all(1);
  bool is_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '"' && is_quoted && i + 1 < line.size() && line[i + 1] == '"')
      all.back() += line[i++];
    else if (line[i] == '"')
      is_quoted = !is_quoted;
    else if (line[i] == separator[0] && !is_quoted)
      all.emplace_back();
    else
      all.back() += line[i];
  }
  return all;
}

TRIREME_INLINE std::string CSVLogger::line_of_columns() const {
  std::string line;
  for (std::size_t i = 0; i < columns.size(); ++i) line += (i == 0 ? "" : separator) + quoted(columns[i]);
  return line;
}

TRIREME_INLINE std::string CSVLogger::quoted(std::string const& name) const {
  if (name.find(separator) == std::string::npos && name.find_first_of("\"\n") == std::string::npos) return name;
  std::string text = "\"";
  for (char const c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

}  // namespace trireme
