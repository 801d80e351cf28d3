/// Definitions of trireme/callbacks/csv_logger.hpp.
#pragma once

#include "trireme/callbacks/csv_logger.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
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

TRIREME_INLINE void CSVLogger::begin(std::vector<std::string> const& names) {
  if (!append) return;
  if (auto const found = header()) require_columns(*found, names);
  std::error_code error;
  std::uint64_t const size = std::filesystem::file_size(path, error);
  bytes = error ? 0 : size;
}

TRIREME_INLINE void CSVLogger::write(Logs const& logs, std::size_t epoch, bool is_first) {
  auto const found = is_first && bytes > 0 ? header() : std::nullopt;
  if (found) {
    require_columns(*found, columns);
    columns = *found;
  }
  std::string text;
  if (is_first && bytes > 0 && !ends_with_newline()) text = "\n";
  if (is_first ? !found : is_empty()) {
    text += "epoch";
    for (auto const& name : columns) text += separator + quoted(name);
    text += '\n';
  }
  text += formatted("{}", epoch);
  for (auto const& name : columns) {
    auto const value = logs.find(name);
    text += separator + (value ? formatted("{}", value->value()) : "NA");
  }
  text += '\n';
  GrowingFile file(path);
  file.cut(bytes);
  file.append(text);
  bytes = file.size();
}

TRIREME_INLINE std::optional<std::vector<std::string>> CSVLogger::header() const {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return std::nullopt;
  std::ifstream in(path);
  std::string line;
  if (!std::getline(in, line) || line.empty()) return std::nullopt;
  if (line.back() == '\r') line.pop_back();
  auto names = fields(line);
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
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(bytes) - 1);
  return in.get() == '\n';
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

TRIREME_INLINE std::string CSVLogger::quoted(std::string const& name) const {
  if (name.find(separator) == std::string::npos && name.find_first_of("\"\n") == std::string::npos) return name;
  std::string text = "\"";
  for (char const c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + '"';
}

}  // namespace trireme
