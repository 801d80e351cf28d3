/// Definitions of trireme/io/hdf5_pieces.hpp.
#pragma once

#include "trireme/io/hdf5_pieces.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#ifdef TRIREME_HAVE_HDF5
#include <hdf5.h>
#endif
#ifdef TRIREME_HAVE_ZLIB
#include <zlib.h>
#endif

#include "trireme/core/linkage.hpp"
#include "trireme/io/hdf5_data_set.hpp"

#ifdef TRIREME_HAVE_HDF5
namespace trireme::detail {

TRIREME_INLINE Hdf5Pieces::Hdf5Pieces(hid_t data, std::size_t bytes) : data_(data), bytes_(bytes) {
  Hdf5Handle const creation(H5Dget_create_plist(data), H5Pclose), space(H5Dget_space(data), H5Sclose);
  Hdf5Handle const file(H5Iget_file_id(data), H5Fclose);
  int const rank = H5Sget_simple_extent_ndims(space);
  extents_.resize(static_cast<std::size_t>(rank));
  piece_.resize(extents_.size());
  H5Sget_simple_extent_dims(space, extents_.data(), nullptr);
  if (H5Pget_chunk(creation, rank, piece_.data()) != rank) piece_.assign(extents_.size(), 0);
  H5Pget_chunk_opts(creation, &options_);
  H5Fget_filesize(file, &file_size_);
  for (int i = 0, count = H5Pget_nfilters(creation); i < count; ++i) {
    unsigned flags = 0;
    std::size_t values = 0;
    filters_.push_back(
        H5Pget_filter2(creation, static_cast<unsigned>(i), &flags, &values, nullptr, 0, nullptr, nullptr));
  }
}

TRIREME_INLINE std::string Hdf5Pieces::fault() const {
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    if (extents_[i] == 0) return {};
    if (piece_[i] == 0) return "is damaged: its pieces have no extents";
  }
  if (filters_.empty()) return unfiltered_fault();
  std::vector<hsize_t> offset(extents_.size());
  for (bool more = true; more;) {
    if (std::string text = piece_fault(offset); !text.empty()) return text;
    more = false;
    for (std::size_t axis = offset.size(); axis-- > 0 && !more;) {
      more = piece_[axis] < extents_[axis] - offset[axis];
      offset[axis] = more ? offset[axis] + piece_[axis] : 0;
    }
  }
  return {};
}

TRIREME_INLINE std::string Hdf5Pieces::unfiltered_fault() const {
  Hdf5Handle const space(H5Dget_space(data_), H5Sclose);
  hsize_t count = 0;
  if (H5Dget_num_chunks(data_, space, &count) < 0 || count == 0) return {};
  hsize_t const stored = H5Dget_storage_size(data_);
  if (stored % count == 0 && stored / count == bytes_) return {};
  return "is damaged: a piece has another size than it states";
}

TRIREME_INLINE std::string Hdf5Pieces::piece_fault(std::vector<hsize_t> const& offset) const {
  constexpr std::string_view damaged = "is damaged: a piece has another size than it states";
  hsize_t size = 0;
  // Where there is no piece, HDF5 takes the fill value, or says why it cannot look.
  if (H5Dget_chunk_storage_size(data_, offset.data(), &size) < 0) return {};
  if (size > file_size_ || size > std::numeric_limits<std::uint32_t>::max()) return std::string(damaged);
  std::string stored(static_cast<std::size_t>(size) + 1, '\0');
  std::uint32_t skipped = 0;
#if H5_VERSION_GE(2, 0, 0)
  std::size_t room = stored.size();
  herr_t const status = H5Dread_chunk2(data_, H5P_DEFAULT, offset.data(), &skipped, stored.data(), &room);
#else
  herr_t const status = H5Dread_chunk(data_, H5P_DEFAULT, offset.data(), &skipped, stored.data());
#endif
  if (status < 0) return size == 0 ? std::string() : std::string(damaged);
  skipped |= skipped_at_edge(offset);
  std::size_t content = bytes_, behind = 0;
  bool deflated = false;
  for (std::size_t i = 0; i < filters_.size(); ++i) {
    if ((skipped >> i & 1) != 0) continue;
    if (filters_[i] == H5Z_FILTER_FLETCHER32) (deflated ? behind : content) += 4;
    deflated = deflated || filters_[i] == H5Z_FILTER_DEFLATE;
  }
  if (!deflated) return size == content ? std::string() : std::string(damaged);
  return size < behind ? std::string(damaged)
                       : deflated_fault({stored.data(), static_cast<std::size_t>(size) - behind}, content);
}

TRIREME_INLINE std::uint32_t Hdf5Pieces::skipped_at_edge(std::vector<hsize_t> const& offset) const {
  if ((options_ & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0) return 0;
  for (std::size_t i = 0; i < offset.size(); ++i)
    if (piece_[i] > extents_[i] - offset[i]) return ~std::uint32_t{0};
  return 0;
}

#ifdef TRIREME_HAVE_ZLIB
TRIREME_INLINE std::string deflated_fault(std::string_view stored, std::size_t bytes) {
  z_stream stream{};
  // zlib does not write to its input.
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
  stream.avail_in = static_cast<uInt>(stored.size());
  if (inflateInit(&stream) != Z_OK) return "needs more memory than there is";
  std::array<Bytef, std::size_t{1} << 15> scratch;  // the bytes are counted alone
  std::size_t counted = 0;
  int status = Z_OK;
  while (status == Z_OK && counted <= bytes) {
    stream.next_out = scratch.data();
    stream.avail_out = static_cast<uInt>(scratch.size());
    status = inflate(&stream, Z_NO_FLUSH);
    counted += scratch.size() - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status == Z_STREAM_END && counted == bytes) return {};
  return "is damaged: a piece has another size than it states";
}
#else
TRIREME_INLINE std::string deflated_fault(std::string_view, std::size_t) {
  return "is compressed with gzip, but trireme was built without zlib: write it uncompressed";
}
#endif

}  // namespace trireme::detail

#endif  // TRIREME_HAVE_HDF5
