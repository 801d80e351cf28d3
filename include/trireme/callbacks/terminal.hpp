/// Terminal: abilities of an output, to draw over a line, to show colours and letters beyond ASCII.
#pragma once

#include <cstddef>
#include <cstdio>
#include <optional>
#include <string_view>

namespace trireme::detail {

/// An environment variable's text; empty where it is not set.
std::string_view variable(char const* name);

/// True if the locale's letters are UTF-8, as the environment says.
bool has_utf8();

/// Columns of the output's terminal; $COLUMNS or 80 where it does not say.
std::size_t terminal_columns([[maybe_unused]] int file);

/// Columns that a text in UTF-8 takes on a terminal; where that shows single bytes, a column for each byte.
std::size_t text_columns(std::string_view text, bool utf8);

/// Start of a text of so many columns at most, cut between letters.
std::string_view first_columns(std::string_view text, std::size_t columns, bool utf8);

struct Terminal {
  bool moves = false;    ///< a line can be drawn over
  bool colours = false;  ///< and in colours, unless NO_COLOR is set
  bool utf8 = false;
  std::size_t columns = 80;

  /// \param is_terminal  unset: detected
  static Terminal of(std::FILE* output, std::optional<bool> is_terminal);
};

/// Start of a line that takes the place of an unfinished progress bar; empty on outputs where none is drawn over.
std::string_view over_a_bar(std::FILE* output);

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/callbacks/terminal.ipp"
#endif
