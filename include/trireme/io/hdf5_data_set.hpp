/// Data sets of an HDF5 file, opened only if all that they say lies in the file itself.
#pragma once

#ifdef TRIREME_HAVE_HDF5

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <hdf5.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

/// An object of HDF5, closed at the end.
class Hdf5Handle {
 public:
  Hdf5Handle(hid_t id, herr_t (*closing)(hid_t)) : id_(id), close_(closing) {}
  Hdf5Handle(Hdf5Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Hdf5Handle& operator=(Hdf5Handle&&) = delete;
  ~Hdf5Handle();
  operator hid_t() const { return id_; }
  bool valid() const { return id_ >= 0; }
  bool close() { return close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// True if an object lies under this name, such as "layers/dense/vars/0". Each part of the name has to be a hard link,
/// as Keras and this library write: soft links may run in circles, and external ones lead into other files.
/// \throws FileError at a link of another kind
bool hdf5_holds(hid_t file, std::string const& path, std::string const& name);

/// An attribute of an object that is a text of variable length, as Keras writes; "" where there is none.
std::string hdf5_text(hid_t object, std::string const& attribute);

/// A data set whose values may be read: of a known layout, filters and type, and extents that are no surprise.
class Hdf5DataSet {
 public:
  /// \throws FileError if there is none of this name, or if reading it could do more than copy numbers of the file
  Hdf5DataSet(hid_t file, std::string path, std::string name);

  operator hid_t() const { return data_; }
  std::vector<std::size_t> const& extents() const { return extents_; }
  /// True if the values are bfloat16, which Keras stores as 2 bytes without a type, and names in an attribute.
  bool is_bfloat16() const { return is_bfloat16_; }

  /// \throws FileError if the pieces in which values are stored are far larger than `bytes`, which they all are.
  void require_pieces_within(std::size_t bytes) const;

  /// \throws FileError if a piece has another size than its layout states, which HDF5 does not verify before it reads.
  void require_whole_pieces() const;

 private:
  /// Opens without a cache of pieces: each is read once, and those without filters to where their values go.
  hid_t opened(hid_t file) const;

  /// Values of external storage and of virtual data sets come from files that the file names.
  void require_layout(std::size_t element);

  /// The bytes of a number.
  std::size_t require_numbers();

  [[noreturn]] void fail(std::string_view what) const;

  std::string path_;
  std::string name_;
  Hdf5Handle data_;
  std::vector<std::size_t> extents_;
  std::size_t piece_ = 0;  ///< bytes of a chunk, if there are any
  bool is_bfloat16_ = false;
};

/// A list of properties with which values are converted only to types that hold them; a number is rounded to a
/// floating-point type.
Hdf5Handle hdf5_exact_conversion();

}  // namespace trireme::detail

#endif  // TRIREME_HAVE_HDF5

#ifndef TRIREME_COMPILED
#include "trireme/io/hdf5_data_set.ipp"
#endif
