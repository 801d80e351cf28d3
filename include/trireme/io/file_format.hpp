/// Formats of the files that are written, known by the endings of their names.
#pragma once

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
std::string names_like(std::string_view stem, FileFormat const& format);

}  // namespace detail

/// Reason why a file of this name is not of the format, or not of one that this program knows; "" if it is.
std::string name_fault(std::string_view path, FileFormat const& format);

/// The same with names that can be written instead: "…; use model.weights.h5 or model.npz".
std::string output_name_fault(std::string_view path, FileFormat const& format);

/// Checks the ending of a file's name against the formats that can be written.
///
/// \throws FileError unless this program reads and writes files of this name in the format
void require_format(std::string const& path, FileFormat const& format);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/file_format.ipp"
#endif
