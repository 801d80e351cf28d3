/// Path templates: file names with fields, as in `"run-{epoch:02d}-{val_loss:.4f}.weights.h5"`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

/// Names of the fields of a template, in order; "{{" and "}}" are braces.
/// \throws ValueError if a brace is not closed.
std::vector<std::string> path_fields(std::string_view text);

/// Path with the fields filled in from the logs. Epoch and batch count from 1; batch 0 stands for none.
/// \throws ValueError if a field is not in the logs, or its format does not fit.
std::string fill_path(std::string_view text, std::size_t epoch, std::size_t batch, Logs const& logs);

/// Folder above the first one whose name has a field, or nothing if no folder's name has one: folders below it are
/// known only when the file is written.
std::optional<std::string> folder_above_fields(std::string_view text);

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/path_template.ipp"
#endif
