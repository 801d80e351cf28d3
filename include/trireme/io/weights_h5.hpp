/// Keras's `.weights.h5` files.
#pragma once

#ifdef TRIREME_HAVE_HDF5

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <hdf5.h>
#include <unistd.h>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/hdf5_data_set.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/sealed_file.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme {

/// Writes tensors and groups in the layout that Keras 3 reads. `groups` adds the names, and layers without variables.
/// `sealed`: with a checksum of the whole file behind it.
void write_weights_h5(std::string const& path, std::span<NamedTensor const> tensors,
                      std::span<NamedGroup const> groups = {}, bool sealed = false);

/// Reads each tensor from its place; element types are converted. Nothing is read unless every tensor is there with its
/// extents, and every group that is read has no variables beside them.
void read_weights_h5(std::string const& path, std::span<NamedDestination const> tensors);

/// Reads tensors from among others.
void read_tensors_h5(std::string const& path, std::span<NamedDestination const> tensors);

/// True if the file has a data set of this name.
bool weights_h5_holds(std::string const& path, std::string const& name);

/// The attribute of a group as text, "" if there is none.
std::string weights_h5_name(std::string const& path, std::string const& group, std::string const& attribute);

namespace detail {

/// Stops HDF5 from printing its errors, which become exceptions here.
class Hdf5Silence {
 public:
  Hdf5Silence();
  Hdf5Silence(Hdf5Silence const&) = delete;
  Hdf5Silence& operator=(Hdf5Silence const&) = delete;
  ~Hdf5Silence() { H5Eset_auto2(H5E_DEFAULT, function_, data_); }

 private:
  H5E_auto2_t function_ = nullptr;
  void* data_ = nullptr;
};

/// The gist of a description by HDF5: the system's own message if it quotes one, or the text without the details
/// (times, descriptors, addresses) that follow it, in one line.
std::string hdf5_gist(std::string_view description);

/// The gist of the current error of HDF5, from the place that noticed it first.
std::string hdf5_reason();

hid_t hdf5_type(ElementType type);

hid_t hdf5_file_type(ElementType type);

/// Builds the file in memory: HDF5 keeps a file open that it could not write, and the program would crash at its end.
class Hdf5Writer {
 public:
  /// \param bytes  of all tensors, about as much as will be written.
  Hdf5Writer(std::string const& path, std::size_t bytes);

  void group(NamedGroup const& group);

  void tensor(NamedTensor const& tensor);

  void commit(bool sealed);

 private:
  static hid_t in_memory(std::string const& name, std::size_t bytes);

  /// Closing writes what HDF5 has kept back, and what fails then is written by no later call.
  void close(Hdf5Handle& written, std::string const& what) const { require(written.close(), what); }

  void require(bool done, std::string const& what) const;

  AtomicFile target_;
  std::string path_;
  Hdf5Handle with_parents_;
  Hdf5Handle file_;
};

class Hdf5Reader {
 public:
  explicit Hdf5Reader(std::string const& path) : path_(path), file_(open(path)) {}

  /// Opens a data set of these extents.
  Hdf5DataSet find(NamedDestination const& tensor) const;

  void read(NamedDestination const& tensor) const;

  bool holds(std::string const& name) const { return hdf5_holds(file_, path_, name); }

  /// Adds the extents of the data sets below a group, and the attribute "name" of the groups there. Links other than
  /// hard ones are left out, and so is what lies deeper than layers nest.
  /// \throws FileError if there are more objects than any model has, as where a group contains itself
  void list(std::string const& group, std::map<std::string, std::vector<std::size_t>>& tensors,
            std::map<std::string, std::string>& names) const;

  std::size_t members(std::string const& group) const;

  /// The attribute of a group, "" where there is no group or attribute.
  std::string name(std::string const& group, std::string const& attribute) const;

 private:
  void list(std::string const& group, std::map<std::string, std::vector<std::size_t>>& tensors,
            std::map<std::string, std::string>& names, int depth, std::size_t& left) const;

  /// Reads values of bfloat16, which floating-point numbers hold exactly.
  static bool read_bfloat16(Hdf5DataSet const& data, NamedDestination const& tensor);

  static Hdf5Handle open(std::string const& path);

  std::string path_;
  Hdf5Handle file_;
};

}  // namespace detail

}  // namespace trireme

#endif  // TRIREME_HAVE_HDF5

#ifndef TRIREME_COMPILED
#include "trireme/io/weights_h5.ipp"
#endif
