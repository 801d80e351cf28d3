/// Definitions of trireme/io/npz_zip.hpp.
#pragma once

#include "trireme/io/npz_zip.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/io/sealed_file.hpp"

namespace trireme::detail {

TRIREME_INLINE std::uint32_t zip_crc32(void const* data, std::size_t bytes, std::uint32_t crc) {
  static constexpr auto table = [] {
    std::array<std::uint32_t, 256> entries{};
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = (value & 1) != 0 ? 0xedb88320u ^ (value >> 1) : value >> 1;
      entries[i] = value;
    }
    return entries;
  }();
  auto const* at = static_cast<unsigned char const*>(data);
  crc = ~crc;
  for (std::size_t i = 0; i < bytes; ++i) crc = table[(crc ^ at[i]) & 0xff] ^ (crc >> 8);
  return ~crc;
}

TRIREME_INLINE void put(std::string& text, std::size_t value, int bytes) {
  for (; bytes > 0; --bytes, value >>= 8) text += static_cast<char>(value & 0xff);
}

TRIREME_INLINE std::size_t take(char const* from, int bytes) {
  std::size_t value = 0;
  for (int i = 0; i < bytes; ++i) value |= std::size_t{static_cast<unsigned char>(from[i])} << (8 * i);
  return value;
}

TRIREME_INLINE void ZipWriter::add(std::string const& name, std::string const& header, void const* data,
                                   std::size_t bytes) {
  std::uint32_t const crc = zip_crc32(data, bytes, zip_crc32(header.data(), header.size()));
  std::size_t const size = header.size() + bytes;
  if (offset_ + size + name.size() + zip_local_size > std::numeric_limits<std::uint32_t>::max()) {
    throw FileError(path_, "would be larger than the 4 GiB of an .npz file; use .weights.h5");
  }
  std::string common;
  put(common, 20, 2);     // version needed
  put(common, 0x800, 2);  // names are UTF-8
  put(common, 0, 2);      // stored
  put(common, 0, 2);      // time
  put(common, 0x21, 2);   // 1 January 1980, so that equal weights are equal files
  put(common, crc, 4);
  put(common, size, 4);
  put(common, size, 4);
  put(common, name.size(), 2);
  put(common, 0, 2);  // no extra field
  directory_ += std::string(zip_central) + std::string("\x14\x03", 2) + common;
  put(directory_, 0, 6);                // comment, disk, internal attributes
  put(directory_, 0100644ul << 16, 4);  // a plain file that its owner may write
  put(directory_, offset_, 4);
  directory_ += name;
  std::string const local = std::string(zip_local) + common + name + header;
  file_.write(local);
  file_.write(data, bytes);
  offset_ += local.size() + bytes;
  ++members_;
}

TRIREME_INLINE void ZipWriter::commit(bool sealed) {
  std::string end(zip_end);
  put(end, 0, 4);
  put(end, members_, 2);
  put(end, members_, 2);
  put(end, directory_.size(), 4);
  put(end, offset_, 4);
  put(end, sealed ? seal_size : 0, 2);  // the seal is the zip file's comment
  if (members_ > 0xffff) throw FileError(path_, "would have more members than an .npz file holds; use .weights.h5");
  file_.write(directory_ + end);
  if (sealed) write_seal(file_);
  file_.commit();
}

TRIREME_INLINE ZipReader::ZipReader(std::string const& path)
    : path_(path), file_(path, std::ios::binary | std::ios::ate) {
  if (!file_) throw FileError(path, formatted("cannot be opened: {}", std::strerror(errno)));
  auto const size = static_cast<std::streamoff>(file_.tellg());
  if (size < 0) throw FileError(path, "cannot be read: it has no end");
  size_ = left_ = static_cast<std::size_t>(size);
  // Nothing follows the end record but a comment of at most 64 KiB. A comment may hold the record's mark, as the
  // checksum of a seal does by chance: too few bytes follow that one, or fewer than the comment that it states.
  std::size_t const tail_size = std::min<std::size_t>(size_, zip_end_size + 0xffff);
  std::string const tail = bytes(size_ - tail_size, tail_size);
  auto const is_record = [&tail](std::size_t at) {
    std::size_t const left = tail.size() - at;
    return left >= zip_end_size && take(&tail[at + zip_end_size - 2], 2) <= left - zip_end_size;
  };
  std::size_t end = tail.rfind(zip_end);
  while (end != std::string::npos && !is_record(end)) end = end == 0 ? std::string::npos : tail.rfind(zip_end, end - 1);
  if (end == std::string::npos) {
    throw FileError(path, "is no .npz file, or a part of one: it has no directory at its end");
  }
  directory_ = directory(&tail[end], size_ - tail_size + end);
}

TRIREME_INLINE std::string ZipReader::directory(char const* end, std::size_t place) const {
  constexpr std::size_t ones = 0xffffffff;
  std::size_t const size = take(end + 12, 4), offset = take(end + 16, 4);
  bool const large = take(end + 10, 2) == 0xffff || size == ones || offset == ones;
  if (large && place >= zip64_locator_size) {
    std::string const locator = bytes(place - zip64_locator_size, zip64_locator_size);
    // Without a locator the numbers are what they say: 65535 members need no zip64.
    if (locator.starts_with(zip64_locator)) {
      std::string const record = bytes(take(&locator[8], 8), zip64_end_size);
      if (!record.starts_with(zip64_end)) throw FileError(path_, "has a damaged directory");
      return bytes(take(&record[48], 8), take(&record[40], 8));
    }
  }
  return bytes(offset, size);
}

TRIREME_INLINE std::string ZipReader::read(std::string const& name, std::size_t most) const {
  if (char const* const entry = find(name)) return content(name, entry, most);
  throw FileError(path_, formatted("holds no array '{}'", array_name(name)));
}

TRIREME_INLINE char const* ZipReader::find(std::string const& name) const {
  char const* found = nullptr;
  for_each_entry([&](std::string_view member, char const* entry) {
    if (member == name) found = entry;  // of several the last, which was appended
  });
  return found;
}

TRIREME_INLINE ZipReader::Extent ZipReader::extent(std::string const& name, char const* entry) const {
  constexpr std::size_t ones = 0xffffffff;
  // In the order of the zip64 field, which has those alone that are all ones in the entry.
  std::array numbers{take(entry + 24, 4), take(entry + 20, 4), take(entry + 42, 4)};
  if (std::find(numbers.begin(), numbers.end(), ones) == numbers.end()) return {numbers[0], numbers[2]};
  std::string_view extra(entry + zip_central_size + take(entry + 28, 2), take(entry + 30, 2));
  while (extra.size() >= 4) {
    std::size_t const id = take(&extra[0], 2), length = take(&extra[2], 2);
    extra.remove_prefix(4);
    if (id == 1) {
      extra = extra.substr(0, length);
      for (std::size_t& value : numbers) {
        if (value != ones) continue;
        if (extra.size() < 8) throw FileError(path_, formatted("'{}' is damaged", name));
        value = take(&extra[0], 8);
        extra.remove_prefix(8);
      }
      return {numbers[0], numbers[2]};
    }
    extra.remove_prefix(std::min(length, extra.size()));
  }
  throw FileError(path_, formatted("'{}' is damaged", name));
}

TRIREME_INLINE std::string ZipReader::content(std::string const& name, char const* entry, std::size_t most) const {
  if (take(entry + 10, 2) != 0) throw FileError(path_, formatted("'{}' is compressed; use numpy.savez", name));
  auto const [size, offset] = extent(name, entry);
  std::string const local = bytes(offset, zip_local_size);
  if (!local.starts_with(zip_local)) throw FileError(path_, formatted("'{}' is damaged", name));
  std::size_t const start = offset + zip_local_size + take(&local[26], 2) + take(&local[28], 2);
  if (size > most)
    throw FileError(path_,
                    formatted("'{}' has {} bytes, more than an array of the model's shape", array_name(name), size));
  // Members lie side by side, so that all of them together are no larger than the file.
  if (size > left_) throw FileError(path_, formatted("'{}' lies where other arrays are", array_name(name)));
  left_ -= size;
  std::string data = bytes(start, size);
  if (zip_crc32(data.data(), data.size()) != take(entry + 16, 4)) {
    throw FileError(path_, formatted("'{}' is damaged: its checksum is wrong", name));
  }
  return data;
}

TRIREME_INLINE std::string ZipReader::bytes(std::size_t offset, std::size_t count) const {
  if (offset > size_ || count > size_ - offset) throw FileError(path_, "is truncated or damaged");
  std::string data(count, '\0');
  file_.seekg(static_cast<std::streamoff>(offset));
  file_.read(data.data(), static_cast<std::streamsize>(count));
  if (!file_) throw FileError(path_, formatted("cannot be read: {}", std::strerror(errno)));
  return data;
}

}  // namespace trireme::detail
