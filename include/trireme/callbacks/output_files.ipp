/// Definitions of trireme/callbacks/output_files.hpp.
#pragma once

#include "trireme/callbacks/output_files.hpp"

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
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "trireme/callbacks/callback.hpp"
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

TRIREME_INLINE std::filesystem::path end_of_links(std::filesystem::path path) {
  std::error_code error;
  for (int links = 0; links < 40; ++links) {  // the system's limit
    auto const target = std::filesystem::read_symlink(path, error);
    if (error) break;
    path = path.parent_path() / target;
  }
  return path;
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
    tried.first = (path = end_of_links(path)).string();  // opening makes the file there
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

TRIREME_INLINE void require_apart(std::vector<OutputFile> const& outputs) {
  std::map<std::filesystem::path, OutputFile const*> writers;
  for (OutputFile const& output : outputs) {
    if (output.kind == OutputFile::Kind::folder) continue;
    std::set<std::filesystem::path> files{in_canonical_folder(output.path)};
    if (output.kind == OutputFile::Kind::appended) files.insert(in_canonical_folder(end_of_links(output.path)));
    for (auto const& file : files)
      if (auto const [writer, is_new] = writers.emplace(file, &output); !is_new)
        throw ValueError(formatted("{} and {} both write {}", writer->second->writer, output.writer, output.path));
  }
}

TRIREME_INLINE void require_disk(std::vector<OutputFile> const& outputs) {
  for (OutputFile const& output : outputs)
    if (std::string const fault = disk_fault(output); !fault.empty()) refuse(output, fault);
}

}  // namespace trireme::detail
