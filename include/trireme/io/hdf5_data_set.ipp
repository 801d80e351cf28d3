/// Definitions of trireme/io/hdf5_data_set.hpp.
#pragma once

#include "trireme/io/hdf5_data_set.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#ifdef TRIREME_HAVE_HDF5
#include <hdf5.h>
#endif

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/hdf5_pieces.hpp"
#include "trireme/io/stated_extents.hpp"

#ifdef TRIREME_HAVE_HDF5
namespace trireme::detail {

TRIREME_INLINE Hdf5Handle::~Hdf5Handle() {
  if (id_ >= 0) close_(id_);
}

TRIREME_INLINE bool hdf5_holds(hid_t file, std::string const& path, std::string const& name) {
  for (std::size_t end = 0; end != std::string::npos;) {
    end = name.find('/', end + 1);
    std::string const place = name.substr(0, end);
    H5L_info_t link{};
    if (H5Lexists(file, place.c_str(), H5P_DEFAULT) <= 0) return false;
    if (H5Lget_info(file, place.c_str(), &link, H5P_DEFAULT) < 0) return false;
    if (link.type != H5L_TYPE_HARD)
      throw FileError(path, formatted("'{}' is {} link, and weights lie in the file itself", printable(place, 200),
                                      link.type == H5L_TYPE_SOFT ? "a soft" : "an external"));
  }
  return true;
}

TRIREME_INLINE std::string hdf5_text(hid_t object, std::string const& attribute) {
  if (H5Aexists(object, attribute.c_str()) <= 0) return {};
  Hdf5Handle const opened(H5Aopen(object, attribute.c_str(), H5P_DEFAULT), H5Aclose);
  Hdf5Handle const type(H5Aget_type(opened), H5Tclose);
  Hdf5Handle const space(H5Aget_space(opened), H5Sclose);
  if (H5Tis_variable_str(type) <= 0 || H5Sget_simple_extent_npoints(space) != 1) return {};
  char* text = nullptr;
  if (H5Aread(opened, type, &text) < 0 || text == nullptr) return {};
  std::string copy = text;
  H5free_memory(text);
  return copy;
}

TRIREME_INLINE Hdf5DataSet::Hdf5DataSet(hid_t file, std::string path, std::string name)
    : path_(std::move(path)), name_(std::move(name)), data_(opened(file), H5Dclose) {
  require_layout(require_numbers());
  Hdf5Handle const space(H5Dget_space(data_), H5Sclose);
  H5S_class_t const kind = H5Sget_simple_extent_type(space);
  if (kind != H5S_SCALAR && kind != H5S_SIMPLE) fail("has no values: its data space is null");
  int const rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0 || rank > H5S_MAX_RANK) fail("has extents that cannot be read");
  std::vector<hsize_t> found(static_cast<std::size_t>(rank));
  if (H5Sget_simple_extent_dims(space, found.data(), nullptr) < 0) fail("has extents that cannot be read");
  extents_.assign(found.begin(), found.end());
}

TRIREME_INLINE void Hdf5DataSet::require_pieces_within(std::size_t bytes) const {
  constexpr std::size_t always = std::size_t{1} << 24;
  if (piece_ > std::max(bytes, always))
    fail(formatted("is stored in pieces of {} bytes, for {} bytes of values", piece_, bytes));
}

TRIREME_INLINE void Hdf5DataSet::require_whole_pieces() const {
  if (piece_ == 0) return;
  if (std::string const fault = Hdf5Pieces(data_, piece_).fault(); !fault.empty()) fail(fault);
}

TRIREME_INLINE hid_t Hdf5DataSet::opened(hid_t file) const {
  if (!hdf5_holds(file, path_, name_))
    throw FileError(path_, formatted("holds no data set '{}'", printable(name_, 200)));
  Hdf5Handle const access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose);
  H5Pset_chunk_cache(access, 0, 0, H5D_CHUNK_CACHE_W0_DEFAULT);
  hid_t const data = H5Dopen2(file, name_.c_str(), access);
  if (data < 0) throw FileError(path_, formatted("holds no data set '{}'", printable(name_, 200)));
  return data;
}

TRIREME_INLINE void Hdf5DataSet::require_layout(std::size_t element) {
  Hdf5Handle const creation(H5Dget_create_plist(data_), H5Pclose);
  if (!creation.valid()) fail("has a layout that cannot be read");
  H5D_layout_t const layout = H5Pget_layout(creation);
  if (layout == H5D_VIRTUAL) fail("is a virtual data set, and weights lie in the file itself");
  if (layout != H5D_COMPACT && layout != H5D_CONTIGUOUS && layout != H5D_CHUNKED) fail("has an unknown layout");
  if (H5Pget_external_count(creation) != 0) fail("is stored in other files, and weights lie in the file itself");
  int const filters = H5Pget_nfilters(creation);
  if (filters < 0) fail("has filters that cannot be read");
  bool deflated = false;
  for (int i = 0; i < filters; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    H5Z_filter_t const filter =
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr);
    if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
      fail("is compressed by a filter other than gzip");
    if (deflated && filter != H5Z_FILTER_FLETCHER32) fail("is compressed twice, or shuffled after it was compressed");
    deflated = deflated || filter == H5Z_FILTER_DEFLATE;
  }
  if (layout != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  int const rank = H5Pget_chunk(creation, H5S_MAX_RANK, chunk.data());
  if (rank < 0 || rank > H5S_MAX_RANK) fail("has a layout that cannot be read");
  std::vector<std::size_t> const extents(chunk.begin(), chunk.begin() + rank);
  constexpr std::size_t none_holds_it = static_cast<std::size_t>(-1);
  auto const elements = io::stated_elements(extents, element);
  piece_ = elements ? *elements * element : none_holds_it;
  if (piece_ == 0) fail("is damaged: its pieces have no extents");
}

TRIREME_INLINE std::size_t Hdf5DataSet::require_numbers() {
  Hdf5Handle const type(H5Dget_type(data_), H5Tclose);
  H5T_class_t const kind = type.valid() ? H5Tget_class(type) : H5T_NO_CLASS;
  is_bfloat16_ =
      kind == H5T_OPAQUE && H5Tget_size(type) == sizeof(std::uint16_t) && hdf5_text(data_, "dtype") == "bfloat16";
  if (is_bfloat16_) return sizeof(std::uint16_t);
  if ((kind != H5T_INTEGER && kind != H5T_FLOAT) || H5Tget_size(type) > sizeof(double))
    fail("holds neither integers nor floating-point numbers of at most 8 bytes");
  return std::max<std::size_t>(H5Tget_size(type), 1);
}

TRIREME_INLINE void Hdf5DataSet::fail(std::string_view what) const {
  throw FileError(path_, formatted("'{}' {}", printable(name_, 200), what));
}

TRIREME_INLINE Hdf5Handle hdf5_exact_conversion() {
  Hdf5Handle properties(H5Pcreate(H5P_DATASET_XFER), H5Pclose);
  H5Pset_type_conv_cb(
      properties,
      [](H5T_conv_except_t, hid_t, hid_t to, void*, void*, void*) {
        return H5Tget_class(to) == H5T_FLOAT ? H5T_CONV_UNHANDLED : H5T_CONV_ABORT;
      },
      nullptr);
  return properties;
}

}  // namespace trireme::detail

#endif  // TRIREME_HAVE_HDF5
