// Compressed data, asked for in pieces whose sizes the first bytes choose.
#include "trireme/io/byte_source.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
using trireme::io::ByteSource;

namespace {

std::string compressed(std::string const& content, int level) {
  z_stream stream{};
  deflateInit2(&stream, level, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

}  // namespace

std::vector<std::string> seeds() {
  std::string const text = compressed("1,2\n3,4\n", 9);
  return {"\1" + text,
          "\x40" + text + text,
          "\x7f" + compressed(std::string(100000, 'x'), 6),
          "\3" + compressed("", 0),
          "\x10" + text + "padding",
          "\2plain"};
}

void try_input(std::string_view bytes) {
  std::size_t const piece = 1 + 64 * fuzz::take(bytes);
  fuzz::expect_file_error("x.gz: ", [&] {
    ByteSource source("x.gz", std::string(bytes));
    std::string content(piece, '\0');
    std::size_t total = 0, most = source.left();
    while (std::size_t const read = source.read(content.data(), piece)) {
      total += read;
      if (total > (std::size_t{1} << 20)) return;  // more of the same
    }
    fuzz::require(total <= most && total == source.position(), "more bytes than were to come");
  });
}
