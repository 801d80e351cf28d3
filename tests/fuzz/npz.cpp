// Weights in `.npz` files: an input is a whole file, or two arrays with checksums that fit.
#include "trireme/io/npz.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
namespace tr = trireme;

namespace {

fuzz::Folder const folder;
std::string const path = folder.file("x.npz");

void write_arrays(std::string_view first, std::string_view second) {
  tr::detail::ZipWriter zip(path);
  zip.add("layer/0.npy", "", first.data(), first.size());
  zip.add("layer/1.npy", "", second.data(), second.size());
  zip.commit();
}

}  // namespace

std::vector<std::string> seeds() {
  std::string const floats = tr::io::npy_header<float>({2}) + std::string(8, '\1');
  std::string const integer = tr::io::npy_header<std::int64_t>({}) + std::string(8, '\2');
  write_arrays(floats, integer);
  return {
      "f" + fuzz::content_of(path), "a" + floats + "\xff" + integer,
      "a" + tr::io::npy_header<double>({2}) + std::string(16, '\3') + "\xff" + tr::io::npy_header<float>({}) + "1234"};
}

void try_input(std::string_view bytes) {
  if (fuzz::take(bytes) % 2 == 0) {
    fuzz::write_file(path, bytes);
  } else {
    std::string_view const first = fuzz::take_until(bytes, '\xff');
    write_arrays(first, bytes);
  }
  std::vector<float> floats(2);
  std::int64_t integer = 0;
  std::vector const wanted{tr::named_destination({"layer"}, 0, {2}, floats.data()),
                           tr::named_destination({"layer"}, 1, {}, &integer)};
  fuzz::expect_file_error(path, [&] { tr::read_npz(path, wanted); });
  fuzz::expect_file_error(path, [&] { tr::npz_holds(path, "layer/0"); });
  fuzz::expect_file_error(path, [&] { tr::npz_name(path, "layer"); });
}
