#define BOOST_TEST_MODULE io_event_file
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>

#include "trireme/io/crc32c.hpp"

static_assert(trireme::io::crc32c("123456789") == 0xE3069283);

namespace io = trireme::io;

BOOST_AUTO_TEST_CASE(the_checksums_are_those_of_rfc_3720) {
  std::string ascending;
  for (char c = 0; c < 32; ++c) ascending += c;
  std::string const descending(ascending.rbegin(), ascending.rend());
  BOOST_TEST(io::crc32c("") == 0u);
  BOOST_TEST(io::crc32c(std::string(32, '\0')) == 0x8A9136AAu);
  BOOST_TEST(io::crc32c(std::string(32, '\xFF')) == 0x62A8AB43u);
  BOOST_TEST(io::crc32c(ascending) == 0x46DD794Eu);
  BOOST_TEST(io::crc32c(descending) == 0x113FDB5Cu);
  // What TensorBoard's own masked_crc32c gives.
  BOOST_TEST(io::masked_crc32c("123456789") == 0xC78AB0E5u);
}

#ifdef TRIREME_HAVE_PROTOZERO

#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>

#include <protozero/pbf_reader.hpp>

#include "trireme/core/error.hpp"
#include "trireme/io/event_file.hpp"

#include "event_records.hpp"
#include "folder.hpp"

using trireme::test::Folder;

namespace {
bool renumbers = false;  // as file systems do whose inode numbers are made up for each call
ino_t numbers = 0;
bool disk_is_full = false;  // as network file systems notice at fsync
int interruptions = 0;      // calls of fsync that a signal interrupts, as on file systems in user space
}  // namespace

// In the place of the C library's.
extern "C" int stat(char const* path, struct stat* status) noexcept {
  int const result = ::fstatat(AT_FDCWD, path, status, 0);
  if (renumbers && result == 0) status->st_ino = ++numbers;
  return result;
}

extern "C" int fsync(int descriptor) {
  if (interruptions > 0) {
    --interruptions;
    errno = EINTR;
    return -1;
  }
  if (!disk_is_full) return ::fdatasync(descriptor);
  errno = ENOSPC;
  return -1;
}

// The bytes are those of TensorBoard's RecordWriter and Event(wall_time=1.5e9, …).SerializeToString().
BOOST_AUTO_TEST_CASE(the_record_of_the_version_is_to_the_byte_the_one_of_tensorboard) {
  std::string const content = std::string("\x09\0\0\0\xC0\x0B\x5A\xD6\x41\x1A\x0D", 11) + "brain.Event:2";
  BOOST_TEST(io::version_message(1.5e9) == content);
  BOOST_TEST(io::EventFile::record(content) ==
             std::string("\x18\0\0\0\0\0\0\0\xA3\x7F\x4B\x22", 12) + content + "\x4C\xA9\xA4\x64");
}

// The bytes are those of the Event that TensorBoard's Summary.Value, with the metadata of its scalars, is put in.
BOOST_AUTO_TEST_CASE(a_scalar_is_to_the_byte_the_one_of_tensorboard) {
  std::string const tensor = std::string("\x42\x0A\x08\x01\x12\0\x2A\x04\0\0\0\x3F", 12);
  BOOST_TEST(io::scalar_message(1.5e9, {"epoch_loss", 7, 0.5}) ==
             std::string("\x09\0\0\0\xC0\x0B\x5A\xD6\x41\x10\x07\x2A\x27\x0A\x25\x0A\x0A", 17) + "epoch_loss" + tensor +
                 "\x4A\x0B\x0A\x09\x0A\x07" + "scalars");
}

BOOST_FIXTURE_TEST_CASE(a_file_holds_its_version_and_every_scalar_with_valid_checksums, Folder) {
  std::string const folder = file("logs/train");  // neither is there yet
  io::EventFile events(folder);
  std::vector<io::ScalarEvent> const scalars{{"epoch_loss", 0, 0.5}, {"epoch_loss", 4000000000, -1e30}};
  events.write(scalars);
  events.flush();

  auto const records = trireme::test::read_records(trireme::test::text_of(events.path()));
  BOOST_TEST_REQUIRE(records.size() == 3u);
  auto const version = trireme::test::decode(records[0]);
  BOOST_TEST(version.file_version == "brain.Event:2");
  BOOST_TEST(version.wall_time > 1.7e9);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    auto const event = trireme::test::decode(records[i + 1]);
    BOOST_TEST(event.tag == scalars[i].tag);
    BOOST_TEST(event.step == scalars[i].step);
    BOOST_TEST(event.value == static_cast<float>(scalars[i].value));
    BOOST_TEST(event.plugin == "scalars");
    BOOST_TEST(event.wall_time >= version.wall_time);
  }
}

BOOST_FIXTURE_TEST_CASE(a_second_file_of_a_folder_has_a_name_of_its_own, Folder) {
  io::EventFile const first(root.string()), second(root.string());
  BOOST_TEST(first.path() != second.path());
  BOOST_TEST(entries() == 2u);
  std::string const name = std::filesystem::path(first.path()).filename().string();
  BOOST_TEST(name.starts_with("events.out.tfevents."));
  BOOST_TEST(name.ends_with(".v2"));
}

BOOST_FIXTURE_TEST_CASE(a_file_is_in_place_until_it_is_removed_moved_or_replaced, Folder) {
  auto const before = std::filesystem::current_path();
  std::filesystem::current_path(root);
  io::EventFile const first("logs");
  std::filesystem::current_path(before);
  BOOST_TEST(first.in_place());
  std::filesystem::rename(file("logs"), file("kept"));
  BOOST_TEST(!first.in_place());
  std::filesystem::rename(file("kept"), file("logs"));
  BOOST_TEST(first.in_place());
  std::filesystem::copy_file(first.path(), file("copy"));
  std::filesystem::rename(file("copy"), first.path());
  BOOST_TEST(!first.in_place());
  io::EventFile const second(file("logs"));
  std::filesystem::remove(second.path());
  BOOST_TEST(!second.in_place());
}

BOOST_FIXTURE_TEST_CASE(a_file_whose_inode_number_changes_from_call_to_call_is_in_place_until_it_is_removed, Folder) {
  renumbers = true;
  io::EventFile const events(root.string());
  bool const at_first = events.in_place(), later = events.in_place();
  std::filesystem::rename(events.path(), file("moved"));
  bool const moved = events.in_place();
  std::filesystem::copy_file(file("moved"), events.path());
  std::filesystem::remove(file("moved"));
  bool const replaced = events.in_place();
  renumbers = false;
  BOOST_TEST(numbers > 0u);
  BOOST_TEST(at_first);
  BOOST_TEST(later);
  BOOST_TEST(!moved);
  BOOST_TEST(!replaced);
}

BOOST_FIXTURE_TEST_CASE(a_file_that_cannot_be_begun_is_an_error_and_leaves_none, Folder) {
  std::string text;
  {
    trireme::test::FileSizeLimit const full(5);
    text = trireme::test::message_of<trireme::FileError>([&] { io::EventFile{root.string()}; });
  }
  BOOST_TEST(text.ends_with(".v2: cannot be written: File too large"));
  BOOST_TEST(entries() == 0u);
}

BOOST_FIXTURE_TEST_CASE(events_that_a_full_disk_does_not_take_leave_the_whole_ones_before, Folder) {
  io::EventFile events(root.string());
  std::vector<io::ScalarEvent> const scalars{{"loss", 0, 0.5}, {"loss", 1, 0.25}};
  events.write(scalars);
  std::string const before = trireme::test::text_of(events.path());
  {
    trireme::test::FileSizeLimit const full(before.size() + 70);  // one of two records, and a part of the other
    BOOST_CHECK_THROW(events.write(scalars), trireme::FileError);
  }
  BOOST_TEST(trireme::test::text_of(events.path()) == before);
  events.write(scalars);
  BOOST_TEST(trireme::test::read_records(trireme::test::text_of(events.path())).size() == 5u);
}

BOOST_FIXTURE_TEST_CASE(a_signal_while_the_disk_takes_events_loses_none, Folder) {
  io::EventFile events(root.string());
  std::string const empty = trireme::test::text_of(events.path());
  interruptions = 2;
  events.write(std::vector<io::ScalarEvent>{{"loss", 0, 0.5}});
  events.flush();
  BOOST_TEST(interruptions == 0);
  BOOST_TEST(trireme::test::text_of(events.path()).size() > empty.size());
}

BOOST_FIXTURE_TEST_CASE(events_that_do_not_reach_the_disk_leave_those_that_did, Folder) {
  io::EventFile events(root.string());
  std::vector<io::ScalarEvent> const scalars{{"loss", 0, 0.5}};
  std::string const empty = trireme::test::text_of(events.path());
  for (int attempt = 0; attempt < 2; ++attempt) {
    disk_is_full = true;
    events.write(scalars);
    BOOST_TEST(trireme::test::message_of<trireme::FileError>([&] { events.flush(); }) ==
               events.path() + ": cannot be written: No space left on device");
    disk_is_full = false;
    BOOST_TEST(trireme::test::text_of(events.path()) == empty);
  }
  events.write(scalars);
  events.flush();
  std::string const flushed = trireme::test::text_of(events.path());
  events.write(scalars);
  disk_is_full = true;
  BOOST_CHECK_THROW(events.flush(), trireme::FileError);
  disk_is_full = false;
  BOOST_TEST(trireme::test::text_of(events.path()) == flushed);
}

BOOST_FIXTURE_TEST_CASE(a_folder_that_cannot_be_made_is_an_error, Folder) {
  std::ofstream(file("logs")) << "a file";
  BOOST_TEST(trireme::test::message_of<trireme::FileError>([&] { io::EventFile{file("logs/train")}; }) ==
             file("logs/train") + ": the folder cannot be made: Not a directory");
}

#endif
