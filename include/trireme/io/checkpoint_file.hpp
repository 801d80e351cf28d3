/// Checkpoints as files: whole or absent, and the one before is kept.
#pragma once

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/sealed_file.hpp"
#include "trireme/io/stated_extents.hpp"
#include "trireme/io/stored_tensor.hpp"
#include "trireme/io/weights_h5.hpp"

namespace trireme {

/// A checkpoint lies at `path`, and the one before it at `<path>.previous`.
///
/// A new one is written as `<path>.new`, which is there once it is complete and on the disk; only then the names move
/// on. So whenever the program or the machine stops, one of the three is the last that was complete, and there is
/// nothing between. All of a file is under a checksum.
class CheckpointFile {
 public:
  /// \throws FileError unless the name ends in .npz, or in .h5 and this program can write that.
  explicit CheckpointFile(std::string path) : path_(std::move(path)) {
    require_format(path_, checkpoint_file_format);
    npz_ = std::string_view(path_).ends_with(".npz");
  }

  /// `weights` at their own places, `tensors` below "run".
  void write(std::span<NamedTensor const> weights, std::span<NamedGroup const> groups,
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

  /// Reads the newest checkpoint that is undamaged; false if there is none at all. `report` tells of those that are
  /// damaged, which are renamed to `….damaged`. \throws FileError if all of them are, or if the newest that is not
  /// holds other tensors.
  bool read(std::span<NamedDestination const> weights, StoredTensors& tensors, std::string& report) const {
    bool any = false;
    for (std::string const& file : {newest(), path_, previous()}) {
      if (::access(file.c_str(), F_OK) != 0) continue;
      any = true;
      try {
        verify_seal(file);
      } catch (FileError const& error) {
        report += (report.empty() ? "" : "; ") + std::string(error.what());
        move(file, file + ".damaged");  // otherwise the next save would replace the good one by it
        continue;
      }
      read_one(file, weights, tensors);
      return true;
    }
    if (any) throw FileError(path_, formatted("holds no checkpoint that is undamaged: {}", report));
    return false;
  }

  /// Removes the checkpoints, the newest last.
  void remove() const {
    for (std::string const& file : {previous(), path_, newest()}) ::unlink(file.c_str());
  }

  /// Makes the folder, and removes what processes left that were killed while they wrote.
  /// \throws FileError if nothing can be written there
  void prepare() const {
    std::filesystem::path const file(newest());
    std::filesystem::path const folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
      throw FileError(path_, formatted("cannot be written: {}", std::strerror(errno)));
    std::string const begin = file.filename().string() + ".";
    std::vector<std::filesystem::path> unfinished;
    for (auto const& entry : std::filesystem::directory_iterator(folder, ignored)) {
      std::string const name = entry.path().filename().string();
      if (name.starts_with(begin) && name.ends_with(".tmp")) unfinished.push_back(entry.path());
    }
    for (auto const& path : unfinished) std::filesystem::remove(path, ignored);
  }

  std::string const& path() const { return path_; }
  std::string previous() const { return path_ + ".previous"; }

 private:
  std::string newest() const { return path_ + ".new"; }

  void move(std::string const& from, std::string const& to) const {
    if (std::rename(from.c_str(), to.c_str()) != 0 && errno != ENOENT)
      throw FileError(to, formatted("cannot be replaced: {}", std::strerror(errno)));
  }

  void read_one(std::string const& file, std::span<NamedDestination const> weights, StoredTensors& tensors) const {
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
      std::vector<NamedDestination> all(weights.begin(), weights.end());
      for (auto& [name, tensor] : tensors)
        all.push_back(detail::placed_tensor<void>("run/" + name, tensor.type, tensor.extents, tensor.bytes.data()));
      read_tensors(file, all);
    });
  }

  void read_tensors(std::string const& file, std::span<NamedDestination const> tensors) const {
    if (npz_) {
      read_npz(file, tensors);
    } else {
#ifdef TRIREME_HAVE_HDF5
      read_tensors_h5(file, tensors);
#endif
    }
  }

  std::string path_;
  bool npz_ = false;
};

}  // namespace trireme
