// Weights in HDF5 files. The bytes of an input say how a file is made: its links, data spaces, types, layouts, filters
// and values. So what is tried is this library's reader; HDF5's own parser of damaged files is not.
#include <array>

#include "trireme/io/weights_h5.hpp"

#include "target.hpp"

namespace fuzz = trireme::fuzz;
namespace tr = trireme;
using tr::detail::Hdf5Handle;

namespace {

fuzz::Folder const folder;
std::string const path = folder.file("x.weights.h5"), other = folder.file("other.h5");
constexpr float secret = 12345;

hid_t type_of(unsigned choice) {
  std::array const types{H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_STD_I64LE, H5T_STD_U8LE,  H5T_IEEE_F32BE,
                         H5T_STD_I16BE,  H5T_STD_U64LE,  H5T_C_S1,      H5T_STD_B8LE,  H5T_STD_REF_OBJ,
                         H5T_UNIX_D32LE, H5T_IEEE_F64BE, H5T_STD_I8LE,  H5T_STD_U16BE, H5T_NATIVE_LDOUBLE};
  return types[choice % types.size()];
}

Hdf5Handle space_of(unsigned choice, std::string_view& bytes) {
  if (choice % 8 == 0) return {H5Screate(H5S_NULL), H5Sclose};
  if (choice % 8 == 1) return {H5Screate(H5S_SCALAR), H5Sclose};
  std::vector<hsize_t> extents(1 + choice / 8 % 3), most;
  for (hsize_t& extent : extents) extent = choice % 8 == 2 ? 2 : fuzz::take(bytes) % 4;
  most = extents;
  if (choice % 8 == 3) most[0] = H5S_UNLIMITED;
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), most.data()), H5Sclose};
}

/// The values of `other`, which no reading of `path` may give.
void write_other() {
  Hdf5Handle const file(H5Fcreate(other.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  hsize_t const extent = 2;
  Hdf5Handle const space(H5Screate_simple(1, &extent, nullptr), H5Sclose);
  Hdf5Handle const data(H5Dcreate2(file, "0", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  std::array const values{secret, secret};
  H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

void set_layout(hid_t properties, hid_t space, unsigned choice, std::string_view& bytes) {
  int const rank = std::max(H5Sget_simple_extent_ndims(space), 1);
  std::array<hsize_t, 3> chunk{};
  for (hsize_t& extent : chunk) extent = hsize_t{1} << fuzz::take(bytes) % 28;
  switch (choice % 6) {
    case 0:
      H5Pset_layout(properties, H5D_COMPACT);
      break;
    case 1:
      H5Pset_external(properties, other.c_str(), 0, H5F_UNLIMITED);
      break;
    case 2:
      H5Pset_virtual(properties, space, other.c_str(), "0", space);
      break;
    case 3:
      H5Pset_chunk(properties, rank, chunk.data());
      if (fuzz::take(bytes) % 2 == 0) H5Pset_shuffle(properties);
      if (fuzz::take(bytes) % 2 == 0) H5Pset_deflate(properties, 1);
      break;
    case 4:
      H5Pset_chunk(properties, rank, chunk.data());
      if (fuzz::take(bytes) % 2 == 0) H5Pset_nbit(properties);
      if (fuzz::take(bytes) % 2 == 0) H5Pset_fletcher32(properties);
      break;
    default:
      break;
  }
}

void make_data_set(hid_t group, char const* name, std::string_view& bytes) {
  switch (fuzz::take(bytes) % 8) {
    case 0:
      H5Lcreate_soft(fuzz::take(bytes) % 2 == 0 ? "/layer/0" : "/layer", group, name, H5P_DEFAULT, H5P_DEFAULT);
      return;
    case 1:
      H5Lcreate_external(other.c_str(), "0", group, name, H5P_DEFAULT, H5P_DEFAULT);
      return;
    case 2:
      H5Lcreate_hard(group, ".", group, name, H5P_DEFAULT, H5P_DEFAULT);
      return;
    case 3:
      H5Lcreate_hard(group, "0", group, name, H5P_DEFAULT, H5P_DEFAULT);
      return;
    default:
      break;
  }
  hid_t const type = type_of(fuzz::take(bytes));
  unsigned const space_choice = fuzz::take(bytes), layout = fuzz::take(bytes);
  Hdf5Handle const space = space_of(space_choice, bytes);
  Hdf5Handle const properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  set_layout(properties, space, layout, bytes);
  Hdf5Handle const data(H5Dcreate2(group, name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT), H5Dclose);
  bool const may_be_written = layout % 6 != 1 && layout % 6 != 2;
  if (!data.valid() || !may_be_written || H5Tget_class(type) == H5T_REFERENCE) return;
  std::array<char, 16 * 64> values{};
  for (char& value : values) value = static_cast<char>(fuzz::take(bytes));
  // A chunk of gigabytes would be written as a whole.
  if (H5Sget_simple_extent_npoints(space) <= 64 && layout % 6 != 3 && layout % 6 != 4)
    H5Dwrite(data, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
}

/// The file stays open, since HDF5 then opens it again without another cache and another look at its superblock.
Hdf5Handle make_file(std::string_view bytes) {
  Hdf5Handle file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  unsigned const above = fuzz::take(bytes) % 8;
  if (above == 0) H5Lcreate_external(other.c_str(), "/", file, "layer", H5P_DEFAULT, H5P_DEFAULT);
  if (above == 1) H5Lcreate_soft("/", file, "layer", H5P_DEFAULT, H5P_DEFAULT);
  if (above == 2) H5Lcreate_hard(file, "/", file, "layer", H5P_DEFAULT, H5P_DEFAULT);
  Hdf5Handle const group(
      above <= 2 ? H5Gopen2(file, "/", H5P_DEFAULT) : H5Gcreate2(file, "layer", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
      H5Gclose);
  make_data_set(group, "0", bytes);
  make_data_set(group, "1", bytes);
  return file;
}

/// The cache of a file is a megabyte, which is kept for the next one instead of being mapped and unmapped.
bool keep_memory() { return H5set_free_list_limits(-1, -1, -1, -1, -1, -1) >= 0; }

}  // namespace

std::vector<std::string> seeds() {
  tr::detail::Hdf5Silence const silence;
  write_other();
  std::string const floats("\4\0\2\5\0\0\0\0\0\x80\x3f\0\0\0\x40", 15);  // hard link, float, (2), contiguous
  std::string const integer("\4\2\1\5\0\0\0\7\0\0\0\0\0\0\0", 15);
  std::string const filler(16 * 64 - 8, '\0');
  std::vector<std::string> all;
  for (char above = 0; above < 4; ++above) all.push_back(above + floats + filler + integer);
  for (char layout = 0; layout < 6; ++layout) {
    std::string input = '\4' + floats + filler + integer;
    input[4] = layout;
    all.push_back(input);
  }
  for (char link = 0; link < 4; ++link) all.push_back('\4' + std::string(1, link) + floats);
  return all;
}

void try_input(std::string_view bytes) {
  tr::detail::Hdf5Silence const silence;
  [[maybe_unused]] static bool const keeps = keep_memory();
  Hdf5Handle const file = make_file(bytes);
  std::vector<float> floats(2, -1);
  std::int64_t integer = -1;
  std::vector const wanted{tr::named_destination({"layer"}, 0, {2}, floats.data()),
                           tr::named_destination({"layer"}, 1, {}, &integer)};
  fuzz::expect_file_error(path, [&] { tr::read_weights_h5(path, wanted); });
  fuzz::expect_file_error(path, [&] { tr::read_tensors_h5(path, wanted); });
  fuzz::expect_file_error(path, [&] { tr::weights_h5_holds(path, "layer/0"); });
  fuzz::expect_file_error(path, [&] { tr::weights_h5_name(path, "layer", "name"); });
  fuzz::require(floats[0] != secret && floats[1] != secret, "values of another file were read");
}
