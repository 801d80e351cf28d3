#define BOOST_TEST_MODULE callbacks_progress_bar
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <regex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "trireme/callbacks/progress_bar.hpp"

#include "scripted_run.hpp"

namespace tr = trireme;
using tr::test::ScriptedRun;
using tr::test::uniform;

namespace {

struct Output {
  std::FILE* file = std::tmpfile();
  ~Output() { std::fclose(file); }
  std::string text() const {
    std::string all;
    std::rewind(file);
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) all += static_cast<char>(c);
    return all;
  }
};

/// Environment variables while it lives.
class Variables {
 public:
  Variables(std::initializer_list<std::pair<char const*, char const*>> values) {
    for (auto const& [name, value] : values) {
      char const* const before = std::getenv(name);
      before_.emplace_back(name, before ? std::optional<std::string>(before) : std::nullopt);
      ::setenv(name, value, 1);
    }
  }
  ~Variables() {
    for (auto const& [name, value] : before_) value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }
  Variables(Variables const&) = delete;
  Variables& operator=(Variables const&) = delete;

 private:
  std::vector<std::pair<char const*, std::optional<std::string>>> before_;
};

/// Letters of a text in UTF-8, each of which has to be whole.
std::vector<std::string> letters(std::string const& text) {
  std::vector<std::string> all;
  for (std::size_t i = 0; i < text.size(); i += all.back().size()) {
    auto const lead = static_cast<unsigned char>(text[i]);
    all.push_back(text.substr(i, lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4));
    bool whole = lead < 0x80 || (lead >= 0xC2 && all.back().size() == (lead < 0xE0 ? 2u : lead < 0xF0 ? 3u : 4u));
    for (char const byte : all.back().substr(1)) whole = whole && (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
    BOOST_TEST_REQUIRE(whole, text);
  }
  return all;
}

void train(tr::ProgressBar& bar, ScriptedRun& run, std::size_t epochs) {
  run.epoch_count = epochs;
  bar.on_train_begin(run);
  for (run.epoch_now = 0; run.epoch_now < epochs; ++run.epoch_now) {
    bar.on_epoch_begin(run);
    for (run.batch_now = 0; run.batch_now < 12; ++run.batch_now) bar.on_train_batch_end(run);
    bar.on_test_begin(run);
    bar.on_test_batch_end(run);
    bar.on_test_end(run);
    run.logs().set("loss", uniform(0.25));
    run.logs().set("val_loss", uniform(0.00012));
    bar.on_epoch_end(run);
  }
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(without_a_terminal_there_are_two_plain_lines_an_epoch, Output) {
  tr::ProgressBar bar{.output = file};
  ScriptedRun run;
  train(bar, run, 2);
  std::regex const wanted(
      "Epoch 1/2\n12/12 - [0-9]+s [0-9]+[um]?s/step - loss: 0.2500 - val_loss: 1.2000e-04\n"
      "Epoch 2/2\n12/12 - [0-9]+s [0-9]+[um]?s/step - loss: 0.2500 - val_loss: 1.2000e-04\n");
  BOOST_TEST(std::regex_match(text(), wanted), text());
}

BOOST_FIXTURE_TEST_CASE(on_a_terminal_the_line_is_drawn_over, Output) {
  Variables const set{{"LC_ALL", "en_GB.UTF-8"}, {"NO_COLOR", "1"}};
  tr::ProgressBar bar{.output = file, .terminal = true};
  ScriptedRun run;
  train(bar, run, 2);
  std::string const all = text();
  BOOST_TEST(all.find("\r1/? ") != std::string::npos);  // the first epoch does not know how many steps there are
  BOOST_TEST(all.find("\r 1/12 ━───────────────────") != std::string::npos);
  BOOST_TEST(all.find("\r12/12 ━━━━━━━━━━━━━━━━━━━━ ") != std::string::npos);
  BOOST_TEST(all.find("\x1b[32m") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(colours_and_letters_are_the_environments_choice, Output) {
  Variables const set{{"LC_ALL", ""}, {"LC_CTYPE", ""}, {"LANG", "C"}, {"NO_COLOR", ""}, {"TERM", "xterm"}};
  tr::ProgressBar bar{.output = file, .terminal = true};
  ScriptedRun run;
  train(bar, run, 2);
  BOOST_TEST(text().find("\r 1/12 \x1b[32m=\x1b[0m...................") != std::string::npos, text());
}

BOOST_FIXTURE_TEST_CASE(lines_that_are_drawn_over_fit_a_narrow_terminal, Output) {
  Variables const set{{"COLUMNS", "16"}, {"LC_ALL", "C"}, {"NO_COLOR", "1"}};
  tr::ProgressBar bar{.output = file, .terminal = true};
  ScriptedRun run;
  train(bar, run, 2);
  std::string const all = text();
  std::regex const line("\r([^\r\n]*)\x1b\\[K(?!\n)");
  std::size_t lines = 0;
  for (std::sregex_iterator found(all.begin(), all.end(), line), end; found != end; ++found, ++lines)
    BOOST_TEST((*found)[1].length() < 16);
  BOOST_TEST(lines >= 2u);
}

BOOST_FIXTURE_TEST_CASE(a_pseudo_terminal_is_detected_with_its_width_unless_it_is_dumb, Output) {
  int const master = ::posix_openpt(O_RDWR | O_NOCTTY);
  BOOST_TEST_REQUIRE(master >= 0);
  BOOST_TEST_REQUIRE((::grantpt(master) == 0 && ::unlockpt(master) == 0));
  std::FILE* const terminal = std::fopen(::ptsname(master), "w");
  BOOST_TEST_REQUIRE(terminal != nullptr);
  std::array<unsigned short, 4> const size{24, 47, 0, 0};
  BOOST_TEST_REQUIRE(ioctl(master, TIOCSWINSZ, size.data()) == 0);
  {
    Variables const set{{"TERM", "xterm"}, {"NO_COLOR", ""}};
    auto const found = tr::detail::Terminal::of(terminal, {});
    BOOST_TEST((found.moves && found.colours));
    BOOST_TEST(found.columns == 47u);
    BOOST_TEST(!tr::detail::Terminal::of(file, {}).moves);
    BOOST_TEST(tr::detail::over_a_bar(terminal) == "\r\x1b[K");
    BOOST_TEST(tr::detail::over_a_bar(file) == "");
  }
  Variables const set{{"TERM", "dumb"}};
  BOOST_TEST(!tr::detail::Terminal::of(terminal, {}).moves);
  BOOST_TEST(tr::detail::over_a_bar(terminal) == "");
  std::fclose(terminal);
  ::close(master);
}

BOOST_FIXTURE_TEST_CASE(a_long_epoch_shows_in_a_file_how_far_it_is, Output) {
  tr::ProgressBar bar{.output = file, .every = std::chrono::milliseconds(1)};
  ScriptedRun run;
  bar.on_train_begin(run);
  for (run.epoch_now = 0; run.epoch_now < 2; ++run.epoch_now) {
    bar.on_epoch_begin(run);
    for (run.batch_now = 0; run.batch_now < 3; ++run.batch_now) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      bar.on_train_batch_end(run);
    }
    bar.on_epoch_end(run);
  }
  std::string const all = text();
  BOOST_TEST(all.find("\n1/? - ") != std::string::npos, all);
  BOOST_TEST(all.find("\n2/3 - ") != std::string::npos, all);
  BOOST_TEST(all.find(" left, ") != std::string::npos, all);
  BOOST_TEST(all.find('\x1b') == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(one_process_shows_running_values, Output) {
  Variables const set{{"LC_ALL", "C"}, {"NO_COLOR", "1"}, {"COLUMNS", "80"}};
  tr::ProgressBar bar{.output = file, .terminal = true};
  ScriptedRun run;
  run.process_count = 1;
  run.batch_logs.set("loss", uniform(0.75));
  run.batch_logs.set("accuracy", uniform(0.5));
  train(bar, run, 2);
  std::regex const running("\r 1/12 [=.]+ [0-9]+s left, [0-9]+[um]?s/step - loss: 0.7500 - accuracy: 0.5000\x1b");
  BOOST_TEST(std::regex_search(text(), running), text());

  Output second;
  tr::ProgressBar evaluation{.output = second.file, .terminal = true};
  run.epoch_count = 0;
  evaluation.on_test_begin(run);
  evaluation.on_test_batch_end(run);
  BOOST_TEST(second.text().find("/step - loss: 0.7500 - accuracy: 0.5000\x1b") != std::string::npos, second.text());
}

BOOST_FIXTURE_TEST_CASE(the_bar_narrows_for_a_longer_text_and_does_not_widen_again, Output) {
  Variables const set{{"LC_ALL", "C"}, {"NO_COLOR", "1"}, {"COLUMNS", "78"}};
  tr::ProgressBar bar{.output = file, .terminal = true};
  ScriptedRun run;
  run.process_count = 1;
  train(bar, run, 1);
  bar.on_epoch_begin(run);
  run.batch_now = 0;
  for (double const loss : {0.75, 1e30, 0.75, 1e6, 0.75}) {
    run.batch_logs.set("loss", uniform(loss));
    bar.drawn = {};  // long ago
    bar.on_train_batch_end(run);
    ++run.batch_now;
  }
  bar.on_epoch_end(run);
  std::string const all = text();
  std::regex const drawn("\r *[0-9]+/[0-9]+ ([=.]+) [^\r]*loss");
  std::vector<long> widths;
  for (std::sregex_iterator found(all.begin(), all.end(), drawn), end; found != end; ++found)
    widths.push_back((*found)[1].length());
  // The first one is the end of the first epoch.
  BOOST_TEST(widths == (std::vector<long>{20, 20, 5, 5, 5, 5, 5}), boost::test_tools::per_element());

  Output next;
  bar.output = next.file;
  train(bar, run, 1);
  BOOST_TEST(next.text().find("\r12/12 ==================== ") != std::string::npos, next.text());
}

BOOST_FIXTURE_TEST_CASE(names_are_cut_between_letters, Output) {
  for (std::size_t columns = 12; columns < 60; ++columns) {
    std::string const width = std::to_string(columns);
    Variables const set{{"LC_ALL", "en_GB.UTF-8"}, {"NO_COLOR", "1"}, {"COLUMNS", width.c_str()}};
    Output out;
    tr::ProgressBar bar{.output = out.file, .terminal = true};
    ScriptedRun run;
    run.process_count = 1;
    run.batch_logs.set("précisionéé", uniform(0.5));
    run.batch_logs.set("損失", uniform(0.25));
    train(bar, run, 2);
    std::string const all = out.text();
    std::regex const line("\r([^\r\n]*)\x1b\\[K(?!\n)");
    std::size_t lines = 0;
    for (std::sregex_iterator found(all.begin(), all.end(), line), end; found != end; ++found, ++lines) {
      std::string const drawn = (*found)[1];
      std::size_t taken = 0;
      for (std::string const& letter : letters(drawn)) taken += letter == "損" || letter == "失" ? 2 : 1;
      BOOST_TEST(taken < columns, drawn);
      BOOST_TEST(taken + 2 >= std::min<std::size_t>(columns, 21), drawn);  // and no shorter than need be
    }
    BOOST_TEST(lines >= 2u);
  }
}

BOOST_FIXTURE_TEST_CASE(batches_cost_no_collective_call_and_other_ranks_print_nothing, Output) {
  tr::ProgressBar bar{.output = file, .terminal = true};
  ScriptedRun run;
  run.is_chief = false;
  train(bar, run, 2);
  BOOST_TEST(run.collectives == 1u);
  BOOST_TEST(text().empty());
}

BOOST_AUTO_TEST_CASE(without_an_output_nothing_is_shown) {
  tr::ProgressBar bar{.output = nullptr};
  ScriptedRun run;
  train(bar, run, 2);
  BOOST_TEST(!bar.shows);
  BOOST_TEST(run.collectives == 1u);  // as many as where there is one
}

BOOST_FIXTURE_TEST_CASE(evaluation_by_itself_is_shown_too, Output) {
  tr::ProgressBar bar{.output = file};
  ScriptedRun training, run;
  bar.on_train_begin(training);  // of a fit that an error left
  run.epoch_count = 0;
  bar.on_test_begin(run);
  for (int batch = 0; batch < 3; ++batch) bar.on_test_batch_end(run);
  run.logs().set("loss", uniform(0.5));
  bar.on_test_end(run);
  BOOST_TEST(std::regex_match(text(), std::regex("3/3 - [0-9]+s [0-9]+[um]?s/step - loss: 0.5000\n")), text());
}
