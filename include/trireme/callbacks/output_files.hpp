/// OutputFile: the files that callbacks will write, tried before training.
#pragma once

#include <algorithm>
#include <cerrno>
#include <concepts>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <unistd.h>

#include "trireme/callbacks/callback.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/file_format.hpp"

namespace trireme {

/// A file that a callback will write on the chief, or a folder that it will write to.
///
/// A callback lists them in `output_files(run)`, and `fit` tries them first of all, so that a missing folder is an
/// error at the beginning and not after an epoch:
///
///     template <class Run>
///     std::vector<tr::OutputFile> output_files(Run const&) const {
///       return {{.writer = "Samples", .path = path, .format = tr::FileFormat{"a table", {".csv"}}}};
///     }
struct OutputFile {
  enum class Kind {
    replaced,  ///< a file that is replaced atomically, by AtomicFile
    appended,  ///< a file that is opened by its name and grows
    folder     ///< a folder for files of any names
  };

  std::string writer;   ///< the callback's name, for the error
  std::string path;     ///< as it was given, for the error
  std::string first{};  ///< the first of several files, where the path has fields
  std::optional<FileFormat> format{};
  Kind kind = Kind::replaced;
  /// Folders below this one are made when the file is written; without it the file's folder has to exist.
  std::optional<std::string> made_below{};
};

/// Tries all files that the callbacks will write, and changes no existing one. Collective.
/// \throws FileError that names path, callback and reason, and ValueError if two callbacks write one file; both on all
/// processes
template <class Run, class... Callbacks>
void try_outputs(std::tuple<Callbacks...> const& callbacks, Run& run);

namespace detail {

inline std::string const& first_path(OutputFile const& output) {
  return output.first.empty() ? output.path : output.first;
}

/// Tag for detecting a member `output_files` of any signature.
struct OutputFilesName {
  struct Named {
    int output_files;
  };
  template <class Class>
  using Member = decltype(&Class::output_files);
};

template <class Callback, class Run>
concept ListsOutputs = requires(Callback const& callback, Run const& run) {
  { callback.output_files(run) } -> std::same_as<std::vector<OutputFile>>;
};

/// True if the callback lists outputs; a list of another signature does not compile.
template <class Callback, class Run>
inline constexpr bool lists_outputs = [] {
  static_assert(ListsOutputs<Callback, Run> || !declares_hook<OutputFilesName, Callback>,
                "trireme: output_files of a callback must be const, be callable with (Run const&) and return "
                "std::vector<trireme::OutputFile>");
  return ListsOutputs<Callback, Run>;
}();

/// The nearest folder of the output that has to exist.
inline std::filesystem::path folder_of(OutputFile const& output) {
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

/// Makes a file beside the output and removes it again. \return the reason if that or the output cannot be written, or
/// ""
inline std::string disk_fault(OutputFile const& output) {
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

[[noreturn]] inline void refuse(OutputFile const& output, std::string_view why) {
  throw FileError(output.path, formatted("{} cannot write it, since {}", output.writer, why));
}

inline void require_names(std::vector<OutputFile> const& outputs) {
  for (auto one = outputs.begin(); one != outputs.end(); ++one) {
    std::string const fault = one->format ? output_name_fault(one->path, *one->format) : "";
    if (!fault.empty()) refuse(*one, formatted("it {}", fault));
    if (one->kind == OutputFile::Kind::folder) continue;
    auto const same =
        std::find_if(outputs.begin(), one, [&](OutputFile const& other) { return other.path == one->path; });
    if (same != one) throw ValueError(formatted("{} and {} both write {}", same->writer, one->writer, one->path));
  }
}

inline void require_disk(std::vector<OutputFile> const& outputs) {
  for (OutputFile const& output : outputs)
    if (std::string const fault = disk_fault(output); !fault.empty()) refuse(output, fault);
}

}  // namespace detail

template <class Run, class... Callbacks>
void try_outputs(std::tuple<Callbacks...> const& callbacks, Run& run) {
  if constexpr ((detail::lists_outputs<std::remove_cvref_t<Callbacks>, Run> || ...)) {
    std::vector<OutputFile> outputs;
    auto const list = [&]<class Callback>(Callback const& callback) {
      if constexpr (detail::lists_outputs<Callback, Run>)
        for (OutputFile& output : callback.output_files(run)) outputs.push_back(std::move(output));
    };
    try {
      std::apply([&](auto const&... all) { (list(all), ...); }, callbacks);
      detail::require_names(outputs);
    } catch (Error& error) {
      error.mark_uniform();  // options and names are the same on every process
      throw;
    }
    run.on_chief([](auto const&, std::vector<OutputFile> const* all) { detail::require_disk(*all); }, &outputs);
  }
}

}  // namespace trireme
