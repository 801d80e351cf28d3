// Law 5: a checkpoint is whole or absent, and the last good one is kept.
#define BOOST_TEST_MODULE io_checkpoint_file
#include <boost/test/unit_test.hpp>

#include <array>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "trireme/io/checkpoint_file.hpp"
#include "trireme/io/npz.hpp"
#include "trireme/io/weights_h5.hpp"

#include "folder.hpp"
#include "weights_files.hpp"

namespace tr = trireme;
using tr::test::Folder;
using tr::test::message_of;
using tr::test::text_of;

namespace {

std::vector<char const*> const kinds{
#ifdef TRIREME_HAVE_HDF5
    "run.h5",
#endif
    "run.npz"};

/// A checkpoint that holds one number, at two places.
void write(tr::CheckpointFile const& file, double value) {
  std::int64_t const number = static_cast<std::int64_t>(value);
  tr::StoredTensors tensors;
  tensors["position/epoch"] = {tr::ElementType::int64, {}, std::string(reinterpret_cast<char const*>(&number), 8)};
  tensors["callbacks/0/name"] = {tr::ElementType::uint8, {5}, "a/b c"};
  tensors["callbacks/0/empty"] = {tr::ElementType::float64, {0}, ""};
  file.write(std::array{tr::named_tensor({"layers", "dense", "vars"}, 0, {1}, &value)}, {}, tensors);
}

/// What it holds, or -1 if there is none.
double read(tr::CheckpointFile const& file, std::string& report, std::string* path = nullptr) {
  double value = 0;
  tr::StoredTensors tensors;
  std::string const found = file.read(tensors, report);
  if (path != nullptr) *path = found;
  if (found.empty()) return -1;
  file.read_weights(found, std::array{tr::named_destination({"layers", "dense", "vars"}, 0, {1}, &value)});
  BOOST_TEST(tensors.size() == 3u);
  BOOST_TEST(tensors["position/epoch"].bytes[0] == static_cast<char>(value));
  BOOST_TEST(tensors["callbacks/0/name"].bytes == "a/b c");
  BOOST_TEST(tensors["callbacks/0/empty"].size() == 0u);
  return value;
}
double read(tr::CheckpointFile const& file) {
  std::string report;
  double const value = read(file, report);
  BOOST_TEST(report == "");
  return value;
}

void flip(std::string const& path, std::size_t at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(static_cast<std::streamoff>(at));
  char const byte = static_cast<char>(file.get() ^ 0x10);
  file.seekp(static_cast<std::streamoff>(at));
  file.put(byte);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_newest_is_read_and_the_one_before_is_kept, Folder) {
  for (auto const* kind : kinds) {
    tr::CheckpointFile const checkpoint(file(kind));
    BOOST_TEST(read(checkpoint) == -1);
    for (double value : {1.0, 2.0, 3.0}) {
      write(checkpoint, value);
      BOOST_TEST(read(checkpoint) == value);
    }
    std::filesystem::remove(checkpoint.path());
    BOOST_TEST(read(checkpoint) == 2);
    checkpoint.remove();
    BOOST_TEST(entries() == 0u);
  }
}

// Between its two renames, and before them.
BOOST_FIXTURE_TEST_CASE(one_that_is_complete_but_has_not_got_its_name_counts, Folder) {
  for (auto const* kind : kinds) {
    tr::CheckpointFile const checkpoint(file(kind));
    write(checkpoint, 1);
    write(checkpoint, 2);
    std::filesystem::rename(checkpoint.path(), checkpoint.path() + ".new");
    BOOST_TEST(read(checkpoint) == 2);
    std::filesystem::copy_file(checkpoint.previous(), checkpoint.path());
    BOOST_TEST(read(checkpoint) == 2);
    write(checkpoint, 3);
    BOOST_TEST(read(checkpoint) == 3);
    checkpoint.remove();
    BOOST_TEST(entries() == 0u);
  }
}

BOOST_FIXTURE_TEST_CASE(damage_anywhere_is_found_and_the_one_before_is_taken_and_not_lost, Folder) {
  for (auto const* kind : kinds) {
    tr::CheckpointFile const checkpoint(file(kind));
    write(checkpoint, 1);
    write(checkpoint, 2);
    std::string const whole = text_of(checkpoint.path());
    std::size_t found = 0, tried = 0;
    for (std::size_t at = 0; at < whole.size(); at += 1 + whole.size() / 200) {
      std::ofstream(checkpoint.path(), std::ios::binary) << whole;
      if (at % 2 == 0)
        std::filesystem::resize_file(checkpoint.path(), at);
      else
        flip(checkpoint.path(), at);
      std::string report;
      std::string path;
      bool const fell_back = read(checkpoint, report, &path) == 1 && path == checkpoint.previous();
      ++tried;
      if (!fell_back) continue;
      ++found;
      BOOST_TEST(report.starts_with(checkpoint.path() + ": "));
      BOOST_TEST(std::filesystem::exists(checkpoint.path() + ".damaged"));
    }
    BOOST_TEST(found == tried);
    BOOST_TEST(tried > 100u);
    std::filesystem::remove(checkpoint.path());
    write(checkpoint, 3);  // the good one stays the one before
    std::filesystem::remove(checkpoint.path());
    BOOST_TEST(read(checkpoint) == 1);
    checkpoint.remove();
    std::filesystem::remove(checkpoint.path() + ".damaged");
  }
}

BOOST_FIXTURE_TEST_CASE(if_all_are_damaged_that_is_an_error_and_no_fresh_start, Folder) {
  for (auto const* kind : kinds) {
    tr::CheckpointFile const checkpoint(file(kind));
    write(checkpoint, 1);
    write(checkpoint, 2);
    std::filesystem::resize_file(checkpoint.path(), 100);
    std::filesystem::resize_file(checkpoint.previous(), 10);
    BOOST_TEST(message_of<tr::FileError>([&] {
                 read(checkpoint);
               }).starts_with(checkpoint.path() + ": holds no checkpoint that is undamaged: "));
  }
}

void write_weights(std::string const& path) {
  auto const model = tr::test::SmallModel::filled();
#ifdef TRIREME_HAVE_HDF5
  if (path.ends_with(".h5")) return tr::write_weights_h5(path, model.tensors());
#endif
  tr::write_npz(path, model.tensors());
}

BOOST_FIXTURE_TEST_CASE(a_whole_file_of_weights_is_refused_and_stays_under_its_name, Folder) {
  for (auto const* kind : kinds) {
    tr::CheckpointFile const checkpoint(file(kind));
    write(checkpoint, 1);
    write(checkpoint, 2);
    write_weights(checkpoint.path());
    std::string const before = text_of(checkpoint.path());
    for (int i = 0; i < 2; ++i)
      BOOST_TEST(message_of<tr::FileError>([&] { read(checkpoint); }) ==
                 checkpoint.path() + ": holds weights or other data and no saved run; give the backup another path");
    BOOST_TEST(text_of(checkpoint.path()) == before);
    BOOST_TEST(!std::filesystem::exists(checkpoint.path() + ".damaged"));
    for (std::size_t const missing : {std::size_t{1}, std::size_t{20}, before.size() / 2, before.size() - 20}) {
      std::ofstream(checkpoint.path(), std::ios::binary) << before;
      std::filesystem::resize_file(checkpoint.path(), before.size() - missing);
      std::string report;
      BOOST_TEST(read(checkpoint, report) == 1, kind << " without its last " << missing << " bytes");
      BOOST_TEST(text_of(checkpoint.path() + ".damaged") == before.substr(0, before.size() - missing));
      std::filesystem::remove(checkpoint.path() + ".damaged");
    }
    checkpoint.remove();
  }
}

BOOST_FIXTURE_TEST_CASE(a_checkpoint_that_lacks_its_seal_is_damaged_and_no_file_of_weights, Folder) {
  for (auto const* kind : kinds) {
    tr::CheckpointFile const checkpoint(file(kind));
    write(checkpoint, 1);
    write(checkpoint, 2);
    std::string const whole = text_of(checkpoint.path());
    for (std::size_t missing = 1; missing <= 40; ++missing) {
      std::ofstream(checkpoint.path(), std::ios::binary) << whole.substr(0, whole.size() - missing);
      std::string report;
      BOOST_TEST(read(checkpoint, report) == 1, kind << " without its last " << missing << " bytes");
      BOOST_TEST(std::filesystem::exists(checkpoint.path() + ".damaged"));
    }
    std::ofstream(checkpoint.path(), std::ios::binary) << whole.substr(0, whole.size() - 16) << std::string(16, '\0');
    std::string report;
    BOOST_TEST(read(checkpoint, report) == 1);
    checkpoint.remove();
    std::filesystem::remove(checkpoint.path() + ".damaged");
  }
}

BOOST_FIXTURE_TEST_CASE(a_file_that_the_system_does_not_open_is_an_error_and_stays, Folder) {
  for (auto const* kind : kinds) {
    tr::CheckpointFile const checkpoint(file(kind));
    write(checkpoint, 1);
    write(checkpoint, 2);
    rlimit before{};
    BOOST_REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
    rlimit none = before;
    none.rlim_cur = 0;
    BOOST_REQUIRE(setrlimit(RLIMIT_NOFILE, &none) == 0);
    std::string const message = message_of<tr::FileError>([&] { read(checkpoint); });
    BOOST_REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
    BOOST_TEST(message == checkpoint.path() + ": cannot be read: Too many open files");
    BOOST_TEST(!std::filesystem::exists(checkpoint.path() + ".damaged"));
    BOOST_TEST(!std::filesystem::exists(checkpoint.previous() + ".damaged"));
    BOOST_TEST(read(checkpoint) == 2);
  }
}

BOOST_FIXTURE_TEST_CASE(what_a_killed_process_left_is_removed_and_nothing_else, Folder) {
  std::string const base = file("deep/er/run.npz");
  tr::CheckpointFile const checkpoint(base);
  checkpoint.prepare();
  write(checkpoint, 1);
  std::ofstream(base + ".new.123.4.tmp") << "half";
  std::ofstream(base + ".tmp") << "mine";
  checkpoint.prepare();
  BOOST_TEST(!std::filesystem::exists(base + ".new.123.4.tmp"));
  BOOST_TEST(std::filesystem::exists(base + ".tmp"));
  BOOST_TEST(read(checkpoint) == 1);
}

BOOST_FIXTURE_TEST_CASE(names_and_folders_that_cannot_be_are_errors, Folder) {
  BOOST_TEST(message_of<tr::FileError>([&] { tr::CheckpointFile(file("run.txt")); }) ==
             file("run.txt") + ": is no name of a checkpoint, which ends in .h5 or .npz");
  std::ofstream(file("plain")) << "a file, and no folder";
  std::string const inside = file("plain/run.npz");
  BOOST_TEST(message_of<tr::FileError>([&] {
               tr::CheckpointFile(inside).prepare();
             }).starts_with(inside + ": cannot be written: "));
}
