/// Definitions of trireme/io/weights_h5.hpp.
#pragma once

#include "trireme/io/weights_h5.hpp"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <unistd.h>

#ifdef TRIREME_HAVE_HDF5
#include <hdf5.h>
#endif

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/hdf5_data_set.hpp"
#include "trireme/io/named_tensor.hpp"
#include "trireme/io/sealed_file.hpp"
#include "trireme/tensor/extents.hpp"

#ifdef TRIREME_HAVE_HDF5
namespace trireme::detail {

TRIREME_INLINE Hdf5Silence::Hdf5Silence() {
  H5Eget_auto2(H5E_DEFAULT, &function_, &data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

TRIREME_INLINE std::string hdf5_gist(std::string_view description) {
  constexpr std::string_view quote = "error message = '";
  if (std::size_t const at = description.find(quote); at != std::string_view::npos) {
    description.remove_prefix(at + quote.size());
    return std::string(description.substr(0, description.find('\'')));
  }
  for (std::string_view const detail : {"\n", ": time =", ", file descriptor =", ", buf =", " 0x"})
    description = description.substr(0, description.find(detail));
  return std::string(description);
}

TRIREME_INLINE std::string hdf5_reason() {
  std::string text;
  auto const first = [](unsigned, H5E_error2_t const* error, void* out) -> herr_t {
    auto& reason = *static_cast<std::string*>(out);
    if (reason.empty() && error->desc != nullptr) reason = hdf5_gist(error->desc);
    return 0;
  };
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, first, &text);
  return text.empty() ? "HDF5 gives no reason" : text;
}

TRIREME_INLINE hid_t hdf5_type(ElementType type) {
  if (type == ElementType::uint8) return H5T_NATIVE_UINT8;
  if (type == ElementType::float32) return H5T_NATIVE_FLOAT;
  return type == ElementType::float64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64;
}

TRIREME_INLINE hid_t hdf5_file_type(ElementType type) {
  if (type == ElementType::uint8) return H5T_STD_U8LE;
  if (type == ElementType::float32) return H5T_IEEE_F32LE;
  return type == ElementType::float64 ? H5T_IEEE_F64LE : H5T_STD_I64LE;
}

TRIREME_INLINE Hdf5Writer::Hdf5Writer(std::string const& path, std::size_t bytes)
    : target_(path),
      path_(path),
      with_parents_(H5Pcreate(H5P_LINK_CREATE), H5Pclose),
      file_(in_memory(target_.temporary(), bytes), H5Fclose) {
  require(file_.valid(), "the file");
  H5Pset_create_intermediate_group(with_parents_, 1);
}

TRIREME_INLINE void Hdf5Writer::group(NamedGroup const& group) {
  std::string const name = joined(group.path, "/");
  Hdf5Handle made(H5Gcreate2(file_, name.c_str(), with_parents_, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  require(made.valid(), name);
  Hdf5Handle const text(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(text, H5T_VARIABLE);
  H5Tset_cset(text, H5T_CSET_UTF8);
  Hdf5Handle const scalar(H5Screate(H5S_SCALAR), H5Sclose);
  Hdf5Handle attribute(H5Acreate2(made, group.attribute.c_str(), text, scalar, H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  char const* const value = group.name.c_str();
  require(attribute.valid() && H5Awrite(attribute, text, &value) >= 0, name);
  close(attribute, name);
  close(made, name);
}

TRIREME_INLINE void Hdf5Writer::tensor(NamedTensor const& tensor) {
  std::string const name = tensor.name();
  std::vector<hsize_t> const extents(tensor.extents.begin(), tensor.extents.end());
  int const rank = static_cast<int>(extents.size());
  Hdf5Handle const space(rank == 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(rank, extents.data(), nullptr), H5Sclose);
  hid_t const type = hdf5_file_type(tensor.type);
  Hdf5Handle const creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(creation, false);  // so that equal weights are equal files
  Hdf5Handle data(H5Dcreate2(file_, name.c_str(), type, space, with_parents_, creation, H5P_DEFAULT), H5Dclose);
  require(data.valid(), name);
  if (tensor.size() > 0)
    require(H5Dwrite(data, hdf5_type(tensor.type), H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.data) >= 0, name);
  close(data, name);
}

TRIREME_INLINE void Hdf5Writer::commit(bool sealed) {
  require(H5Fflush(file_, H5F_SCOPE_LOCAL) >= 0, "the file");
  ssize_t const size = H5Fget_file_image(file_, nullptr, 0);
  void* memory = nullptr;  // of the driver: a pointer to where the file begins
  require(size > 0 && H5Fget_vfd_handle(file_, H5P_DEFAULT, &memory) >= 0 && memory, "the file");
  target_.write(*static_cast<char const* const*>(memory), static_cast<std::size_t>(size));
  require(file_.close(), "the file");
  if (sealed) write_seal(target_);
  target_.commit();
}

TRIREME_INLINE hid_t Hdf5Writer::in_memory(std::string const& name, std::size_t bytes) {
  Hdf5Handle const access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  std::size_t const step = std::clamp<std::size_t>(bytes / 8, std::size_t{1} << 16, std::size_t{1} << 26);
  H5Pset_fapl_core(access, step, false);
  // The oldest format that holds the objects, which every HDF5 reads. Groups of the one that HDF5 2 chooses by itself
  // have times, with which equal weights are no equal files.
  H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST);
  return H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
}

TRIREME_INLINE void Hdf5Writer::require(bool done, std::string const& what) const {
  if (!done) throw FileError(path_, formatted("{} cannot be written: {}", what, hdf5_reason()));
}

TRIREME_INLINE Hdf5DataSet Hdf5Reader::find(NamedDestination const& tensor) const {
  std::string const name = tensor.name();
  Hdf5DataSet data(file_, path_, name);
  if (data.extents() != tensor.extents) {
    throw FileError(path_, formatted("'{}' has shape {}, but the model's is {}", name, format_extents(data.extents()),
                                     format_extents(tensor.extents)));
  }
  data.require_pieces_within(tensor.bytes());
  return data;
}

TRIREME_INLINE void Hdf5Reader::read(NamedDestination const& tensor) const {
  Hdf5DataSet const data = find(tensor);
  if (tensor.size() == 0) return;
  data.require_whole_pieces();
  Hdf5Handle const conversion = hdf5_exact_conversion();
  bool const done = data.is_bfloat16()
                        ? read_bfloat16(data, tensor)
                        : H5Dread(data, hdf5_type(tensor.type), H5S_ALL, H5S_ALL, conversion, tensor.data) >= 0;
  if (!done) {
    throw FileError(path_, formatted("'{}' cannot be read: {}", tensor.name(), hdf5_reason()));
  }
}

TRIREME_INLINE void Hdf5Reader::list(std::string const& group, std::map<std::string, std::vector<std::size_t>>& tensors,
                                     std::map<std::string, std::string>& names) const {
  std::size_t left = std::size_t{1} << 15;
  if (holds(group)) list(group, tensors, names, 64, left);
}

TRIREME_INLINE std::size_t Hdf5Reader::members(std::string const& group) const {
  H5G_info_t info{};
  if (!holds(group) || H5Gget_info_by_name(file_, group.c_str(), &info, H5P_DEFAULT) < 0) {
    throw FileError(path_, formatted("holds no group '{}'", group));
  }
  return static_cast<std::size_t>(info.nlinks);
}

TRIREME_INLINE void Hdf5Reader::list(std::string const& group, std::map<std::string, std::vector<std::size_t>>& tensors,
                                     std::map<std::string, std::string>& names, int depth, std::size_t& left) const {
  Hdf5Handle const opened(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose);
  if (!opened.valid() || depth == 0) return;
  if (std::string name = hdf5_text(opened, "name"); !name.empty()) names[group] = std::move(name);
  H5G_info_t info{};
  if (H5Gget_info(opened, &info) < 0) return;
  for (hsize_t i = 0; i < info.nlinks; ++i) {
    if (left-- == 0) throw FileError(path_, formatted("'{}' has more objects than any model", printable(group)));
    H5L_info_t link{};
    if (H5Lget_info_by_idx(opened, ".", H5_INDEX_NAME, H5_ITER_INC, i, &link, H5P_DEFAULT) < 0) continue;
    if (link.type != H5L_TYPE_HARD) continue;
    ssize_t const size = H5Lget_name_by_idx(opened, ".", H5_INDEX_NAME, H5_ITER_INC, i, nullptr, 0, H5P_DEFAULT);
    if (size <= 0) continue;
    std::string own(static_cast<std::size_t>(size), '\0');
    H5Lget_name_by_idx(opened, ".", H5_INDEX_NAME, H5_ITER_INC, i, own.data(), own.size() + 1, H5P_DEFAULT);
    std::string const path = formatted("{}/{}", group, own);
    if (Hdf5Handle(H5Dopen2(opened, own.c_str(), H5P_DEFAULT), H5Dclose).valid()) {
      if (group.ends_with("/vars")) tensors[path] = Hdf5DataSet(file_, path_, path).extents();
    } else
      list(path, tensors, names, depth - 1, left);
  }
}

TRIREME_INLINE std::string Hdf5Reader::name(std::string const& group, std::string const& attribute) const {
  if (!holds(group)) return {};
  Hdf5Handle const opened(H5Gopen2(file_, group.c_str(), H5P_DEFAULT), H5Gclose);
  return opened.valid() ? hdf5_text(opened, attribute) : "";
}

TRIREME_INLINE bool Hdf5Reader::read_bfloat16(Hdf5DataSet const& data, NamedDestination const& tensor) {
  if (tensor.type != ElementType::float32 && tensor.type != ElementType::float64) return false;
  std::vector<std::uint16_t> stored(tensor.size());
  Hdf5Handle const type(H5Dget_type(data), H5Tclose);
  if (H5Dread(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, stored.data()) < 0) return false;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    float const value = std::bit_cast<float>(static_cast<std::uint32_t>(stored[i]) << 16);  // its upper half
    if (tensor.type == ElementType::float32)
      static_cast<float*>(tensor.data)[i] = value;
    else
      static_cast<double*>(tensor.data)[i] = static_cast<double>(value);
  }
  return true;
}

TRIREME_INLINE Hdf5Handle Hdf5Reader::open(std::string const& path) {
  if (::access(path.c_str(), R_OK) != 0) {
    throw FileError(path, formatted("cannot be opened: {}", std::strerror(errno)));
  }
  Hdf5Handle file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  if (!file.valid()) throw FileError(path, formatted("is no HDF5 file, or a part of one: {}", hdf5_reason()));
  return file;
}

}  // namespace trireme::detail

#endif  // TRIREME_HAVE_HDF5

#ifdef TRIREME_HAVE_HDF5
namespace trireme {

TRIREME_INLINE void write_weights_h5(std::string const& path, std::span<NamedTensor const> tensors,
                                     std::span<NamedGroup const> groups, bool sealed) {
  detail::Hdf5Silence const silence;
  std::size_t bytes = 0;
  for (auto const& tensor : tensors) bytes += tensor.bytes();
  detail::Hdf5Writer writer(path, bytes);
  for (auto const& group : groups) writer.group(group);
  for (auto const& tensor : tensors) writer.tensor(tensor);
  writer.commit(sealed);
}

TRIREME_INLINE bool weights_h5_holds(std::string const& path, std::string const& name) {
  detail::Hdf5Silence const silence;
  return detail::Hdf5Reader(path).holds(name);
}

TRIREME_INLINE std::string weights_h5_name(std::string const& path, std::string const& group,
                                           std::string const& attribute) {
  detail::Hdf5Silence const silence;
  return detail::Hdf5Reader(path).name(group, attribute);
}

TRIREME_INLINE void read_tensors_h5(std::string const& path, std::span<NamedDestination const> tensors) {
  detail::Hdf5Silence const silence;
  detail::Hdf5Reader const reader(path);
  for (auto const& tensor : tensors) reader.read(tensor);
}

TRIREME_INLINE void read_weights_h5(std::string const& path, std::span<NamedDestination const> tensors) {
  detail::Hdf5Silence const silence;
  detail::Hdf5Reader const reader(path);
  std::multiset<std::string> wanted;
  for (auto const& tensor : tensors) wanted.insert(tensor.group());
  for (auto const& tensor : tensors) reader.find(tensor);
  for (auto const& group : std::set<std::string>(wanted.begin(), wanted.end())) {
    std::size_t const found = reader.members(group);
    std::size_t const count = wanted.count(group);
    if (found != count) {
      throw FileError(path, formatted("'{}' holds {} variables, but the model has {}", group, found, count));
    }
  }
  for (auto const& tensor : tensors) reader.read(tensor);
}

}  // namespace trireme

#endif  // TRIREME_HAVE_HDF5
