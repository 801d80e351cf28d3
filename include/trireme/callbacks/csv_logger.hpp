/// Writes the logs of each epoch as a line of a CSV file.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <unistd.h>

#include "trireme/callbacks/logs.hpp"
#include "trireme/error.hpp"
#include "trireme/text.hpp"

namespace trireme {

/// Keras's CSVLogger: the columns are `epoch` (from 0) and the names in the order of the alphabet; a value that an
/// epoch did not log is `NA`. Only the chief writes. The file is opened and closed for each line, so that what was
/// logged is there whatever ends the program.
struct CSVLogger {
  std::string path{};
  std::string separator = ",";
  bool append = false;  ///< go on in a file that is there, under its header

  // State.
  std::vector<std::string> columns{};  ///< without `epoch`; empty before the first line
  std::uint64_t bytes = 0;             ///< of the chief's file with the lines so far: a resumed run drops what follows

  template <class Run>
  void on_train_begin(Run& run) {
    columns.clear();
    bytes = 0;
    run.on_chief([](auto const&, CSVLogger* logger) { logger->open("ab"); }, this);  // fails now, not after an epoch
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
                    bool with_header) { logger->write(*logs, epoch, with_header); },
                 this, &run.logs(), run.epoch(), first);
  }

  template <class Archive>
  void state(Archive& archive) {
    archive("columns", columns);
    archive("bytes", bytes);
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  using File = std::unique_ptr<std::FILE, Close>;

  File open(char const* how) const {
    File file(std::fopen(path.c_str(), how));
    if (!file) throw FileError(path, formatted("cannot be opened for writing: {}", std::strerror(errno)));
    return file;
  }

  void write(Logs const& logs, std::size_t epoch, bool with_header) {
    std::string text;
    if (with_header && !(append && adopt_header())) {
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
    File file = open(with_header && !append ? "wb" : "ab");
    bool const longer = !with_header && std::fseek(file.get(), 0, SEEK_END) == 0 &&
                        static_cast<std::uint64_t>(std::ftell(file.get())) > bytes;
    bool const cut = !longer || ::ftruncate(fileno(file.get()), static_cast<off_t>(bytes)) == 0;
    bool const written = cut && std::fwrite(text.data(), 1, text.size(), file.get()) == text.size();
    bytes = static_cast<std::uint64_t>(std::ftell(file.get()));
    if (std::fclose(file.release()) != 0 || !written) {
      throw FileError(path, formatted("cannot be written: {}", std::strerror(errno)));
    }
  }

  /// Takes the columns of a file that has a header already; false if there is none.
  bool adopt_header() {
    std::ifstream in(path);
    std::string header;
    if (!std::getline(in, header) || header.empty()) return false;
    if (header.back() == '\r') header.pop_back();
    std::vector<std::string> found;
    std::size_t start = 0;
    while (true) {
      std::size_t const end = header.find(separator, start);
      found.push_back(header.substr(start, end - start));
      if (end == std::string::npos) break;
      start = end + separator.size();
    }
    if (found.front() != "epoch") throw FileError(path, "is not a log to append to: its first column is not 'epoch'");
    found.erase(found.begin());
    for (auto const& name : columns) {
      if (std::find(found.begin(), found.end(), quoted(name)) == found.end()) {
        throw FileError(path, formatted("cannot be appended to, since it has no column '{}'", name));
      }
    }
    columns = found;
    return true;
  }

  std::string quoted(std::string const& name) const {
    if (name.find(separator) == std::string::npos && name.find_first_of("\"\n") == std::string::npos) return name;
    std::string text = "\"";
    for (char const c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
    return text + '"';
  }
};

}  // namespace trireme
