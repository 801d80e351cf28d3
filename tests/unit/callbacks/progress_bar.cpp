#define BOOST_TEST_MODULE callbacks_progress_bar
#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <regex>
#include <string>

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
  bar.on_train_end(run);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(without_a_terminal_there_are_two_plain_lines_an_epoch, Output) {
  tr::ProgressBar bar{.output = file};
  ScriptedRun run;
  train(bar, run, 2);
  std::regex const wanted(
      "Epoch 1/2\n12/12 - 0s [0-9]+us/step - loss: 0.2500 - val_loss: 1.2000e-04\n"
      "Epoch 2/2\n12/12 - 0s [0-9]+us/step - loss: 0.2500 - val_loss: 1.2000e-04\n");
  BOOST_TEST(std::regex_match(text(), wanted), text());
}

BOOST_FIXTURE_TEST_CASE(on_a_terminal_the_line_is_drawn_over, Output) {
  tr::ProgressBar bar{.output = file, .terminal = true};
  ScriptedRun run;
  train(bar, run, 2);
  std::string const all = text();
  BOOST_TEST(all.find("\r1/? 0s ") != std::string::npos);  // the first epoch does not know how many steps there are
  BOOST_TEST(all.find("\r 1/12 ━───────────────────") != std::string::npos);
  BOOST_TEST(all.find("\r12/12 ━━━━━━━━━━━━━━━━━━━━ 0s ") != std::string::npos);
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
  ScriptedRun run;
  bar.on_test_begin(run);
  for (int batch = 0; batch < 3; ++batch) bar.on_test_batch_end(run);
  run.logs().set("loss", uniform(0.5));
  bar.on_test_end(run);
  BOOST_TEST(std::regex_match(text(), std::regex("3/3 - 0s [0-9]+us/step - loss: 0.5000\n")), text());
}
