/// Definitions of trireme/callbacks/output_files.hpp.
#pragma once

#include "trireme/callbacks/output_files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "trireme/callbacks/callback.hpp"
#include "trireme/callbacks/path_template.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/file_format.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string const& first_path(OutputFile const& output) {
  return output.first.empty() ? output.path : output.first;
}

TRIREME_INLINE std::optional<std::size_t> epoch_without_validation(std::size_t epoch, std::size_t epochs,
                                                                   std::size_t frequency) {
  if (frequency == 1) return std::nullopt;
  if ((epoch + 1) % frequency == 0) ++epoch;
  return epoch < epochs ? std::optional(epoch) : std::nullopt;
}

TRIREME_INLINE std::filesystem::path folder_of(OutputFile const& output) {
  using std::filesystem::path;
  auto const parent = [](path const& of) { return of.has_parent_path() ? of.parent_path() : path("."); };
  path folder = output.kind == OutputFile::Kind::folder ? path(first_path(output)) : parent(first_path(output));
  if (!output.made_below) return folder;
  path const last = output.made_below->empty() ? path(".") : path(*output.made_below);
  std::error_code ignored;
  while (folder != last && parent(folder) != folder && !exists(symlink_status(folder, ignored)))
    folder = parent(folder);
  return folder;
}

TRIREME_INLINE std::vector<std::filesystem::path> along_links(std::filesystem::path path) {
  std::vector<std::filesystem::path> way{std::move(path)};
  std::error_code error;
  for (int links = 0; links < 40; ++links) {  // the system's limit
    auto const target = std::filesystem::read_symlink(way.back(), error);
    if (error) break;
    way.push_back(way.back().parent_path() / target);
  }
  return way;
}

TRIREME_INLINE std::string opened_fault(std::filesystem::path const& path, bool is_device) {
  int descriptor = -1;
  if (is_device) descriptor = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (is_device ? descriptor < 0 : ::access(path.c_str(), W_OK) != 0)
    return formatted("it cannot be opened: {}", std::strerror(errno));
  if (!is_device) return "";
  int const error = ::write(descriptor, "", 0) < 0 ? errno : 0;  // /dev/full refuses no bytes too
  ::close(descriptor);
  if (error != 0) return formatted("it cannot be written: {}", std::strerror(error));
  return "";
}

TRIREME_INLINE std::string disk_fault(OutputFile const& output) {
  std::error_code ignored;
  OutputFile tried = output;
  std::filesystem::path path = first_path(output);
  auto const found = std::filesystem::status(path, ignored);
  bool const is_folder = is_directory(found);
  if (output.kind != OutputFile::Kind::folder && is_folder) return "it is a folder";
  if (output.kind == OutputFile::Kind::appended) {
    if (exists(found)) return opened_fault(path, is_character_file(found));
    tried.first = (path = along_links(path).back()).string();  // opening makes the file there
    if (is_symlink(symlink_status(path, ignored))) return opened_fault(path, false);
  }
  std::filesystem::path const folder = folder_of(tried);
  auto const status = std::filesystem::status(folder, ignored);
  if (!exists(status)) return formatted("there is no folder {}", folder.string());
  if (!is_directory(status)) return formatted("{} is no folder", folder.string());
  std::string const beside = (folder / path.filename()).string();
  try {
    // A disk without room still takes an empty file.
    static constexpr std::array<char, 4096> block{};
    AtomicFile(beside).write(block.data(), block.size());
  } catch (FileError const& error) {
    return formatted("it {}", std::string_view(error.what()).substr(beside.size() + 2));
  }
  return "";
}

TRIREME_INLINE void refuse(OutputFile const& output, std::string_view why) {
  throw FileError(output.path, formatted("{} cannot write it, since {}", output.writer, why));
}

TRIREME_INLINE void require_names(std::vector<OutputFile> const& outputs) {
  for (OutputFile const& output : outputs) {
    std::string const fault = output.format ? output_name_fault(output.path, *output.format) : "";
    if (!fault.empty()) refuse(output, formatted("it {}", fault));
  }
}

TRIREME_INLINE std::filesystem::path in_canonical_folder(std::filesystem::path const& path) {
  std::error_code ignored;
  auto const folder = absolute(path, ignored).parent_path();
  auto const canonical = weakly_canonical(folder, ignored);
  return (canonical.empty() ? folder.lexically_normal() : canonical) / path.filename();
}

/// The numbers that the text has digits of, from `first` to `last`.
TRIREME_INLINE std::set<std::size_t> numbers_within(std::string_view text, std::size_t first, std::size_t last) {
  std::set<std::size_t> numbers;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::size_t number = 0;
    for (std::size_t j = i; j < text.size() && text[j] >= '0' && text[j] <= '9' && number <= last / 10; ++j) {
      number = 10 * number + static_cast<std::size_t>(text[j] - '0');
      if (number >= first && number <= last) numbers.insert(number);
    }
  }
  return numbers;
}

/// The path of an epoch and a batch; empty if it has other fields.
TRIREME_INLINE std::string path_at(OutputFile const& output, std::size_t epoch, std::size_t batch) {
  try {
    return fill_path(output.path, epoch, batch, {});
  } catch (ValueError const&) {
    return {};
  }
}

TRIREME_INLINE std::vector<std::string> sample_paths(OutputFile const& output, EpochsToTrain epochs) {
  if (output.first.empty() || output.first == output.path) return {output.path};
  std::vector<std::string> samples{output.first, path_at(output, epochs.last, 1)};
  for (std::size_t epoch = 10; epoch < epochs.last && epoch <= 1'000'000; epoch *= 10)
    if (epoch > epochs.first) samples.push_back(path_at(output, epoch, 1));
  std::erase(samples, "");
  return samples;
}

TRIREME_INLINE bool will_write(OutputFile const& output, std::filesystem::path const& file, EpochsToTrain epochs) {
  std::string const text = file.string();
  auto const fields = path_fields(output.path);
  auto const has = [&fields](char const* name) { return std::ranges::find(fields, name) != fields.end(); };
  std::set<std::size_t> const first{epochs.first}, none{0};
  for (std::size_t const epoch : has("epoch") ? numbers_within(text, epochs.first, epochs.last) : first)
    for (std::size_t const batch : has("batch") ? numbers_within(text, 1, 1'000'000'000) : none) {
      std::filesystem::path const path = path_at(output, epoch, batch);
      if (path.filename() == file.filename() && in_canonical_folder(path) == file) return true;
    }
  return false;
}

TRIREME_INLINE void require_apart(std::vector<OutputFile> const& outputs, EpochsToTrain epochs) {
  std::map<std::filesystem::path, OutputFile const*> writers;
  for (OutputFile const& output : outputs) {
    if (output.kind == OutputFile::Kind::folder) continue;
    std::set<std::filesystem::path> files{in_canonical_folder(output.path)};
    if (output.kind == OutputFile::Kind::appended) files.insert(in_canonical_folder(along_links(output.path).back()));
    for (auto const& file : files)
      if (auto const [writer, is_new] = writers.emplace(file, &output); !is_new)
        throw ValueError(formatted("{} and {} both write {}", writer->second->writer, output.writer, output.path));
  }
  for (OutputFile const& with_fields : outputs) {
    if (with_fields.first.empty() || with_fields.first == with_fields.path) continue;
    for (OutputFile const& other : outputs) {
      if (&other == &with_fields || other.kind == OutputFile::Kind::folder) continue;
      for (std::string const& path : sample_paths(other, epochs))
        if (will_write(with_fields, in_canonical_folder(path), epochs))
          throw ValueError(formatted("{} and {} both write {}, one of them by the path '{}'", with_fields.writer,
                                     other.writer, path, with_fields.path));
    }
  }
}

TRIREME_INLINE void require_disk(std::vector<OutputFile> const& outputs) {
  for (OutputFile const& output : outputs) {
    if (output.kind == OutputFile::Kind::reserved) continue;  // a lock ends where its process closes the file once
    if (std::string const fault = disk_fault(output); !fault.empty()) refuse(output, fault);
  }
}

}  // namespace trireme::detail
