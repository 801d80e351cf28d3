/// OutputFile: the files that callbacks will write, tried before training.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/callbacks/callback.hpp"
#include "trireme/callbacks/monitor.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/file_format.hpp"

namespace trireme {

/// File that a callback will write on the chief, or a folder that it will write to.
///
/// A callback lists them in `output_files(run)`, and `fit` tries them first of all, so that a missing folder or a
/// full disk is an error at the beginning and not after an epoch (for a log that exists, only its rights are tried):
///
///     template <class Run>
///     std::vector<tr::OutputFile> output_files(Run const&) const {
///       return {{.writer = "Samples", .path = path, .format = tr::FileFormat{"a table", {".csv", ".tsv"}}}};
///     }
struct OutputFile {
  enum class Kind {
    replaced,  ///< a file that is replaced atomically, by AtomicFile
    appended,  ///< a file that is opened by its name and grows
    folder,    ///< a folder for files of any names
    reserved   ///< a name that no other file of the run may have, which is not tried
  };

  std::string writer;                 ///< the callback's name, for the error
  std::string path;                   ///< as it was given, for the error
  std::string first{};                ///< the first of several files, where the path has fields
  std::vector<std::string> logged{};  ///< values in the path, which have to be logged when on_epoch_end is called
  /// Value without which nothing is written: it has to be logged when on_epoch_end is called, if not in each epoch.
  std::string monitor{};
  std::optional<FileFormat> format{};
  Kind kind = Kind::replaced;
  /// Folders below this one are made when the file is written; without it the file's folder has to exist.
  std::optional<std::string> made_below{};
};

/// Tries all files that the callbacks will write, and changes no existing one. Collective.
/// \throws FileError that names path, callback and reason, and ValueError if two callbacks write one file, or a value
/// in a path, or the monitored one, is not there when the file is written; both on all processes
template <class Run, class... Callbacks>
void try_outputs(std::tuple<Callbacks...> const& callbacks, Run& run);

namespace detail {

std::string const& first_path(OutputFile const& output);

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
std::filesystem::path folder_of(OutputFile const& output);

/// The path, and those to which links lead from it: opening the path for writing opens or makes the last one.
std::vector<std::filesystem::path> along_links(std::filesystem::path path);

/// The reason why a file that exists cannot be opened and written, or "". Of a regular file it does not tell whether
/// the disk has room.
std::string opened_fault(std::filesystem::path const& path, bool is_device);

/// Writes a file beside the output and removes it again. \return the reason if that or the output cannot be written, or
/// ""
std::string disk_fault(OutputFile const& output);

[[noreturn]] void refuse(OutputFile const& output, std::string_view why);

/// True if callbacks log the value before on_epoch_end of number I, false if only later ones do, in this hook; nothing
/// if none of them logs it.
template <std::size_t I, class... Callbacks>
std::optional<bool> logged_in_time(std::string_view name);

/// Refuses a file of callback number I that needs a value which is not logged before the callback's on_epoch_end: that
/// of a later callback with this hook, or, in the file's name, of a validation that does not follow each epoch.
template <std::size_t I, class Run, class... Callbacks>
void require_logged(OutputFile const& output, Run const& run);

/// The first epoch of a run that ends without validation.
std::optional<std::size_t> epoch_without_validation(std::size_t epoch, std::size_t epochs, std::size_t frequency);

/// Refuses names that no file of the format has.
void require_names(std::vector<OutputFile> const& outputs);

/// The path without links and dots in its folder, as far as the folder can be read: one text for all spellings. A link
/// in place of the file itself stays, since a file that is replaced takes its place.
std::filesystem::path in_canonical_folder(std::filesystem::path const& path);

/// Epochs of a run that will be trained, from 1.
struct EpochsToTrain {
  std::size_t first, last;
};

/// Files that the output will write, of those with its fields the first and the last ones.
std::vector<std::string> sample_paths(OutputFile const& output, EpochsToTrain epochs);

/// True if the output, whose path has no fields but `epoch` and `batch`, will write this file of a canonical folder.
bool will_write(OutputFile const& output, std::filesystem::path const& file, EpochsToTrain epochs);

/// Refuses two outputs that are one file, however their paths are spelled. Of values in a path nothing is known but
/// their text.
void require_apart(std::vector<OutputFile> const& outputs, EpochsToTrain epochs);

void require_disk(std::vector<OutputFile> const& outputs);

}  // namespace detail

template <std::size_t I, class... Callbacks>
std::optional<bool> detail::logged_in_time(std::string_view name) {
  bool early = false, any = false;
  [&]<std::size_t... J>(std::index_sequence<J...>) {
    early = (... || (adds_log<std::remove_cvref_t<Callbacks>>(name) &&
                     (J <= I || !declares_hook<hooks::EpochEnd, std::remove_cvref_t<Callbacks>>)));
    any = (... || adds_log<std::remove_cvref_t<Callbacks>>(name));
  }(std::index_sequence_for<Callbacks...>{});
  return any ? std::optional(early) : std::nullopt;
}

template <std::size_t I, class Run, class... Callbacks>
void detail::require_logged(OutputFile const& output, Run const& run) {
  auto const of_model = [&](std::string_view name) {
    auto const& names = run.metric_names();
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  for (std::string const& field : output.logged) {
    auto const in_time = logged_in_time<I, Callbacks...>(field);
    if (in_time == true || of_model(field)) continue;
    if (in_time == false)
      throw ValueError(
          formatted("{}: the path '{}' has the field '{}', which a later callback logs: give that one before it",
                    output.writer, output.path, field));
    if (!field.starts_with("val_") || !of_model(std::string_view(field).substr(4))) continue;
    if (auto const epoch = epoch_without_validation(run.epoch(), run.epochs(), run.validation_freq()))
      throw ValueError(formatted(
          "{}: the path '{}' has the field '{}', but with validation_freq = {} epoch {} ends without validation",
          output.writer, output.path, field, run.validation_freq(), *epoch + 1));
  }
  if (!of_model(output.monitor) && logged_in_time<I, Callbacks...>(output.monitor) == false)
    throw ValueError(formatted("{} monitors '{}', which a later callback logs: give that one before it", output.writer,
                               output.monitor));
}

template <class Run, class... Callbacks>
void try_outputs(std::tuple<Callbacks...> const& callbacks, Run& run) {
  if constexpr ((detail::lists_outputs<std::remove_cvref_t<Callbacks>, Run> || ...)) {
    std::vector<OutputFile> outputs;
    auto const list = [&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (detail::lists_outputs<std::remove_cvref_t<std::tuple_element_t<I, std::tuple<Callbacks...>>>,
                                          Run>) {
        for (OutputFile& output : std::get<I>(callbacks).output_files(run)) {
          detail::require_logged<I, Run, Callbacks...>(output, run);
          outputs.push_back(std::move(output));
        }
      }
    };
    try {
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (list(std::integral_constant<std::size_t, I>{}), ...);
      }(std::index_sequence_for<Callbacks...>{});
      detail::require_names(outputs);
    } catch (Error& error) {
      error.mark_uniform();  // options and names are the same on every process
      throw;
    }
    run.on_chief(
        [](auto const&, std::vector<OutputFile> const* all, detail::EpochsToTrain epochs) {
          detail::require_apart(*all, epochs);
          detail::require_disk(*all);
        },
        &outputs, detail::EpochsToTrain{run.epoch() + 1, run.epochs()});
  }
}

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/output_files.ipp"
#endif
