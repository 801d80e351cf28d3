// Files that state what cannot be, with checksums that fit: each is one sentence that names the file.
#define BOOST_TEST_MODULE io_untrusted_files
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trireme/callbacks/archive.hpp"
#include "trireme/io/checkpoint_file.hpp"
#include "trireme/io/csv.hpp"
#include "trireme/io/idx.hpp"
#include "trireme/io/npy.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/weights_index.hpp"
#include "trireme/mpi/single_process.hpp"

#include "unit/io/folder.hpp"

namespace tr = trireme;
using tr::test::Folder;
using tr::test::text_of;

namespace {

/// The message of a FileError without the path that it begins with; that of another error with its kind.
template <class F>
std::string refusal(std::string const& path, F const& f) {
  try {
    f();
    return "read";
  } catch (tr::FileError const& error) {
    std::string const text = error.what();
    BOOST_TEST(text.starts_with(path + ": "));
    BOOST_TEST(text.find('\n') == std::string::npos);
    return text.substr(path.size() + 2);
  } catch (std::exception const& error) {
    return std::string("no FileError: ") + error.what();
  }
}

std::string write(std::string const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

/// A `.npy` file with this shape, and numbers of this type.
std::string npy(std::string const& type, std::string const& shape, std::string const& numbers) {
  std::string const header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }\n";
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size() & 0xff) +
         static_cast<char>(header.size() >> 8) + header + numbers;
}

template <class T>
std::string bytes_of(std::vector<T> const& values) {
  return {reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T)};
}

/// A file of arrays that are any bytes, with checksums that fit.
std::string npz(std::string const& path, std::vector<std::pair<std::string, std::string>> const& members,
                bool sealed = false) {
  tr::detail::ZipWriter zip(path);
  for (auto const& [name, bytes] : members) zip.add(name + ".npy", "", bytes.data(), bytes.size());
  zip.commit(sealed);
  return path;
}

template <class T>
std::string read_one(std::string const& path, std::vector<std::size_t> extents, std::vector<T>& values) {
  std::array const wanted{tr::named_destination({"layer"}, 0, std::move(extents), values.data())};
  return refusal(path, [&] { tr::read_npz(path, wanted); });
}

std::string const many = "(" + [] {
  std::string ones;
  for (int i = 0; i < 5000; ++i) ones += "1, ";
  return ones;
}() + ")";

}  // namespace

BOOST_FIXTURE_TEST_CASE(extents_whose_product_wraps_fit_no_file, Folder) {
  // Without the check for 0 and 1: 2^60 * 16 = 2^64, and 2^32 * 2^32.
  std::string const path = file("x.npy");
  for (char const* const shape :
       {"(1152921504606846976, 16)", "(4294967296, 4294967296)", "(1152921504606846976, 0, 16)",
        "(99999999999999999999999,)", "(18446744073709551615,)"}) {
    write(path, npy("|u1", shape, ""));
    std::string const text = refusal(path, [&] { tr::io::read_npy<float>(path); });
    BOOST_TEST((text.starts_with("is truncated: extents ") || text.find("is no shape") != text.npos), text);
    std::vector<float> none;
    npz(path, {{"layer/0", npy("|u1", shape, "")}});
    std::string const inside = read_one<float>(path, {0}, none);
    BOOST_TEST((inside.starts_with("'layer/0' is truncated: extents ") || inside.find("is no shape") != inside.npos),
               inside);
  }
  write(path, npy("|u1", many, "x"));
  BOOST_TEST(refusal(path, [&] { tr::io::read_npy<float>(path); }) ==
             "has 5000 extents, more than the 64 of any array");
  std::string idx("\0\0\x08\xff", 4);
  for (int i = 0; i < 255; ++i) idx += std::string("\0\0\0\1", 4);
  write(path, idx + "x");
  BOOST_TEST(refusal(path, [&] { tr::io::read_idx(path); }) == "has 255 extents, more than the 64 of any array");
}

BOOST_FIXTURE_TEST_CASE(an_array_without_elements_keeps_its_extents, Folder) {
  std::string const path = write(file("x.npy"), npy("<f4", "(5, 0)", ""));
  BOOST_TEST(tr::io::read_npy<float>(path).samples() == 5u);
}

BOOST_FIXTURE_TEST_CASE(bytes_behind_an_array_are_refused, Folder) {
  std::string const path = write(file("x.npy"), npy("|u1", "(2,)", "ab") + "c");
  BOOST_TEST(
      refusal(path, [&] { tr::io::read_npy<float>(path); }).ends_with("more bytes follow the last of the 2 values"));
}

BOOST_FIXTURE_TEST_CASE(unprintable_bytes_of_a_file_stay_out_of_messages, Folder) {
  std::string const path = write(file("x.csv"), "1,\x1b[2Jx\n");
  BOOST_TEST(refusal(path, [&] { tr::io::read_csv<float>(path); }) == "line 1, column 2: '\\x1b[2Jx' is not a number");
}

BOOST_FIXTURE_TEST_CASE(values_of_an_npz_file_that_the_type_cannot_hold_are_refused, Folder) {
  std::string const path = file("m.npz");
  std::vector<std::int64_t> count(1);
  std::vector<std::uint8_t> byte(1);
  for (double const value : {1e300, -1e300, 0.5, std::numeric_limits<double>::quiet_NaN()}) {
    npz(path, {{"layer/0", npy("<f8", "(1,)", bytes_of(std::vector{value}))}});
    BOOST_TEST(read_one<std::int64_t>(path, {1}, count).find("does not fit the type asked for") != std::string::npos);
  }
  npz(path, {{"layer/0", npy("<i8", "(1,)", bytes_of(std::vector<std::int64_t>{256}))}});
  BOOST_TEST(read_one<std::uint8_t>(path, {1}, byte).find("the value 256 does not fit the type asked for") !=
             std::string::npos);
  BOOST_TEST(count[0] == 0);
  BOOST_TEST(byte[0] == 0);
}

BOOST_FIXTURE_TEST_CASE(a_member_far_larger_than_the_model_is_not_read, Folder) {
  std::string const path = npz(file("m.npz"), {{"layer/0", npy("<f4", "(1000000,)", std::string(4000000, 'x'))}});
  std::vector<float> values(2);
  BOOST_TEST(read_one<float>(path, {2}, values).ends_with("more than an array of the model's shape"));
}

BOOST_FIXTURE_TEST_CASE(all_types_and_orders_of_numpy_are_weights, Folder) {
  std::vector<float> values(2);
  std::string const path = npz(file("m.npz"), {{"layer/0", npy(">i2", "(2,)", std::string("\1\0\0\2", 4))}});
  BOOST_TEST(read_one<float>(path, {2}, values) == "read");
  BOOST_TEST(values[0] == 256);
  BOOST_TEST(values[1] == 2);
}

BOOST_FIXTURE_TEST_CASE(names_of_layers_are_text_of_the_length_that_is_there, Folder) {
  std::string const path = file("m.npz");
  for (auto const& [array, result] :
       {std::pair{npy("|u1", "(3, 0)", ""), "read"},
        {npy("|u1", "(2, 3)", "abcdef"), "read"},
        {npy("<i8", "(1,)", bytes_of(std::vector<std::int64_t>{300})),
         "'layer_names' byte 68: the value 300 does not fit the type asked for"},
        {npy("|u1", "(18446744073709551615,)", "abc"),
         "'layer_names' is truncated: extents (18446744073709551615,) of 1 bytes each do not fit the 3 bytes after the "
         "header"}}) {
    npz(path, {{"layer_names", array}});
    BOOST_TEST(refusal(path, [&] { tr::weights_index(path); }) == result);
    BOOST_TEST(refusal(path, [&] { tr::npz_name(path, "layers/dense/vars"); }) == result);
  }
}

BOOST_FIXTURE_TEST_CASE(the_index_looks_at_no_arrays_but_weights, Folder) {
  std::string const path = file("m.npz");
  npz(path, {{"note", npy("<U5", "()", std::string(20, 'x'))},
             {"layers/dense/note", npy("|b1", "(1,)", "1")},
             {"layers/dense/vars/0", npy("<f4", "(2, 1)", std::string(8, '\0'))}});
  auto const index = tr::weights_index(path);
  BOOST_TEST(index.size() == 1u);
  BOOST_TEST(index.at(0).group == "layers/dense/vars");
}

BOOST_FIXTURE_TEST_CASE(arrays_that_lie_in_each_other_are_refused, Folder) {
  std::string const path = file("m.npz"), array = npy("|u1", "(1000,)", std::string(1000, 'x'));
  npz(path, {{"a", array}, {"b", ""}, {"c", ""}});
  std::string bytes = text_of(path);
  std::size_t const first = bytes.find("PK\1\2"), size = 46 + 5;
  for (std::size_t other : {first + size, first + 2 * size})
    for (auto const& [begin, count] : {std::pair{16, 12}, {42, 4}})  // checksum and sizes, place
      bytes.replace(other + static_cast<std::size_t>(begin), static_cast<std::size_t>(count), bytes,
                    first + static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
  write(path, bytes);
  BOOST_TEST(refusal(path, [&] { tr::weights_index(path); }) == "'b' lies where other arrays are");
}

namespace {

/// A sealed checkpoint without weights, whose table of contents is `contents`.
std::string checkpoint(std::string const& path, std::int64_t size, std::string const& contents,
                       std::vector<std::pair<std::string, std::string>> members = {}) {
  members.emplace_back("run/contents_size", npy("<i8", "()", bytes_of(std::vector{size})));
  members.emplace_back("run/contents", npy("|u1", "(" + std::to_string(contents.size()) + ",)", contents));
  return npz(path, members, true);
}

std::string read_checkpoint(std::string const& path) {
  tr::StoredTensors tensors;
  std::string report;
  return refusal(path, [&] { tr::CheckpointFile(path).read(tensors, report); });
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_checkpoint_with_a_seal_is_not_trusted, Folder) {
  std::string const path = file("run.npz");
  for (std::int64_t const size : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(), std::int64_t{1} << 60}) {
    checkpoint(path, size, "");
    std::string const text = read_checkpoint(path);
    BOOST_TEST(text.starts_with("'run/contents_size' is " + std::to_string(size) + ", which is not within [0, "), text);
  }
  for (char const* const line :
       {"a 7 0", "a -1 0", "a 1 1152921504606846976", "a 1 2 4294967296 4294967296", "a 0 1 18446744073709551615",
        "a 0 1 -1", "a 0 2 3", "a 0 0 5", "a 0", "a", " 0 0", "a 4294967296 0", "a 0 1 99999999999999999999999"}) {
    std::string const contents = std::string(line) + "\n";
    checkpoint(path, static_cast<std::int64_t>(contents.size()), contents);
    BOOST_TEST(read_checkpoint(path) == "line 1 of its table of contents states no tensor", line);
  }
  std::string const large = "b 1 0\na 0 1 1000000000\n";
  checkpoint(path, static_cast<std::int64_t>(large.size()), large);
  BOOST_TEST(read_checkpoint(path).starts_with(
      "line 2 of its table of contents states a tensor of 4000000000 bytes, of which there are "));
  std::string const twice = "a 2 0\na 2 0\n";
  checkpoint(path, static_cast<std::int64_t>(twice.size()), twice);
  BOOST_TEST(read_checkpoint(path) == "line 2 of its table of contents states a tensor again");
  std::string const good = "a 2 0\n";
  checkpoint(path, static_cast<std::int64_t>(good.size()), good, {{"run/a", npy("<i8", "()", std::string(8, '\1'))}});
  BOOST_TEST(read_checkpoint(path) == "read");
}

namespace {

struct Engine {
  using T = float;
  using Snapshot = int;
  struct Description {
    std::size_t arena_elements() const { return 3; }
  };
  struct Model {
    Description description() const { return {}; }
  };
  Model model() const { return {}; }
  template <class Archive>
  void state(Archive&) {}
  Engine const& weights() const { return *this; }
  std::vector<float> gather(int) const { return {1, 2, 3}; }
  int scatter(std::vector<float> const& weights) const { return static_cast<int>(weights.at(2)); }
};

Engine engine;

/// What becomes of `value` if a checkpoint holds this number under "it", or in it.
template <class V, class Stored>
std::string load(V value, std::string const& name, tr::ElementType type, std::vector<Stored> const& stored) {
  tr::Archive<Engine> saving(engine, "run.h5");
  saving("it", value);
  tr::StoredTensors tensors = saving.tensors();
  tensors.at(name) = {type, stored.size() == 1 ? std::vector<std::size_t>{} : std::vector<std::size_t>{stored.size()},
                      bytes_of(stored)};
  tr::Archive<Engine> loading(engine, "run.h5", tensors);
  return refusal("run.h5", [&] { loading("it", value); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(values_of_a_checkpoint_that_cannot_be_are_refused) {
  using Numbers = std::vector<std::int64_t>;
  auto const int64 = tr::ElementType::int64;
  BOOST_TEST(load(std::vector<std::string>{"x"}, "it/size", int64, Numbers{-1}) ==
             "states 18446744073709551615 elements 'it/', of which there are 2 at most");
  BOOST_TEST(load(std::vector<std::string>{"x"}, "it/size", int64, Numbers{3}) ==
             "states 3 elements 'it/', of which there are 2 at most");
  BOOST_TEST(load(std::int8_t{1}, "it", int64, Numbers{128}) == "has the value 128 'it', which its type cannot hold");
  BOOST_TEST(load(true, "it", int64, Numbers{2}) == "has the value 2 'it', which its type cannot hold");
  BOOST_TEST(load(std::vector<int>{1}, "it", int64, Numbers{std::int64_t{1} << 40, 0}) ==
             "has the value 1099511627776 'it', which its type cannot hold");
  BOOST_TEST(load(std::uint64_t{1}, "it", int64, Numbers{1, 2}) == "has 2 values 'it' in place of 1");
}

BOOST_AUTO_TEST_CASE(a_snapshot_of_another_number_of_weights_is_refused) {
  tr::Snapshot snapshot;
  snapshot.set(tr::SnapshotHandle<int>{.weights = 1});
  tr::Archive<Engine> saving(engine, "run.h5");
  saving("it", snapshot);
  tr::StoredTensors tensors = saving.tensors();
  auto& weights = tensors.at("it/weights/of_chief");
  weights = {weights.type, {2}, weights.bytes.substr(0, 8)};
  tr::Archive<Engine> loading(engine, "run.h5", tensors);
  BOOST_TEST(refusal("run.h5", [&] { loading("it", snapshot); }) == "has 2 values 'it/weights/of_chief' in place of 3");
}

BOOST_AUTO_TEST_CASE(sums_of_another_number_are_refused) {
  std::vector<double> three{1, 2, 3}, two{1, 2};
  tr::Archive<Engine> saving(engine, "run.h5");
  saving.summands("sums", tr::SingleProcess{}, three, 1);
  tr::Archive<Engine> loading(engine, "run.h5", saving.tensors());
  BOOST_TEST(refusal("run.h5", [&] { loading.summands("sums", tr::SingleProcess{}, two, 1); }) ==
             "has 3 values 'sums' in place of 2");
}

BOOST_AUTO_TEST_CASE(a_name_that_a_table_of_contents_cannot_hold_is_refused_when_it_is_saved) {
  tr::Archive<Engine> saving(engine, "run.h5");
  int value = 1;
  BOOST_TEST(refusal("run.h5", [&] { saving("two words", value); }) ==
             "would have a value of the name 'two words', and names have no blanks");
}

#ifdef TRIREME_HAVE_ZLIB
namespace {

/// A member of a gzip file.
std::string member(std::string const& path, std::string const& content) {
  gzFile const out = gzopen(path.c_str(), "wb9");
  gzwrite(out, content.data(), static_cast<unsigned>(content.size()));
  gzclose(out);
  return text_of(path);
}

/// 256 MiB of zeros behind a head.
std::string compressed(std::string const& path, std::string const& head) {
  std::string const zeros = member(path, std::string(std::size_t{1} << 20, '\0'));
  std::string bytes = member(path, head);
  for (int i = 0; i < 256; ++i) bytes += zeros;
  return write(path, bytes);
}

/// MiB that f takes at most beyond what there was, in a process of its own.
template <class F>
long memory_of(F const& f) {
  auto const peak = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss / 1024;
  };
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe(ends.data()) == 0);
  pid_t const child = ::fork();
  if (child == 0) {
    long const before = peak();
    try {
      f();
    } catch (std::exception const&) {
    }
    long const taken = peak() - before;
    ::_exit(::write(ends[1], &taken, sizeof(taken)) == sizeof(taken) ? 0 : 1);
  }
  ::close(ends[1]);
  long taken = -1;
  BOOST_TEST(::read(ends[0], &taken, sizeof(taken)) == static_cast<ssize_t>(sizeof(taken)));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return taken;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(compressed_zeros_are_decompressed_no_further_than_the_header_states, Folder) {
  std::string const idx = compressed(file("x.idx.gz"), std::string("\0\0\x08\1\0\0\0\5", 8));
  std::string const table = compressed(file("x.csv.gz"), "1\n");
  std::string const array = compressed(file("x.npy.gz"), npy("|u1", "(5,)", ""));
  BOOST_TEST(refusal(idx, [&] { tr::io::read_idx(idx); }) == "byte 13: more bytes follow the last of the 5 values");
  BOOST_TEST(
      refusal(array, [&] { tr::io::read_npy<float>(array); }).ends_with("more bytes follow the last of the 5 values"));
  BOOST_TEST(refusal(table, [&] { tr::io::read_csv<float>(table); }) ==
             "line 2: has more than 16777216 bytes, which no row of a table has");
  BOOST_TEST(memory_of([&] { tr::io::read_idx(idx); }) < 200);
  BOOST_TEST(memory_of([&] { tr::io::read_npy<float>(array); }) < 200);
  BOOST_TEST(memory_of([&] { tr::io::read_csv<float>(table); }) < 200);
}

BOOST_FIXTURE_TEST_CASE(an_array_that_compressed_data_can_hardly_hold_is_refused, Folder) {
  std::string const path = compressed(file("x.npy.gz"), npy("|u1", "(268435456,)", ""));
  BOOST_TEST(refusal(path, [&] { tr::io::read_npy<float>(path); }).starts_with("is truncated: extents (268435456,)"));
  BOOST_TEST(memory_of([&] { tr::io::read_npy<float>(path); }) < 200);
}
#endif

#ifdef TRIREME_HAVE_HDF5
namespace {

using tr::detail::Hdf5Handle;

/// A file of weights with one data set "layers/vars/0" of two floats, made by `make(group)`.
template <class Make>
std::string weights(std::string const& path, Make const& make) {
  Hdf5Handle const file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
  Hdf5Handle const layers(H5Gcreate2(file, "layers", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  Hdf5Handle const group(H5Gcreate2(layers, "vars", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  make(static_cast<hid_t>(group));
  return path;
}

Hdf5Handle row(std::size_t size) {
  hsize_t const extent = size;
  return {H5Screate_simple(1, &extent, nullptr), H5Sclose};
}

Hdf5Handle data_set(hid_t group, char const* name, hid_t type, hid_t space, hid_t creation = H5P_DEFAULT) {
  return {H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT), H5Dclose};
}

Hdf5Handle creation() { return {H5Pcreate(H5P_DATASET_CREATE), H5Pclose}; }

template <class T>
std::string read_weights(std::string const& path, std::vector<T>& values, std::vector<std::size_t> extents) {
  std::array const wanted{tr::named_destination({"layers", "vars"}, 0, std::move(extents), values.data())};
  std::string const alone = refusal(path, [&] { tr::read_tensors_h5(path, wanted); });
  BOOST_TEST(refusal(path, [&] { tr::read_weights_h5(path, wanted); }) == alone);
  return alone;
}

std::string read_two_floats(std::string const& path) {
  std::vector<float> values(2, -1);
  std::string const text = read_weights(path, values, {2});
  BOOST_TEST((text == "read") == (values[0] != -1));
  return text;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(weights_that_lie_in_another_file_are_refused, Folder) {
  std::string const secret = write(file("secret"), "12345678");
  std::string const external = weights(file("external.weights.h5"), [&](hid_t group) {
    auto const properties = creation();
    H5Pset_external(properties, secret.c_str(), 0, 8);
    data_set(group, "0", H5T_IEEE_F32LE, row(2), properties);
  });
  BOOST_TEST(read_two_floats(external) ==
             "'layers/vars/0' is stored in other files, and weights lie in the file itself");

  std::string const other = weights(file("other.h5"), [&](hid_t group) {
    std::array const values{1.0f, 2.0f};
    auto const data = data_set(group, "0", H5T_IEEE_F32LE, row(2));
    H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  });
  BOOST_TEST(read_two_floats(other) == "read");
  std::string const virtual_one = weights(file("virtual.weights.h5"), [&](hid_t group) {
    auto const properties = creation();
    H5Pset_virtual(properties, row(2), other.c_str(), "layers/vars/0", row(2));
    data_set(group, "0", H5T_IEEE_F32LE, row(2), properties);
  });
  BOOST_TEST(read_two_floats(virtual_one) ==
             "'layers/vars/0' is a virtual data set, and weights lie in the file itself");

  std::string const link = weights(file("link.weights.h5"), [&](hid_t group) {
    H5Lcreate_external(other.c_str(), "layers/vars/0", group, "0", H5P_DEFAULT, H5P_DEFAULT);
  });
  BOOST_TEST(read_two_floats(link) == "'layers/vars/0' is an external link, and weights lie in the file itself");
  std::string const above = file("above.weights.h5");
  {
    Hdf5Handle const made(H5Fcreate(above.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    H5Lcreate_external(other.c_str(), "layers", made, "layers", H5P_DEFAULT, H5P_DEFAULT);
  }
  BOOST_TEST(read_two_floats(above) == "'layers' is an external link, and weights lie in the file itself");
  BOOST_TEST(refusal(above, [&] { tr::weights_h5_holds(above, "layers/vars/0"); }) ==
             "'layers' is an external link, and weights lie in the file itself");
}

BOOST_FIXTURE_TEST_CASE(soft_links_and_circles_are_refused, Folder) {
  std::string const circle = weights(file("circle.weights.h5"), [&](hid_t group) {
    H5Lcreate_soft("/layers/vars/0", group, "0", H5P_DEFAULT, H5P_DEFAULT);
  });
  BOOST_TEST(read_two_floats(circle) == "'layers/vars/0' is a soft link, and weights lie in the file itself");
}

BOOST_FIXTURE_TEST_CASE(an_index_of_groups_that_contain_themselves_ends, Folder) {
  std::string const path = weights(file("circle.weights.h5"), [&](hid_t group) {
    for (char const* const name : {"a", "b", "c"}) H5Lcreate_hard(group, ".", group, name, H5P_DEFAULT, H5P_DEFAULT);
  });
  BOOST_TEST(refusal(path, [&] { tr::weights_index(path); }).ends_with("' has more objects than any model"));
  std::string const above = file("above.weights.h5");
  {
    Hdf5Handle const made(H5Fcreate(above.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), H5Fclose);
    H5Lcreate_external(path.c_str(), "layers", made, "layers", H5P_DEFAULT, H5P_DEFAULT);
  }
  BOOST_TEST(refusal(above, [&] { tr::weights_index(above); }) ==
             "'layers' is an external link, and weights lie in the file itself");
}

BOOST_FIXTURE_TEST_CASE(data_sets_without_numbers_are_refused, Folder) {
  std::vector<float> one(1, -1);
  std::string const null = weights(file("null.weights.h5"), [&](hid_t group) {
    data_set(group, "0", H5T_IEEE_F32LE, Hdf5Handle(H5Screate(H5S_NULL), H5Sclose));
  });
  BOOST_TEST(read_weights(null, one, {}) == "'layers/vars/0' has no values: its data space is null");
  std::string const text = weights(file("text.weights.h5"), [&](hid_t group) {
    Hdf5Handle const type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type, H5T_VARIABLE);
    data_set(group, "0", type, row(2));
  });
  std::string const neither = "'layers/vars/0' holds neither integers nor floating-point numbers of at most 8 bytes";
  BOOST_TEST(read_two_floats(text) == neither);
  std::string const bytes = weights(file("bytes.weights.h5"), [&](hid_t group) {
    data_set(group, "0", Hdf5Handle(H5Tcreate(H5T_OPAQUE, 2), H5Tclose), row(2));
  });
  BOOST_TEST(read_two_floats(bytes) == neither);  // without the attribute that says bfloat16
  BOOST_TEST(one[0] == -1);
}

BOOST_FIXTURE_TEST_CASE(values_of_an_hdf5_file_that_the_type_cannot_hold_are_refused, Folder) {
  for (double const value : {1e300, 0.5, -1e300, std::numeric_limits<double>::quiet_NaN()}) {
    std::string const path = weights(file("m.weights.h5"), [&](hid_t group) {
      auto const data = data_set(group, "0", H5T_IEEE_F64LE, row(1));
      H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value);
    });
    std::vector<std::int64_t> count(1);
    BOOST_TEST(read_weights(path, count, {1}).starts_with("'layers/vars/0' cannot be read: "));
    std::vector<float> rounded(1);
    BOOST_TEST(read_weights(path, rounded, {1}) == "read");
  }
}

BOOST_FIXTURE_TEST_CASE(pieces_far_larger_than_the_values_are_refused, Folder) {
  auto const chunked = [&](hsize_t piece) {
    return weights(file("chunk.weights.h5"), [&](hid_t group) {
      auto const properties = creation();
      H5Pset_chunk(properties, 1, &piece);
      H5Pset_deflate(properties, 1);
      hsize_t const extent = 2, most = H5S_UNLIMITED;
      Hdf5Handle const space(H5Screate_simple(1, &extent, &most), H5Sclose);
      auto const data = data_set(group, "0", H5T_IEEE_F32LE, space, properties);
      std::array const values{1.0f, 2.0f};
      H5Dwrite(data, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    });
  };
  BOOST_TEST(read_two_floats(chunked(1000)) == "read");
  BOOST_TEST(read_two_floats(chunked(std::size_t{1} << 23)) ==
             "'layers/vars/0' is stored in pieces of 33554432 bytes, for 8 bytes of values");
}
#endif
