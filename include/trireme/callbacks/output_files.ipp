/// Definitions of trireme/callbacks/output_files.hpp.
#pragma once

#include "trireme/callbacks/output_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

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

TRIREME_INLINE std::string disk_fault(OutputFile const& output) {
  std::error_code ignored;
  std::filesystem::path const path = first_path(output);
  auto const found = std::filesystem::status(path, ignored);
  bool const is_folder = is_directory(found);
  if (output.kind != OutputFile::Kind::folder && is_folder) return "it is a folder";
  if (output.kind == OutputFile::Kind::appended && exists(found))
    return ::access(path.c_str(), W_OK) == 0 ? "" : formatted("it cannot be opened: {}", std::strerror(errno));
  std::filesystem::path const folder = folder_of(output);
  auto const status = std::filesystem::status(folder, ignored);
  if (!exists(status)) return formatted("there is no folder {}", folder.string());
  if (!is_directory(status)) return formatted("{} is no folder", folder.string());
  std::string const beside = (folder / path.filename()).string();
  try {
    AtomicFile{beside};
  } catch (FileError const& error) {
    return formatted("it {}", std::string_view(error.what()).substr(beside.size() + 2));
  }
  return "";
}

TRIREME_INLINE void refuse(OutputFile const& output, std::string_view why) {
  throw FileError(output.path, formatted("{} cannot write it, since {}", output.writer, why));
}

TRIREME_INLINE void require_names(std::vector<OutputFile> const& outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    std::string const fault = one->format ? output_name_fault(one->path, *one->format) : "";
    if (!fault.empty()) refuse(*one, formatted("it {}", fault));
    if (one->kind == OutputFile::Kind::folder) continue;
    auto const normal = [](OutputFile const& output) { return std::filesystem::path(output.path).lexically_normal(); };
    auto const same =
        std::find_if(outputs.begin(), one, [&](OutputFile const& other) { return normal(other) == normal(*one); });
    if (same != one) throw ValueError(formatted("{} and {} both write {}", same->writer, one->writer, one->path));
  }
}

TRIREME_INLINE void require_disk(std::vector<OutputFile> const& outputs) {
  for (OutputFile const& output : outputs)
    if (std::string const fault = disk_fault(output); !fault.empty()) refuse(output, fault);
}

}  // namespace trireme::detail
