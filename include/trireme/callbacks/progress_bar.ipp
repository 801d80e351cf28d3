/// Definitions of trireme/callbacks/progress_bar.hpp.
#pragma once

#include "trireme/callbacks/progress_bar.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include "trireme/callbacks/terminal.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/metrics/logs.hpp"

namespace trireme {

TRIREME_INLINE bool ProgressBar::is_due() {
  auto const interval = look.moves ? std::chrono::milliseconds(50) : every;
  if (!shows || interval.count() == 0) return false;
  auto const now = Clock::now();
  if (now - drawn < interval) return false;
  drawn = now;
  return true;
}

TRIREME_INLINE void ProgressBar::draw(Logs const& running) {
  double const elapsed = std::chrono::duration<double>(drawn - started).count();
  double const step = elapsed / static_cast<double>(steps - first_step);
  std::string times = duration(elapsed);
  if (steps_expected != 0) {
    std::size_t const left = steps_expected - std::min(steps, steps_expected);
    times = duration(step * static_cast<double>(left)) + " left,";
  }
  times += ' ' + per_step(step) + shown(running);
  if (look.moves)
    print('\r' + with_bar(times, false) + "\x1b[K");
  else
    print(formatted("{} - {}\n", counted(), times));
}

TRIREME_INLINE void ProgressBar::finish(Logs const& logs) {
  if (!shows) return;
  double const elapsed = std::chrono::duration<double>(Clock::now() - started).count();
  steps_expected = steps;
  std::string line = formatted("{} {}", duration(elapsed),
                               per_step(steps > first_step ? elapsed / static_cast<double>(steps - first_step) : 0));
  line += shown(logs);
  print(look.moves ? '\r' + with_bar(line, true) + "\x1b[K\n" : formatted("{} - {}\n", counted(), line));
}

TRIREME_INLINE void ProgressBar::print(std::string const& text) const {
  std::fwrite(text.data(), 1, text.size(), output);
  std::fflush(output);
}

TRIREME_INLINE std::string ProgressBar::counted() const {
  if (steps_expected == 0) return formatted("{}/?", steps);
  std::string const total = formatted("{}", steps_expected);
  return formatted("{:>{}}/{}", steps, total.size(), total);
}

TRIREME_INLINE std::string ProgressBar::with_bar(std::string const& text, bool stays) {
  std::string line = counted();
  bool const has_bar = steps_expected != 0;
  if (has_bar) {
    // With two blanks, and a last column that stays free.
    std::size_t const taken = line.size() + detail::text_columns(text, look.utf8) + 3;
    std::size_t const room = look.columns > taken ? look.columns - taken : 0;
    if (!stays) bar_width = std::min(bar_width, room / 5 * 5);
    if (bar_width > 0) line += ' ' + bar();
  }
  line += ' ' + text;
  if (stays || (has_bar && bar_width > 0)) return line;  // a bar with colours is wider as text
  return std::string(detail::first_columns(line, look.columns - 1, look.utf8));
}

TRIREME_INLINE std::string ProgressBar::bar() const {
  std::size_t const full = steps_expected == 0 ? bar_width : std::min(bar_width, bar_width * steps / steps_expected);
  std::string text = look.colours ? "\x1b[32m" : "";
  for (std::size_t i = 0; i < full; ++i) text += look.utf8 ? "━" : "=";
  if (look.colours) text += "\x1b[0m";
  for (std::size_t i = full; i < bar_width; ++i) text += look.utf8 ? "─" : ".";
  return text;
}

TRIREME_INLINE std::string ProgressBar::duration(double seconds) {
  auto const s = static_cast<long>(seconds);
  if (s >= 3600) return formatted("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  if (s >= 60) return formatted("{}:{:02}", s / 60, s % 60);
  return formatted("{}s", s);
}

TRIREME_INLINE std::string ProgressBar::per_step(double seconds) {
  if (seconds >= 1) return formatted("{:.0f}s/step", seconds);
  if (seconds >= 1e-3) return formatted("{:.0f}ms/step", seconds * 1e3);
  return formatted("{:.0f}us/step", seconds * 1e6);
}

TRIREME_INLINE std::string ProgressBar::shown(Logs const& logs) {
  std::string text;
  for (auto const& entry : logs) {
    double const value = entry.value.value();
    bool const is_small = value != 0 && std::abs(value) <= 1e-3;
    text += is_small ? formatted(" - {}: {:.4e}", entry.name, value) : formatted(" - {}: {:.4f}", entry.name, value);
  }
  return text;
}

}  // namespace trireme
