/// CSVLogger: writes the logs of each epoch as a line of a CSV file.
#pragma once

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
#include "trireme/core/text.hpp"
#include "trireme/io/growing_file.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Keras's CSVLogger: the columns are `epoch` (from 0) and the names in alphabetical order; a value that an epoch did
/// not log is `NA`. Only the chief writes. It opens and closes the file for each line, so that no line is lost whatever
/// ends the program.
/// Designated initializers name the members in this order.
struct CSVLogger {
  std::string path{};
  std::string separator = ",";  ///< one character that is in no number: a blank, a tab, or `,` `;` `|` `:` and the like
  bool append = false;          ///< append to an existing file, under its header

  void config(Config& c) const { c("append", append); }

  // State.
  std::vector<std::string> columns{};  ///< without `epoch`; empty before the first line
  std::uint64_t bytes = 0;             ///< of the chief's file that are kept; a resumed run drops the rest

  template <class Run>
  std::vector<OutputFile> output_files(Run const&) const {
    if (path.empty()) throw ValueError("CSVLogger needs a .path");
    if (!separates(separator))
      throw ValueError(formatted(
          "CSVLogger: the separator '{}' is not one character that is in no number, such as ',', ';' or a tab",
          separator));
    return {{.writer = "CSVLogger", .path = path, .kind = OutputFile::Kind::appended}};
  }

  /// \throws FileError on all processes, if there is a file to append to that is not a log with this run's columns
  template <class Run>
  void on_train_begin(Run& run) {
    columns.clear();
    bytes = 0;
    run.on_chief([](auto const&, CSVLogger* logger, std::vector<std::string> const* names) { logger->begin(*names); },
                 this, &run.log_names());
  }

  template <class Run>
  void on_epoch_end(Run& run) {
    bool const first = columns.empty();
    if (first) {
      for (auto const& name : run.log_names()) columns.emplace_back(name);
      for (auto const& entry : run.logs()) columns.push_back(entry.name);
      std::sort(columns.begin(), columns.end());
      columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
    }
    run.on_chief([](auto const&, CSVLogger* logger, Logs const* logs, std::size_t epoch,
                    bool is_first) { logger->write(*logs, epoch, is_first); },
                 this, &run.logs(), run.epoch(), first);
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("columns", columns);
    archive("bytes", bytes);
  }

 private:
  static bool separates(std::string_view text) {
    static constexpr std::string_view allowed = " \t,;:|/\\!#$%&()*<=>?@[]^`{}~'_";
    return text.size() == 1 && allowed.find(text[0]) != std::string_view::npos;
  }

  void begin(std::vector<std::string> const& names) {
    if (!append) return;
    if (auto const found = header()) require_columns(*found, names);
    std::error_code error;
    std::uint64_t const size = std::filesystem::file_size(path, error);
    bytes = error ? 0 : size;
  }

  void write(Logs const& logs, std::size_t epoch, bool is_first) {
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

  /// Names after `epoch` in the file's first line; nothing if it has none.
  std::optional<std::vector<std::string>> header() const {
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

  void require_columns(std::vector<std::string> const& found, std::vector<std::string> const& names) const {
    for (auto const& name : names)
      if (std::find(found.begin(), found.end(), name) == found.end())
        throw FileError(path, formatted("cannot be appended to, since it has no column '{}'", name));
  }

  bool is_empty() const {
    std::error_code error;
    auto const status = std::filesystem::status(path, error);
    return !exists(status) || (is_regular_file(status) && std::filesystem::file_size(path, error) == 0);
  }

  bool ends_with_newline() const {
    std::ifstream in(path, std::ios::binary);
    in.seekg(static_cast<std::streamoff>(bytes) - 1);
    return in.get() == '\n';
  }

  /// The fields of a line, without the quotes of `quoted`.
  std::vector<std::string> fields(std::string_view line) const {
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

  std::string quoted(std::string const& name) const {
    if (name.find(separator) == std::string::npos && name.find_first_of("\"\n") == std::string::npos) return name;
    std::string text = "\"";
    for (char const c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
  }
};

}  // namespace trireme
