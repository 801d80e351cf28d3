// numpy's `.npy` files, read as integers or as floating-point numbers, which the first byte of an input chooses.
#include "trireme/io/npy.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
using trireme::io::ByteSource;

std::vector<std::string> seeds() {
  std::vector<std::string> files{trireme::io::npy_header<float>({2, 1}) + std::string(8, '\1'),
                                 trireme::io::npy_header<double>({0, 3}),
                                 trireme::io::npy_header<std::uint8_t>({}) + "x",
                                 trireme::io::npy_header<std::int64_t>({1}) + std::string(8, '\2')};
  for (char const* const described : {">i2", "<u4", "|b1", ">f8"}) {
    std::string const header =
        "{'descr': '" + std::string(described) + "', 'fortran_order': True, 'shape': (2, 3), }\n";
    files.push_back(std::string("\x93NUMPY\2\0", 8) + static_cast<char>(header.size()) + std::string(3, '\0') + header +
                    std::string(6 * static_cast<std::size_t>(described[2] - '0'), '\1'));
  }
  for (std::size_t i = 0; i < files.size(); ++i) files[i].insert(0, 1, static_cast<char>(i % 3));
  return files;
}

void try_input(std::string_view bytes) {
  unsigned const type = fuzz::take(bytes) % 3;
  auto const read = [&]<class T>(T) {
    fuzz::expect_file_error("x.npy: ", [&] {
      ByteSource source("x.npy", std::string(bytes));
      fuzz::look_at(trireme::io::read_npy<T>(source));
    });
  };
  if (type == 0) read(std::int16_t{});
  if (type == 1) read(float{});
  if (type == 2) read(double{});
}
