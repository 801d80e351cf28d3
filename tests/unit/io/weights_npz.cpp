#define BOOST_TEST_MODULE io_weights_npz
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "trireme/io/npz.hpp"
#include "trireme/io/weights_file.hpp"

#include "folder.hpp"
#include "weights_files.hpp"

namespace tr = trireme;
using tr::test::Folder;
using tr::test::message_of;
using tr::test::SmallModel;
using tr::test::text_of;

BOOST_AUTO_TEST_CASE(the_checksum_is_that_of_zip) {
  BOOST_TEST(tr::detail::zip_crc32("123456789", 9) == 0xcbf43926u);
  BOOST_TEST(tr::detail::zip_crc32("6789", 4, tr::detail::zip_crc32("12345", 5)) == 0xcbf43926u);
}

BOOST_FIXTURE_TEST_CASE(what_is_written_is_read, Folder) {
  SmallModel const written = SmallModel::filled();
  tr::write_weights(file("m.npz"), written.tensors());
  SmallModel read;
  tr::read_weights(file("m.npz"), read.destinations());
  BOOST_TEST((read == written));
}

BOOST_FIXTURE_TEST_CASE(element_types_are_converted, Folder) {
  SmallModel const written = SmallModel::filled();
  tr::write_npz(file("m.npz"), written.tensors());
  std::vector<double> kernel(18);
  std::vector<float> bias(2);
  tr::read_npz(file("m.npz"),
               std::vector{tr::named_destination({"layers", "conv2d", "vars"}, 0, {3, 3, 1, 2}, kernel.data()),
                           tr::named_destination({"layers", "conv2d", "vars"}, 1, {2}, bias.data())});
  BOOST_TEST(kernel[17] == 17.5);
  BOOST_TEST(bias[0] == 1.0f / 3);
}

BOOST_FIXTURE_TEST_CASE(an_array_of_data_is_read_by_its_name, Folder) {
  SmallModel const written = SmallModel::filled();
  std::string const path = file("m.npz");
  tr::write_npz(path, written.tensors());
  auto const bias = tr::io::read_npz<double>(path, "layers/conv2d/vars/1");
  BOOST_TEST(bias.extents == (std::vector<std::size_t>{2}), boost::test_tools::per_element());
  BOOST_TEST(bias.data[0] == 1.0 / 3);
  BOOST_TEST(bias.name() == "'layers/conv2d/vars/1' of " + path);
  BOOST_TEST(message_of<tr::FileError>([&] { tr::io::read_npz<float>(path, "x"); }) == path + ": holds no array 'x'");
  BOOST_TEST(message_of<tr::FileError>([&] { tr::io::read_npz<std::uint8_t>(path, "layers/conv2d/vars/1"); }) ==
             path + ": 'layers/conv2d/vars/1' byte 128: the value 0.3333333333333333 does not fit the type asked for");
}

BOOST_FIXTURE_TEST_CASE(of_two_arrays_of_a_name_the_last_is_read, Folder) {  // as by numpy.load
  std::string const path = file("m.npz");
  double const before = 1, after = 2;
  tr::write_npz(path, std::vector<tr::NamedTensor>{tr::named_tensor({"layers"}, 0, {1}, &before),
                                                   tr::named_tensor({"layers"}, 0, {1}, &after)});
  BOOST_TEST(tr::io::read_npz<double>(path, "layers/0").data[0] == 2);
}

BOOST_FIXTURE_TEST_CASE(a_group_has_the_name_that_it_was_written_with, Folder) {
  std::string const path = file("m.npz");
  tr::NamedGroup const group{{"optimizer", "vars"}, "Adam (momentum, velocity)", "optimizer"};
  tr::write_weights(path, SmallModel::filled().tensors(), std::vector{group});
  BOOST_TEST(tr::weights_name(path, group) == group.name);
  BOOST_TEST(tr::weights_name(path, {{"layers", "conv2d", "vars"}, ""}) == "");
  tr::write_weights(path, SmallModel::filled().tensors());
  BOOST_TEST(tr::weights_name(path, group) == "");
}

BOOST_FIXTURE_TEST_CASE(a_mismatch_names_the_array_and_both_shapes_and_reads_nothing, Folder) {
  SmallModel const written = SmallModel::filled();
  std::string const path = file("m.npz");
  tr::write_npz(path, written.tensors());
  SmallModel read;
  auto wanted = read.destinations();
  wanted[1].extents = {2, 1};
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_npz(path, wanted); }) ==
             path + ": 'layers/conv2d/vars/1' has shape (2,), but the model's is (2, 1)");
  wanted[1].extents = {2};
  wanted[1].index = 7;
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_npz(path, wanted); }) ==
             path + ": holds no array 'layers/conv2d/vars/7'");
  BOOST_TEST((read == SmallModel{}));
}

BOOST_FIXTURE_TEST_CASE(a_file_that_is_cut_short_or_changed_is_an_error_at_every_byte, Folder) {
  SmallModel const written = SmallModel::filled();
  std::string const path = file("m.npz");
  tr::write_npz(path, written.tensors());
  std::string const whole = text_of(path);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, size);
    SmallModel read;
    BOOST_REQUIRE_THROW(tr::read_npz(path, read.destinations()), tr::FileError);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    std::ofstream(path, std::ios::binary) << changed;
    SmallModel read;
    try {
      tr::read_npz(path, read.destinations());
      BOOST_REQUIRE((read == written));  // a byte that means nothing, such as a date
    } catch (tr::FileError const&) {
      BOOST_REQUIRE((read == SmallModel{}));
    }
  }
}

// The eight bytes of a seal's checksum may be any.
BOOST_FIXTURE_TEST_CASE(the_mark_of_the_end_record_within_a_seal_or_a_comment_ends_no_search, Folder) {
  std::string const path = file("m.npz");
  SmallModel const written = SmallModel::filled();
  auto const bytes_of = [&](bool with_seal) {
    tr::write_npz(path, written.tensors(), {}, with_seal);
    return text_of(path);
  };
  std::string const sealed = bytes_of(true), plain = bytes_of(false);
  auto const reads = [&](std::string const& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    SmallModel read;
    return message_of<tr::FileError>([&] { tr::read_weights(path, read.destinations()); }) +
           (read == written ? "=" : "");
  };
  for (std::size_t at = 0; at + 4 <= 8; ++at)
    BOOST_TEST(reads(std::string(sealed).replace(sealed.size() - 8 + at, 4, "PK\5\6")) == "=", at);
  std::string const comment = "PK\5\6 and what else a program writes into a comment";
  std::string commented = plain + comment;
  commented.at(plain.size() - 2) = static_cast<char>(comment.size());
  BOOST_TEST(reads(commented) == "=");
  BOOST_TEST(reads(plain + "\n") == "=");  // as by numpy.load
  BOOST_TEST(reads(comment) == path + ": is no .npz file, or a part of one: it has no directory at its end");
  BOOST_TEST(reads("PK\5\6") == path + ": is no .npz file, or a part of one: it has no directory at its end");
}

BOOST_FIXTURE_TEST_CASE(names_of_files_are_looked_at, Folder) {
  std::string const absent = file("absent.npz");
  SmallModel model;
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_weights(absent, model.destinations()); }) ==
             absent + ": cannot be opened: No such file or directory");
  BOOST_TEST(message_of<tr::FileError>([&] { tr::write_weights("m.txt", model.tensors()); }) ==
             "m.txt: is no name of a file of weights, which ends in .weights.h5 or .npz");
}

BOOST_FIXTURE_TEST_CASE(numpy_reads_and_writes_these_files, Folder) {
  if (std::system("python3 -c 'import numpy' 2> /dev/null") != 0) {
    BOOST_TEST_MESSAGE("python3 has no numpy here");
    return;
  }
  SmallModel const written = SmallModel::filled();
  tr::write_npz(file("ours.npz"), written.tensors());
  std::ofstream(file("t.py")) << R"(
import sys, numpy, zipfile
assert zipfile.ZipFile(sys.argv[1]).testzip() is None
ours = numpy.load(sys.argv[1])
assert sorted(ours) == ["layers/conv2d/vars/0", "layers/conv2d/vars/1", "optimizer/vars/0", "optimizer/vars/1"]
kernel = ours["layers/conv2d/vars/0"]
assert kernel.shape == (3, 3, 1, 2) and kernel.dtype == numpy.float32 and kernel[2, 2, 0, 1] == 17.5
assert ours["layers/conv2d/vars/1"].tolist() == [1 / 3, -2e-300]
assert ours["optimizer/vars/0"].shape == () and int(ours["optimizer/vars/0"]) == 2**40 + 1
numpy.savez(sys.argv[2], **{name: ours[name] for name in ours})
numpy.savez_compressed(sys.argv[3], **{name: ours[name] for name in ours})
)";
  std::string const command =
      "python3 " + file("t.py") + " " + file("ours.npz") + " " + file("numpys.npz") + " " + file("small.npz");
  BOOST_REQUIRE(std::system(command.c_str()) == 0);
  SmallModel read;
  tr::read_npz(file("numpys.npz"), read.destinations());
  BOOST_TEST((read == written));
  BOOST_TEST(message_of<tr::FileError>([&] { tr::read_npz(file("small.npz"), read.destinations()); }) ==
             file("small.npz") + ": 'layers/conv2d/vars/0.npy' is compressed; use numpy.savez");
}
