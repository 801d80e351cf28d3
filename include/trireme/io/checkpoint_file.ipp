/// Definitions of trireme/io/checkpoint_file.hpp.
#pragma once

#include "trireme/io/checkpoint_file.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/sealed_file.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/io/stored_tensor.hpp"
#include "trireme/io/weights_h5.hpp"

namespace trireme {

TRIREME_INLINE CheckpointFile::CheckpointFile(std::string path) : path_(std::move(path)) {
  require_format(path_, checkpoint_file_format);
  npz_ = std::string_view(path_).ends_with(".npz");
}

TRIREME_INLINE void CheckpointFile::write(std::span<NamedTensor const> weights, std::span<NamedGroup const> groups,
                                          StoredTensors const& tensors) const {
  std::vector<NamedTensor> all(weights.begin(), weights.end());
  std::string const contents = detail::table_of_contents(tensors);
  auto const size = static_cast<std::int64_t>(contents.size());
  for (auto const& [name, tensor] : tensors)
    all.push_back(detail::placed_tensor<void const>("run/" + name, tensor.type, tensor.extents, tensor.bytes.data()));
  all.push_back(
      detail::placed_tensor<void const>("run/contents", ElementType::uint8, {contents.size()}, contents.data()));
  all.push_back(detail::placed_tensor<void const>("run/contents_size", ElementType::int64, {}, &size));
  if (npz_) {
    write_npz(newest(), all, groups, true);
  } else {
#ifdef TRIREME_HAVE_HDF5
    write_weights_h5(newest(), all, groups, true);
#endif
  }
  move(path_, previous());
  move(newest(), path_);
}

TRIREME_INLINE std::string CheckpointFile::read(StoredTensors& tensors, std::string& report) const {
  bool damaged = false;
  for (std::string const& file : {newest(), path_, previous()}) {
    if (::access(file.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) continue;
    std::string const damage = damage_of(file);
    if (damage.empty()) {
      read_one(file, tensors);
      return file;
    }
    if (holds_run(file, npz_) == false)
      throw FileError(file, "holds weights or other data and no saved run; give the backup another path");
    damaged = true;
    report += (report.empty() ? "" : "; ") + damage;
    move(file, file + ".damaged");  // otherwise the next save would replace the good one by it
  }
  if (damaged) throw FileError(path_, formatted("holds no checkpoint that is undamaged: {}", report));
  return {};
}

TRIREME_INLINE void CheckpointFile::remove() const {
  for (std::string const& file : {previous(), path_, newest()}) ::unlink(file.c_str());
}

TRIREME_INLINE std::string CheckpointFile::folder() const {
  std::filesystem::path const file(path_);
  return file.has_parent_path() ? file.parent_path().string() : ".";
}

TRIREME_INLINE void CheckpointFile::make_folder() const {
  std::error_code ignored;
  std::filesystem::create_directories(folder(), ignored);
  if (::access(folder().c_str(), W_OK | X_OK) != 0)
    throw FileError(path_, formatted("cannot be written: {}", std::strerror(errno)));
}

TRIREME_INLINE void CheckpointFile::prepare() const {
  make_folder();
  std::error_code ignored;
  std::string const begin = std::filesystem::path(newest()).filename().string() + ".";
  std::vector<std::filesystem::path> unfinished;
  for (auto const& entry : std::filesystem::directory_iterator(folder(), ignored)) {
    std::string const name = entry.path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".tmp")) unfinished.push_back(entry.path());
  }
  for (auto const& path : unfinished) std::filesystem::remove(path, ignored);
}

TRIREME_INLINE void CheckpointFile::move(std::string const& from, std::string const& to) const {
  if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
    throw FileError(to, formatted("cannot be replaced: {}", std::strerror(errno)));
}

TRIREME_INLINE void CheckpointFile::read_weights(std::string const& file,
                                                 std::span<NamedDestination const> weights) const {
  io::within_memory(file, [&] { read_tensors(file, weights); });
}

TRIREME_INLINE void CheckpointFile::read_one(std::string const& file, StoredTensors& tensors) const {
  io::within_memory(file, [&] {
    std::error_code error;
    auto const available = static_cast<std::size_t>(std::filesystem::file_size(file, error));
    if (error) throw FileError(file, formatted("cannot be read: {}", error.message()));
    std::int64_t stated = 0;
    read_tensors(file, std::array{detail::placed_tensor<void>("run/contents_size", ElementType::int64, {}, &stated)});
    std::string contents(io::require_size(file, "run/contents_size", stated, available), '\0');
    read_tensors(file, std::array{detail::placed_tensor<void>("run/contents", ElementType::uint8, {contents.size()},
                                                              contents.data())});
    auto const all_have_room = [](std::string const&) { return true; };
    tensors = detail::tensors_of_contents(file, contents, available, all_have_room);
    std::vector<NamedDestination> all;
    for (auto& [name, tensor] : tensors)
      all.push_back(detail::placed_tensor<void>("run/" + name, tensor.type, tensor.extents, tensor.bytes.data()));
    read_tensors(file, all);
  });
}

TRIREME_INLINE void CheckpointFile::read_tensors(std::string const& file,
                                                 std::span<NamedDestination const> tensors) const {
  if (npz_) {
    read_npz(file, tensors);
  } else {
#ifdef TRIREME_HAVE_HDF5
    read_tensors_h5(file, tensors);
#endif
  }
}

TRIREME_INLINE void CheckpointFile::require_none(std::string const& path) {
  bool found = false;
  try {
    found = holds_run(path, path.ends_with(".npz")) == true;
  } catch (FileError const&) {  // no file, or one that cannot be read: writing tells what is wrong
  }
  if (found)
    throw FileError(path,
                    "holds a saved run, which a file of weights would replace; give the weights another path, or "
                    "remove the file");
}

// A checkpoint that has lost its seal has lost the end of the file too, without which neither format opens, or no more
// than the seal, and then it holds a run.
TRIREME_INLINE std::optional<bool> CheckpointFile::holds_run(std::string const& file, bool npz) {
  if (has_seal(file)) return true;
  try {
    if (npz) return npz_holds(file, "run/contents_size");
#ifdef TRIREME_HAVE_HDF5
    return weights_h5_holds(file, "run/contents_size");
#endif
  } catch (FileError const&) {
  }
  return std::nullopt;
}

}  // namespace trireme
