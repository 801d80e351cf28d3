// Pieces (chunks) of HDF5 data sets: HDF5 trusts that stored bytes become as many as a piece has, so that is verified.
#define BOOST_TEST_MODULE io_hdf5_pieces
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "trireme/io/weights_h5.hpp"

#include "unit/io/folder.hpp"

#ifdef TRIREME_HAVE_ZLIB
#include <zlib.h>
#endif

namespace tr = trireme;
using tr::test::Folder;
using tr::test::text_of;

#ifdef TRIREME_HAVE_HDF5
namespace {

using tr::detail::Hdf5Handle;
using Filters = std::function<void(hid_t)>;

std::string const damaged = "'layers/vars/0' is damaged: a piece has another size than it states";

void none(hid_t) {}
void gzip(hid_t creation) { H5Pset_deflate(creation, 6); }
void checksum(hid_t creation) { H5Pset_fletcher32(creation); }

/// Filters in the order in which HDF5 applies them when it writes.
template <class... F>
Filters in_order(F... filters) {
  return [=](hid_t creation) { (filters(creation), ...); };
}

/// A file with a data set "layers/vars/0" of floats in pieces, which `write` fills.
template <class Write>
std::string weights(std::string const& path, std::vector<hsize_t> const& extents, std::vector<hsize_t> const& piece,
                    Filters const& filters, Write const& write) {
  int const rank = static_cast<int>(extents.size());
  Hdf5Handle const file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  Hdf5Handle const parents(H5Pcreate(H5P_LINK_CREATE), H5Pclose), creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(parents, 1);
  H5Pset_chunk(creation, rank, piece.data());
  filters(creation);
  Hdf5Handle const space(H5Screate_simple(rank, extents.data(), nullptr), H5Sclose);
  Hdf5Handle const data(H5Dcreate2(file, "layers/vars/0", H5T_IEEE_F32LE, space, parents, creation, H5P_DEFAULT),
                        H5Dclose);
  BOOST_TEST_REQUIRE(data.valid());
  write(static_cast<hid_t>(data));
  return path;
}

/// A file with a data set of `count` floats in one piece, which is stored as these bytes.
std::string one_piece(std::string const& path, std::size_t count, Filters const& filters, std::string const& stored,
                      std::uint32_t skipped = 0) {
  return weights(path, {count}, {count}, filters, [&](hid_t data) {
    hsize_t const at = 0;
    BOOST_TEST_REQUIRE(H5Dwrite_chunk(data, H5P_DEFAULT, skipped, &at, stored.size(), stored.data()) >= 0);
  });
}

/// "read", or the error's message without the path.
std::string read(std::string const& path, std::vector<float>& values, std::vector<std::size_t> extents) {
  std::array const wanted{tr::named_destination({"layers", "vars"}, 0, std::move(extents), values.data())};
  try {
    tr::read_weights_h5(path, wanted);
    return "read";
  } catch (tr::FileError const& error) {
    return std::string(error.what()).substr(path.size() + 2);
  }
}

std::string read(std::string const& path, std::size_t count) {
  std::vector<float> values(count, -1);
  std::string const text = read(path, values, {count});
  for (float const value : values) BOOST_TEST_REQUIRE(value == (text == "read" ? 0 : -1));
  return text;
}

/// Has the file's one piece be of another size: the only node of the tree of pieces states it behind its head.
void state(std::string const& path, std::size_t size) {
  std::string bytes = text_of(path);
  std::size_t node = bytes.find("TREE");
  while (node != bytes.npos && bytes[node + 4] != '\1') node = bytes.find("TREE", node + 1);
  BOOST_TEST_REQUIRE(node != bytes.npos);
  for (std::size_t i = 0; i < 4; ++i) bytes[node + 24 + i] = static_cast<char>(size >> (8 * i) & 0xff);
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(pieces_without_a_filter_have_their_size, Folder) {
  std::string const path = file("m.weights.h5");
  one_piece(path, 256, none, std::string(1024, '\0'));
  BOOST_TEST(read(path, 256) == "read");
  for (std::size_t const size : {0u, 8u, 1023u, 1025u, 0x7f000000u}) {
    state(path, size);
    BOOST_TEST(read(path, 256) == damaged, size);
  }
}

BOOST_FIXTURE_TEST_CASE(pieces_with_checksums_alone_have_their_size, Folder) {
  std::string const path = file("m.weights.h5");
  for (std::size_t const size : {1u, 3u, 4u, 12u, 1024u, 1027u, 1029u, 4096u}) {
    one_piece(path, 256, checksum, std::string(size, '\0'));
    BOOST_TEST(read(path, 256) == damaged, size);
  }
  one_piece(path, 256, checksum, std::string(1028, '\0'));
  BOOST_TEST(read(path, 256) == "read");
  one_piece(path, 256, checksum, std::string(1024, '\0'), 1);
  BOOST_TEST(read(path, 256) == "read");
  one_piece(path, 256, checksum, std::string(1028, '\0'), 1);
  BOOST_TEST(read(path, 256) == damaged);
}

#ifdef TRIREME_HAVE_ZLIB
namespace {

void shuffle(hid_t creation) { H5Pset_shuffle(creation); }

std::vector<float> numbers(std::size_t count, bool random) {
  std::mt19937 bits(1);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(random ? bits() : i % 5);
  return values;
}

std::string deflated(std::string const& content) {
  uLongf size = compressBound(content.size());
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<Bytef const*>(content.data()), content.size(),
            9);
  return out.substr(0, size);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(compressed_pieces_that_become_another_size_are_refused, Folder) {
  std::string const path = file("m.weights.h5");
  for (std::size_t const size : {0u, 8u, 1023u, 1025u, 1028u, 1u << 26}) {
    one_piece(path, 256, gzip, deflated(std::string(size, '\0')));
    BOOST_TEST(read(path, 256) == damaged, size);
    one_piece(path, 256, in_order(shuffle, gzip, checksum), deflated(std::string(size, '\0')) + "sums");
    BOOST_TEST(read(path, 256) == damaged, size);
  }
  one_piece(path, 256, gzip, deflated(std::string(1024, '\0')));
  BOOST_TEST(read(path, 256) == "read");
}

BOOST_FIXTURE_TEST_CASE(compressed_pieces_without_an_end_are_refused, Folder) {
  std::string const path = file("m.weights.h5"), whole = deflated(std::string(1024, '\0'));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    one_piece(path, 256, gzip, whole.substr(0, size));
    BOOST_TEST(read(path, 256) == damaged, size);
  }
  one_piece(path, 256, gzip, "no compressed data");
  BOOST_TEST(read(path, 256) == damaged);
  for (std::size_t const size : {0u, 8u, 0x7f000000u, 0xffffffffu}) {
    one_piece(path, 256, gzip, whole);
    state(path, size);
    BOOST_TEST(read(path, 256) == damaged, size);
  }
}

BOOST_FIXTURE_TEST_CASE(pieces_that_skip_compression_have_their_size, Folder) {
  std::string const path = file("m.weights.h5");
  one_piece(path, 256, gzip, std::string(1024, '\0'), 1);
  BOOST_TEST(read(path, 256) == "read");
  one_piece(path, 256, gzip, std::string(8, '\0'), 1);
  BOOST_TEST(read(path, 256) == damaged);
  one_piece(path, 256, in_order(shuffle, gzip), std::string(1024, '\0'), 2);
  BOOST_TEST(read(path, 256) == "read");
}

BOOST_FIXTURE_TEST_CASE(pieces_that_hdf5_compressed_are_read_in_each_order_of_filters, Folder) {
  std::string const path = file("m.weights.h5");
  auto const inner_only = [](hid_t creation) {
    gzip(creation);
    H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
  };
  for (Filters const& filters :
       {in_order(none), in_order(gzip), in_order(shuffle), in_order(checksum), in_order(shuffle, gzip),
        in_order(shuffle, gzip, checksum), in_order(checksum, shuffle, gzip), in_order(checksum, gzip, checksum),
        in_order(shuffle, checksum), in_order(inner_only)}) {
    for (bool const random : {false, true}) {
      std::vector<float> const written = numbers(50 * 70, random);
      weights(path, {50, 70}, {16, 32}, filters, [&](hid_t data) {
        BOOST_TEST(H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, written.data()) >= 0);
      });
      std::vector<float> values(written.size(), -1);
      BOOST_TEST(read(path, values, {50, 70}) == "read");
      BOOST_TEST((values == written));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(pieces_that_were_never_written_are_zeros, Folder) {
  std::string const path = file("m.weights.h5"), piece = deflated(std::string(400, '\0'));
  for (Filters const& filters : {in_order(none), in_order(gzip)}) {
    weights(path, {1000}, {100}, filters, [](hid_t) {});
    BOOST_TEST(read(path, 1000) == "read");
  }
  weights(path, {1000}, {100}, gzip, [&](hid_t data) {
    hsize_t const at = 500;
    H5Dwrite_chunk(data, H5P_DEFAULT, 0, &at, piece.size(), piece.data());
  });
  BOOST_TEST(read(path, 1000) == "read");
}

BOOST_FIXTURE_TEST_CASE(the_last_of_several_pieces_is_verified_too, Folder) {
  std::string const path = file("m.weights.h5"), good = deflated(std::string(400, '\0')), bad = deflated("short");
  weights(path, {10, 15}, {10, 10}, gzip, [&](hid_t data) {
    std::array<hsize_t, 2> const first{0, 0}, second{0, 10};
    H5Dwrite_chunk(data, H5P_DEFAULT, 0, first.data(), good.size(), good.data());
    H5Dwrite_chunk(data, H5P_DEFAULT, 0, second.data(), bad.size(), bad.data());
  });
  std::vector<float> values(150, -1);
  BOOST_TEST(read(path, values, {10, 15}) == damaged);
}

BOOST_FIXTURE_TEST_CASE(pieces_that_are_compressed_twice_are_refused, Folder) {
  std::string const path = file("m.weights.h5");
  for (Filters const& filters : {in_order(gzip, gzip), in_order(gzip, shuffle)}) {
    weights(path, {100}, {100}, filters, [](hid_t) {});
    BOOST_TEST(read(path, 100) == "'layers/vars/0' is compressed twice, or shuffled after it was compressed");
  }
}
#else
BOOST_FIXTURE_TEST_CASE(without_zlib_compressed_pieces_are_refused, Folder) {
  std::string const path = file("m.weights.h5");
  std::vector<float> const zeros(100);
  weights(path, {100}, {100}, gzip,
          [&](hid_t data) { H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, zeros.data()); });
  BOOST_TEST(read(path, 100) ==
             "'layers/vars/0' is compressed with gzip, but trireme was built without zlib: write it uncompressed");
}
#endif
#else
BOOST_AUTO_TEST_CASE(there_is_no_hdf5) {}
#endif
