// IDX files, read as bytes, as integers or as floating-point numbers, which the first byte of an input chooses.
#include "trireme/io/idx.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
using trireme::io::ByteSource;

std::vector<std::string> seeds() {
  std::vector<std::string> inputs;
  for (char const type : {'\0', '\1', '\2'})
    for (std::string const& file :
         {std::string("\0\0\x08\2\0\0\0\2\0\0\0\3\1\2\3\4\5\6", 18), std::string("\0\0\x0d\1\0\0\0\1\xc0\x20\0\0", 12),
          std::string("\0\0\x0b\1\0\0\0\1\1\2", 10), std::string("\0\0\x0e\1\0\0\0\0", 8)})
      inputs.push_back(type + file);
  return inputs;
}

void try_input(std::string_view bytes) {
  unsigned const type = fuzz::take(bytes) % 3;
  auto const read = [&]<class T>(T) {
    fuzz::expect_file_error("x.idx: ", [&] {
      ByteSource source("x.idx", std::string(bytes));
      fuzz::look_at(trireme::io::read_idx<T>(source));
    });
  };
  if (type == 0) read(std::uint8_t{});
  if (type == 1) read(std::int32_t{});
  if (type == 2) read(float{});
}
