/// Definitions of trireme/callbacks/claimed_file.hpp.
#pragma once

#include "trireme/callbacks/claimed_file.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "trireme/callbacks/output_files.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/io/file_claim.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string log_to_claim(std::string const& path) {
  if (path.empty()) return {};
  std::error_code ignored;
  auto const found = std::filesystem::status(path, ignored);
  if (exists(found) && !is_regular_file(found)) return {};
  auto const way = along_links(path);
  auto const is_open_file = [](auto const& link) { return in_canonical_folder(link).string().starts_with("/proc/"); };
  return std::ranges::any_of(way, is_open_file) ? std::string() : way.back().string();
}

TRIREME_INLINE void list_lock(std::vector<OutputFile>& outputs, std::string writer, std::string const& path) {
  if (!path.empty())
    outputs.push_back(
        {.writer = std::move(writer), .path = path + FileClaim::ending, .kind = OutputFile::Kind::reserved});
}

}  // namespace trireme::detail
