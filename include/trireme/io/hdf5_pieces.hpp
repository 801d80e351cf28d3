/// Sizes of the pieces (chunks) in which an HDF5 data set is stored, verified before HDF5 reads them.
#pragma once

#ifdef TRIREME_HAVE_HDF5

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <hdf5.h>

namespace trireme::detail {

/// The bytes of each piece after decompression. HDF5 takes as many as the layout states from whatever a stored piece
/// becomes, and decompresses one to any size, so that a damaged file would be read beyond its memory, or fill it.
class Hdf5Pieces {
 public:
  /// \param data  an open data set in pieces.
  /// \param bytes  of a piece, by its layout.
  Hdf5Pieces(hid_t data, std::size_t bytes);

  /// The first fault of a piece, which follows the data set's name in a message; empty if there is none.
  std::string fault() const;

 private:
  /// Without filters HDF5 looks no sizes up, so that their sum is compared.
  std::string unfiltered_fault() const;

  std::string piece_fault(std::vector<hsize_t> const& offset) const;

  /// The filters that a piece has skipped, a bit each; those at an edge may skip all.
  std::uint32_t skipped_at_edge(std::vector<hsize_t> const& offset) const;

  hid_t data_;
  std::size_t bytes_;
  std::vector<H5Z_filter_t> filters_;
  std::vector<hsize_t> extents_;
  std::vector<hsize_t> piece_;
  unsigned options_ = 0;
  hsize_t file_size_ = 0;
};

/// The fault of a deflated piece that does not become exactly `bytes`; empty if it does.
std::string deflated_fault(std::string_view stored, std::size_t bytes);

}  // namespace trireme::detail

#endif  // TRIREME_HAVE_HDF5

#ifndef TRIREME_COMPILED
#include "trireme/io/hdf5_pieces.ipp"
#endif
