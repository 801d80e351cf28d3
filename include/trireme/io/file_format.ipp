/// Definitions of trireme/io/file_format.hpp.
#pragma once

#include "trireme/io/file_format.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"

namespace trireme::detail {

TRIREME_INLINE std::string names_like(std::string_view stem, FileFormat const& format) {
  std::string names;
  for (std::string_view const ending : format.endings)
    if (!ending.empty() && (have_hdf5 || !is_hdf5_ending(ending)))
      names += formatted("{}{}{}", names.empty() ? "" : " or ", stem, ending);
  return names;
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE std::string name_fault(std::string_view path, FileFormat const& format) {
  for (std::string_view const ending : format.endings) {
    if (ending.empty() || !path.ends_with(ending)) continue;
    if (detail::have_hdf5 || !detail::is_hdf5_ending(ending)) return "";
    return "is an HDF5 file, and this program was built without HDF5";
  }
  return formatted("is no name of {}, which ends in {}", format.content, detail::names_like("", format));
}

TRIREME_INLINE std::string output_name_fault(std::string_view path, FileFormat const& format) {
  std::string fault = name_fault(path, format);
  if (fault.empty()) return fault;
  std::string_view stem = path;
  auto const foreign = std::find_if(detail::known_endings.begin(), detail::known_endings.end(),
                                    [&](std::string_view ending) { return stem.ends_with(ending); });
  if (foreign != detail::known_endings.end()) stem.remove_suffix(foreign->size());
  bool const has_name = !stem.empty() && !stem.ends_with('/');
  return formatted("{}; use {}", fault, detail::names_like(formatted("{}{}", stem, has_name ? "" : "model"), format));
}

TRIREME_INLINE void require_format(std::string const& path, FileFormat const& format) {
  std::string fault = name_fault(path, format);
  if (!fault.empty()) throw FileError(path, fault);
}

}  // namespace trireme
