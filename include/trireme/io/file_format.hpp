/// Formats of the files that are written, known by the endings of their names.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme {

/// The contents of a file, and the endings that its name may have.
struct FileFormat {
  std::string_view content;                   ///< such as "a file of weights"
  std::array<std::string_view, 4> endings{};  ///< such as {".weights.h5", ".npz"}
};

/// The endings of the files that the library writes: of weights, and of checkpoints.
inline constexpr FileFormat weights_file_format{"a file of weights", {".weights.h5", ".npz"}};
inline constexpr FileFormat checkpoint_file_format{"a checkpoint", {".h5", ".npz"}};

namespace detail {

#ifdef TRIREME_HAVE_HDF5
inline constexpr bool have_hdf5 = true;
#else
inline constexpr bool have_hdf5 = false;
#endif

/// Endings of files that other libraries write, which a suggested name leaves out; the longer before the shorter.
inline constexpr std::array<std::string_view, 11> known_endings{
    ".weights.h5", ".keras", ".hdf5", ".h5", ".npz", ".npy", ".ckpt", ".safetensors", ".pth", ".pt", ".tf"};

inline bool is_hdf5_ending(std::string_view ending) { return ending.ends_with(".h5"); }

/// "a.weights.h5 or a.npz": those of the format's names that this program can write.
inline std::string names_like(std::string_view stem, FileFormat const& format) {
  std::string names;
  for (std::string_view const ending : format.endings)
    if (!ending.empty() && (have_hdf5 || !is_hdf5_ending(ending)))
      names += formatted("{}{}{}", names.empty() ? "" : " or ", stem, ending);
  return names;
}

}  // namespace detail

/// Reason why a file of this name is not of the format, or not of one that this program knows; "" if it is.
inline std::string name_fault(std::string_view path, FileFormat const& format) {
  for (std::string_view const ending : format.endings) {
    if (ending.empty() || !path.ends_with(ending)) continue;
    if (detail::have_hdf5 || !detail::is_hdf5_ending(ending)) return "";
    return "is an HDF5 file, and this program was built without HDF5";
  }
  return formatted("is no name of {}, which ends in {}", format.content, detail::names_like("", format));
}

/// The same with names that can be written instead: "…; use model.weights.h5 or model.npz".
inline std::string output_name_fault(std::string_view path, FileFormat const& format) {
  std::string const fault = name_fault(path, format);
  if (fault.empty()) return fault;
  std::string_view stem = path;
  auto const foreign = std::find_if(detail::known_endings.begin(), detail::known_endings.end(),
                                    [&](std::string_view ending) { return stem.ends_with(ending); });
  if (foreign != detail::known_endings.end()) stem.remove_suffix(foreign->size());
  bool const has_name = !stem.empty() && !stem.ends_with('/');
  return formatted("{}; use {}", fault, detail::names_like(formatted("{}{}", stem, has_name ? "" : "model"), format));
}

/// Checks the ending of a file's name against the formats that can be written.
///
/// \throws FileError unless this program reads and writes files of this name in the format
inline void require_format(std::string const& path, FileFormat const& format) {
  std::string const fault = name_fault(path, format);
  if (!fault.empty()) throw FileError(path, fault);
}

}  // namespace trireme
