/// Definitions of trireme/callbacks/path_template.hpp.
#pragma once

#include "trireme/callbacks/path_template.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/args.h>
#include <fmt/format.h>

#include "trireme/core/error.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

TRIREME_INLINE std::vector<std::string> path_fields(std::string_view text) {
  std::vector<std::string> fields;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{') continue;
    if (i + 1 < text.size() && text[i + 1] == '{') {
      ++i;
      continue;
    }
    std::size_t const end = text.find_first_of(":}", i + 1);
    std::size_t const close = end == std::string_view::npos ? end : text.find('}', end);
    if (close == std::string_view::npos) throw ValueError(formatted("the file name '{}' lacks a '}}'", text));
    fields.emplace_back(text.substr(i + 1, end - i - 1));
    i = close;
  }
  return fields;
}

TRIREME_INLINE std::string fill_path(std::string_view text, std::size_t epoch, std::size_t batch, Logs const& logs) {
  fmt::dynamic_format_arg_store<fmt::format_context> values;
  values.push_back(fmt::arg("epoch", static_cast<std::int64_t>(epoch)));
  if (batch > 0) values.push_back(fmt::arg("batch", static_cast<std::int64_t>(batch)));
  for (Logs::Entry const& entry : logs) values.push_back(fmt::arg(entry.name.c_str(), entry.value.value()));
  try {
    return fmt::vformat(text, values);
  } catch (fmt::format_error const& error) {
    std::string known = batch > 0 ? "epoch, batch" : "epoch";
    if (!logs.empty()) known += ", " + logs.names();
    throw ValueError(formatted("the file name '{}' cannot be filled in from {}: {}", text, known, error.what()));
  }
}

TRIREME_INLINE std::optional<std::string> folder_above_fields(std::string_view text) {
  std::size_t const last = text.rfind('/');
  std::size_t field = text.find('{');
  while (field != std::string_view::npos && field + 1 < text.size() && text[field + 1] == '{')
    field = text.find('{', field + 2);
  if (last == std::string_view::npos || field == std::string_view::npos || field > last) return std::nullopt;
  std::size_t const end = text.rfind('/', field);
  if (end == std::string_view::npos) return "";
  return fill_path(text.substr(0, std::max<std::size_t>(end, 1)), 1, 0, {});
}

}  // namespace trireme
