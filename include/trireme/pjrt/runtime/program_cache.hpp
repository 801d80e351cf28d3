/// ProgramCache: compiled programs on disk, so that a program is compiled once for all runs.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/atomic_file.hpp"
#include "trireme/pjrt/runtime/client.hpp"

namespace trireme::pjrt {

/// Default folder of programs: $TRIREME_PJRT_CACHE, which may be empty (keep none), or a folder in the user's cache.
inline std::string default_program_cache() {
  if (char const* const folder = std::getenv("TRIREME_PJRT_CACHE")) return folder;
  if (char const* const cache = std::getenv("XDG_CACHE_HOME"); cache && *cache)
    return std::string(cache) + "/trireme/programs";
  if (char const* const home = std::getenv("HOME"); home && *home)
    return std::string(home) + "/.cache/trireme/programs";
  return "";
}

/// Folder of compiled programs. A program that cannot be read or written there is compiled again, without a message.
class ProgramCache {
 public:
  /// `folder` empty: keeps nothing.
  explicit ProgramCache(std::string folder) : folder_(std::move(folder)) {}

  /// True if programs are kept.
  bool enabled() const { return !folder_.empty(); }

  /// Name for a program, its options and its compiler: plugin file, platform and the host's processor.
  static std::string fingerprint(Client const& client, std::string_view text, std::string_view options) {
    std::string const& path = client.plugin().path();
    std::error_code error;
    auto const size = std::filesystem::file_size(path, error);
    auto const time = std::filesystem::last_write_time(path, error).time_since_epoch().count();
    std::string const compiler = formatted("{}\n{}\n{}\n{}\n{}\n{}\n{}", path, size, time, client.plugin().version(),
                                           client.platform(), client.platform_version(), processor());
    auto const hash = [](std::string_view s) { return data::hash_bytes(s.data(), s.size()); };
    return formatted("{:016x}{:016x}{:016x}", hash(text), hash(options), hash(compiler));
  }

  /// The program of this name, if it is there and undamaged.
  std::optional<std::string> find(std::string const& name) const {
    if (!enabled()) return {};
    std::ifstream file(path(name), std::ios::binary);
    std::string content{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    if (content.size() <= sizeof(std::uint64_t)) return {};
    std::uint64_t stored;
    std::memcpy(&stored, content.data(), sizeof stored);
    content.erase(0, sizeof stored);
    if (stored != data::hash_bytes(content.data(), content.size())) return {};
    return content;
  }

  /// Writes a program under this name; does nothing where that fails.
  void store(std::string const& name, std::string_view program) const {
    if (!enabled()) return;
    std::error_code error;
    std::filesystem::create_directories(folder_, error);
    std::uint64_t const hash = data::hash_bytes(program.data(), program.size());
    std::string content(sizeof hash, '\0');
    std::memcpy(content.data(), &hash, sizeof hash);
    content += program;
    try {
      write_atomically(path(name), content);
    } catch (FileError const&) {
    }
  }

 private:
  std::string path(std::string const& name) const { return folder_ + "/" + name + ".pjrt"; }

  /// Model and features of the host's processor, for which programs are compiled; empty where they are unknown.
  static std::string processor() {
    std::ifstream info("/proc/cpuinfo");
    std::string model, flags;
    for (std::string line; std::getline(info, line) && (model.empty() || flags.empty());) {
      if (line.starts_with("model name")) model = line;
      if (line.starts_with("flags") || line.starts_with("Features")) flags = line;
    }
    return model + flags;
  }

  std::string folder_;
};

}  // namespace trireme::pjrt
