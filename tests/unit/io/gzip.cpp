#define BOOST_TEST_MODULE gzip
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include "trireme/io/csv.hpp"
#include "trireme/io/idx.hpp"
#include "unit/io/folder.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
/// gzip of "1,2\n3,4\n".
std::string const compressed(
    "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x33\xd4\x31\xe2\x32\xd6\x31\xe1\x02\x00"
    "\x47\x93\x6c\xaf\x08\x00\x00\x00",
    28);
std::string written(Folder const& folder, std::string const& bytes) {
  std::string const path = folder.file("table.csv.gz");
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}
}  // namespace

#ifdef TRIREME_HAVE_ZLIB
BOOST_AUTO_TEST_CASE(a_compressed_file_is_read_as_if_it_were_not) {
  Folder const folder;
  auto const table = io::read_csv<int>(written(folder, compressed));
  BOOST_TEST(std::vector<int>(table.data, table.data + table.size()) == (std::vector<int>{1, 2, 3, 4}), per_element());
  auto const twice = io::read_csv<int>(written(folder, compressed + compressed));
  BOOST_TEST(twice.extents == (std::vector<std::size_t>{4, 2}), per_element());
}

BOOST_AUTO_TEST_CASE(more_than_fits_one_buffer_is_decompressed) {
  Folder const folder;
  std::string const path = folder.file("zeros.idx.gz");
  std::string idx("\0\0\x08\1\0\x40\0\0", 8);  // 4 MiB
  idx.resize(8 + (std::size_t{1} << 22));
  gzFile const file = gzopen(path.c_str(), "wb");
  gzwrite(file, idx.data(), static_cast<unsigned>(idx.size()));
  gzclose(file);
  BOOST_TEST(io::read_idx(path).samples() == (std::size_t{1} << 22));
}

BOOST_AUTO_TEST_CASE(compressed_data_that_are_truncated_or_damaged_are_errors) {
  Folder const folder;
  auto const error = [&](std::string const& bytes) {
    std::string const path = written(folder, bytes);
    std::string const text = message_of<FileError>([&] { io::read_csv<int>(path); });
    return text.substr(std::min(path.size() + 2, text.size()));
  };
  for (std::size_t const size : {2u, 9u, 12u, 19u, 24u, 27u})
    BOOST_TEST(error(compressed.substr(0, size)) == "the compressed data end at byte " + std::to_string(size) +
                                                        ", before their end mark: the file is truncated");
  std::string damaged = compressed;
  damaged[21] = 'x';  // in the check sum
  BOOST_TEST(error(damaged) == "the compressed data are damaged near byte 24: incorrect data check");
}
#else
BOOST_AUTO_TEST_CASE(without_zlib_a_compressed_file_is_an_error_that_says_so) {
  Folder const folder;
  std::string const path = written(folder, compressed);
  BOOST_TEST(message_of<FileError>([&] { io::read_csv<int>(path); }) ==
             path + ": is compressed with gzip, but trireme was built without zlib: decompress the file first");
}
#endif
