/// CSVLogger: writes the logs of each epoch as a line of a CSV file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/callbacks/claimed_file.hpp"
#include "trireme/callbacks/output_files.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/file_claim.hpp"
#include "trireme/io/growing_file.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Logs of each epoch as a line of a CSV file: the columns are `epoch` (from 0) and the names in alphabetical order; a
/// value that an epoch did not log is `NA`. Source: Keras `CSVLogger`.
///
/// Only the chief writes. It opens and closes the file for each line, so that no line is lost whatever ends the
/// program. Without `append` the first line replaces what is in the file, and a run that trains no epoch empties it.
/// Later lines are appended. A resumed run drops the lines that it wrote behind its checkpoint. Where others have
/// written behind them it drops nothing, and where lines are missing it appends, each with a warning. While `fit` runs
/// `<path>.lock` keeps other runs from a file of this path, except from what several may share, such as /dev/stdout and
/// pipes. Designated initializers name the members in this order.
/// \throws ValueError from `fit`, on all processes, if `path` is empty or the separator is not one character, or one
/// that is in numbers.
/// \throws FileError from `fit`, on all processes, if the file cannot be written, if another run has it or has taken it
/// over while this one showed no sign of life, or with `append` has other columns.
struct CSVLogger {
  using logs_alike = void;  ///< what it logs is the same on all processes

  std::string path{};
  std::string separator = ",";  ///< one character that is in no number: a blank, a tab, or `,` `;` `|` `:` and the like
  bool append = false;          ///< append to an existing file, under its header

  void config(Config& c) const {
    c("path", path);
    c("append", append);
  }

  // State.
  std::vector<std::string> columns{};  ///< without `epoch`; empty before the first line
  /// Of the file, up to the last line of this run, or to its end where the run began; a resumed run drops its own lines
  /// behind them.
  std::uint64_t bytes = 0;
  bool resumed = false;                            ///< behind a checkpoint
  bool begun = false;                              ///< this process has written a line; in no checkpoint
  std::weak_ptr<detail::FileClaim const> claim{};  // of the run

  template <class Run>
  std::vector<OutputFile> output_files(Run const&) const {
    if (path.empty()) throw ValueError("CSVLogger needs a .path");
    if (!separates(separator))
      throw ValueError(formatted(
          "CSVLogger: the separator '{}' is not one character that is in no number, such as ',', ';' or a tab",
          separator));
    std::vector<OutputFile> files{{.writer = "CSVLogger", .path = path, .kind = OutputFile::Kind::appended}};
    detail::list_lock(files, "CSVLogger", detail::log_to_claim(path));
    return files;
  }

  /// \throws FileError on all processes, if there is a file to append to that is not a log with this run's columns
  template <class Run>
  void on_train_begin(Run& run) {
    columns.clear();
    bytes = 0;
    resumed = begun = false;
    claim = detail::claim_file(run, detail::log_to_claim(path));
    bytes = run.on_chief([](auto const&, CSVLogger const* logger,
                            std::vector<std::string> const* names) { return logger->size_at_begin(*names); },
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
    std::string warning;
    bytes = run.on_chief(
        [](auto const&, CSVLogger* logger, Logs const* logs, std::size_t epoch, bool is_first, std::string* found) {
          logger->require_held();
          *found = logger->write(*logs, epoch, is_first);
          return logger->bytes;
        },
        this, &run.logs(), run.epoch(), first, &warning);
    if (first && append) {  // in the order of the file's header, as on the chief
      std::string const line =
          run.on_chief([](auto const&, CSVLogger const* logger) { return logger->line_of_columns(); }, this);
      columns = fields(line);
    }
    begun = true;
    if (!warning.empty()) run.warning(warning);
  }

  template <class Run>
  void on_train_end(Run& run) {
    if (append || resumed || begun) return;
    run.on_chief(
        [](auto const&, CSVLogger const* logger) {
          logger->require_held();
          GrowingFile(logger->path).cut(0);
        },
        this);
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("columns", columns);
    archive("bytes", bytes);
    archive.resumed("resumed", resumed);
  }

 private:
  static bool separates(std::string_view text);

  /// \throws FileError if another run has taken the file over
  void require_held() const {
    if (auto const held = claim.lock()) held->require_held();
  }

  /// Bytes of the file that is appended to; 0 if it will be replaced.
  std::uint64_t size_at_begin(std::vector<std::string> const& names) const;

  /// Writes a line, the run's first one where `is_first`. \return a warning, or nothing
  std::string write(Logs const& logs, std::size_t epoch, bool is_first);

  /// Drops what this process's first line, that of `epoch`, replaces. \return a warning if not all of the run's earlier
  /// lines, and nothing else, are in the file
  std::string cut(GrowingFile& file, std::size_t epoch, bool is_first) const;

  /// True if the run itself has written all that is behind `bytes`: lines of `epoch` and the epochs after it.
  bool wrote_the_rest(std::size_t epoch, bool is_first) const;

  /// Fields of the file's first line; none if that is empty.
  std::vector<std::string> first_line() const;

  /// Names after `epoch` in the file's first line; nothing if it has none.
  std::optional<std::vector<std::string>> header() const;

  void require_columns(std::vector<std::string> const& found, std::vector<std::string> const& names) const;

  bool is_empty() const;

  bool ends_with_newline() const;

  /// The columns behind `epoch` in a header.
  std::string line_of_columns() const;

  /// The fields of a line, without the quotes of `quoted`.
  std::vector<std::string> fields(std::string_view line) const;

  std::string quoted(std::string const& name) const;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/csv_logger.ipp"
#endif
