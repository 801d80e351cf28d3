#define BOOST_TEST_MODULE io_weights_h5
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "trireme/io/weights_file.hpp"
#include "trireme/io/weights_h5.hpp"

#include "folder.hpp"
#include "weights_files.hpp"

namespace tr = trireme;
using tr::test::Folder;
using tr::test::message_of;
using tr::test::SmallModel;
using tr::test::text_of;

#ifdef TRIREME_HAVE_HDF5

namespace {

std::vector<tr::NamedGroup> groups() {
  return {
      {{"layers", "conv2d", "vars"}, "my_layer"}, {{"layers", "flatten", "vars"}, "flatten"}, {{"vars"}, "sequential"}};
}

std::string attribute(std::string const& path, char const* group) {
  tr::detail::Hdf5Handle const file(H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  tr::detail::Hdf5Handle const attribute(H5Aopen_by_name(file, group, "name", H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  tr::detail::Hdf5Handle const type(H5Aget_type(attribute), H5Tclose);
  char* text = nullptr;
  BOOST_REQUIRE(H5Aread(attribute, type, &text) >= 0);
  std::string const copy = text;
  H5free_memory(text);
  return copy;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(what_is_written_is_read, Folder) {
  SmallModel const written = SmallModel::filled();
  tr::write_weights(file("m.weights.h5"), written.tensors(), groups());
  SmallModel read;
  tr::read_weights(file("m.weights.h5"), read.destinations());
  BOOST_TEST((read == written));
  BOOST_TEST(entries() == 1u);
}

BOOST_FIXTURE_TEST_CASE(equal_weights_are_equal_files, Folder) {
  using std::chrono::seconds, std::chrono::system_clock;
  SmallModel const written = SmallModel::filled();
  tr::write_weights(file("before.weights.h5"), written.tensors(), groups());
  std::this_thread::sleep_until(std::chrono::floor<seconds>(system_clock::now()) + seconds(1));  // as HDF5 counts
  tr::write_weights(file("after.weights.h5"), written.tensors(), groups());
  BOOST_TEST((text_of(file("before.weights.h5")) == text_of(file("after.weights.h5"))));
}

BOOST_FIXTURE_TEST_CASE(groups_carry_their_names_and_exist_without_variables, Folder) {
  SmallModel const written = SmallModel::filled();
  tr::write_weights_h5(file("m.weights.h5"), written.tensors(), groups());
  BOOST_TEST(attribute(file("m.weights.h5"), "layers/conv2d/vars") == "my_layer");
  BOOST_TEST(attribute(file("m.weights.h5"), "layers/flatten/vars") == "flatten");
}

BOOST_FIXTURE_TEST_CASE(element_types_are_converted, Folder) {
  SmallModel const written = SmallModel::filled();
  tr::write_weights_h5(file("m.weights.h5"), written.tensors());
  std::vector<double> kernel(18);
  std::vector<float> bias(2);
  tr::read_weights_h5(file("m.weights.h5"),
                      std::vector{tr::named_destination({"layers", "conv2d", "vars"}, 0, {3, 3, 1, 2}, kernel.data()),
                                  tr::named_destination({"layers", "conv2d", "vars"}, 1, {2}, bias.data())});
  BOOST_TEST(kernel[17] == 17.5);
  BOOST_TEST(bias[0] == 1.0f / 3);
}

BOOST_FIXTURE_TEST_CASE(a_mismatch_names_the_data_set_and_both_shapes_and_reads_nothing, Folder) {
  SmallModel const written = SmallModel::filled();
  std::string const path = file("m.weights.h5");
  tr::write_weights_h5(path, written.tensors());
  SmallModel read;
  auto wanted = read.destinations();
  wanted[1].extents = {2, 1};
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_weights_h5(path, wanted); }) ==
             path + ": 'layers/conv2d/vars/1' has shape (2,), but the model's is (2, 1)");
  wanted[1].extents = {2};
  wanted[1].layer_path[1] = "dense";
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_weights_h5(path, wanted); }) ==
             path + ": holds no data set 'layers/dense/vars/1'");
  wanted = read.destinations();
  wanted.erase(wanted.begin() + 1);
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_weights_h5(path, wanted); }) ==
             path + ": 'layers/conv2d/vars' holds 2 variables, but the model has 1");
  BOOST_TEST((read == SmallModel{}));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_cut_short_or_of_another_kind_is_an_error, Folder) {
  SmallModel const written = SmallModel::filled();
  std::string const path = file("m.weights.h5");
  tr::write_weights_h5(path, written.tensors());
  std::string const whole = text_of(path);
  SmallModel read;
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    std::string const message = message_of<tr::FileError>([&] { tr::read_weights_h5(path, read.destinations()); });
    BOOST_REQUIRE(message.starts_with(path + ": is no HDF5 file, or a part of one: "));
  }
  std::ofstream(path, std::ios::binary) << std::string(4096, 'x');
  BOOST_CHECK_THROW(tr::read_weights_h5(path, read.destinations()), tr::FileError);
  std::string const absent = file("absent.weights.h5");
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_weights_h5(absent, read.destinations()); }) ==
             absent + ": cannot be opened: No such file or directory");
  BOOST_TEST((read == SmallModel{}));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_cannot_be_written_leaves_nothing_behind, Folder) {
  SmallModel const written = SmallModel::filled();
  std::string const path = file("m.weights.h5");
  auto tensors = written.tensors();
  tensors.push_back(tensors[0]);  // the same name twice
  std::string const message = message_of<tr::FileError>([&] { tr::write_weights_h5(path, tensors); });
  BOOST_TEST(message.starts_with(path + ": layers/conv2d/vars/0 cannot be written: "), message);
  BOOST_TEST(entries() == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_group_has_the_attribute_that_it_was_written_with, Folder) {
  std::string const path = file("m.weights.h5");
  tr::NamedGroup const group{{"optimizer", "vars"}, "Adam (momentum, velocity)", "optimizer"};
  SmallModel const model = SmallModel::filled();
  tr::write_weights(path, model.tensors(), std::vector{group});
  BOOST_TEST(tr::weights_name(path, group) == group.name);
  BOOST_TEST(tr::weights_name(path, {group.path, ""}) == "");  // the attribute "name"
  BOOST_TEST(tr::weights_name(path, {{"layers", "dense", "vars"}, ""}) == "");
  BOOST_TEST(tr::weights_name(path, {{"optimizer", "vars", "0"}, ""}) == "");  // no group
}

BOOST_FIXTURE_TEST_CASE(a_disk_that_is_full_is_one_sentence_that_names_the_file, Folder) {
  SmallModel const written = SmallModel::filled();
  std::vector<float> const large(1 << 16, 1.5f);
  auto tensors = written.tensors();
  tensors.push_back(tr::named_tensor({"layers", "dense", "vars"}, 0, {large.size()}, large.data()));
  std::string const path = file("m.weights.h5");
  tr::write_weights_h5(path, tensors, groups());
  std::string const whole = text_of(path);
  std::size_t const before = tr::test::open_files();
  for (std::size_t const limit : {std::size_t{0}, std::size_t{100}, std::size_t{5000}, whole.size() - 1}) {
    std::string message;
    {
      tr::test::FileSizeLimit const full(limit);
      message = message_of<tr::FileError>([&] { tr::write_weights_h5(path, tensors, groups()); });
    }
    BOOST_TEST_CONTEXT(limit << " bytes") {
      BOOST_TEST(message.starts_with(path + ": "), message);
      BOOST_TEST(message.ends_with("cannot be written: File too large"), message);
      BOOST_TEST(message.find_first_of("\n\t") == std::string::npos, message);
      BOOST_TEST((text_of(path) == whole));
      BOOST_TEST(entries() == 1u);
      BOOST_TEST(tr::test::open_files() == before);
    }
  }
  tr::write_weights_h5(path, tensors, groups());
  BOOST_TEST((text_of(path).size() == whole.size()));
}

BOOST_AUTO_TEST_CASE(of_what_hdf5_says_the_gist_is_kept) {
  using tr::detail::hdf5_gist;
  BOOST_TEST(hdf5_gist("name already exists") == "name already exists");
  BOOST_TEST(hdf5_gist("truncated file: eof = 97, sblock->base_addr = 0, stored_eof = 2048") ==
             "truncated file: eof = 97, sblock->base_addr = 0, stored_eof = 2048");
  BOOST_TEST(hdf5_gist("file write failed: time = Sun Nov 22 21:39:22 2026\n, filename = 'a', file descriptor = 4, "
                       "errno = 28, error message = 'No space left on device', buf = 0x55c8456b89d0, offset = 0") ==
             "No space left on device");
  BOOST_TEST(hdf5_gist("file write failed: time = Sun Nov 22 21:39:22 2026\n, filename = 'a'") == "file write failed");
  BOOST_TEST(hdf5_gist("cannot free the object at 0x55c8456b89d0") == "cannot free the object at");
}

#else

BOOST_AUTO_TEST_CASE(without_hdf5_the_name_is_refused_with_the_way_out) {
  BOOST_TEST(message_of<tr::FileError>([] { tr::require_weights_path("m.weights.h5"); }) ==
             "m.weights.h5: is an HDF5 file, and this program was built without HDF5");
}

#endif
