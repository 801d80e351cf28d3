/// Checkpoints as files: whole or absent, and the one before is kept.
#pragma once

#include <optional>
#include <span>
#include <string>

#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/file_format.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/sealed_file.hpp"
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
  static constexpr char const* newest_ending = ".new";         ///< behind the path: of a file that is being written
  static constexpr char const* previous_ending = ".previous";  ///< behind the path: of the file before

  /// \throws FileError unless the name ends in .npz, or in .h5 and this program can write that.
  explicit CheckpointFile(std::string path);

  /// `weights` at their own places, `tensors` below "run".
  void write(std::span<NamedTensor const> weights, std::span<NamedGroup const> groups,
             StoredTensors const& tensors) const;

  /// Reads the tensors below "run" of the newest checkpoint that is undamaged. `report` tells of those that are
  /// damaged, which are renamed to `….damaged`. \return the file that was read; empty if there is none at all
  /// \throws FileError if all of them are damaged; and, with all files left as they are, if the system does not read
  /// one, or if one is a whole file of weights
  std::string read(StoredTensors& tensors, std::string& report) const;

  /// Reads the weights of a checkpoint that `read` has found. \throws FileError if it holds other weights
  void read_weights(std::string const& file, std::span<NamedDestination const> weights) const;

  /// Removes the checkpoints, the newest last.
  void remove() const;

  /// Makes the folder. \throws FileError if nothing can be written there
  void make_folder() const;

  /// Makes the folder, and removes what processes left that were killed while they wrote: no other process may write
  /// the checkpoint. \throws FileError if nothing can be written there
  void prepare() const;

  /// Checks a path that a file of weights will replace. \throws FileError if it has a checkpoint
  static void require_none(std::string const& path);

  /// Path of the newest checkpoint that is complete.
  std::string const& path() const { return path_; }
  /// Path of the checkpoint before it.
  std::string previous() const { return path_ + previous_ending; }

 private:
  /// The folder of the files.
  std::string folder() const;

  std::string newest() const { return path_ + newest_ending; }

  void move(std::string const& from, std::string const& to) const;

  void read_one(std::string const& file, StoredTensors& tensors) const;

  void read_tensors(std::string const& file, std::span<NamedDestination const> tensors) const;

  /// True if the file holds a run, as its format tells; no value if the file is not whole.
  static std::optional<bool> holds_run(std::string const& file, bool npz);

  std::string path_;
  bool npz_ = false;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/io/checkpoint_file.ipp"
#endif
