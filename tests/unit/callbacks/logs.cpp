#define BOOST_TEST_MODULE callbacks_logs
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

#include "trireme/callbacks/history.hpp"
#include "trireme/metrics/logs.hpp"

#include "scripted_run.hpp"

namespace tr = trireme;
using tr::test::ScriptedRun;
using tr::test::uniform;

BOOST_AUTO_TEST_CASE(values_keep_the_order_in_which_their_names_were_first_set) {
  tr::Logs logs;
  logs.set("loss", uniform(2));
  logs.set("accuracy", uniform(0.5));
  logs.set("loss", uniform(1));
  BOOST_TEST(logs.names() == "loss, accuracy");
  BOOST_TEST(logs.size() == 2u);
  BOOST_TEST(logs.find("loss")->value() == 1);
  BOOST_TEST(!logs.find("los"));
}

BOOST_AUTO_TEST_CASE(a_nan_has_no_sign_as_processors_differ_in_it) {
  tr::Logs logs;
  logs.set("loss", uniform(std::copysign(std::numeric_limits<double>::quiet_NaN(), -1.0)));
  BOOST_TEST(fmt::format("{}", logs.find("loss")->value()) == "nan");
  logs.set("loss", uniform(-std::numeric_limits<double>::infinity()));
  BOOST_TEST(fmt::format("{}", logs.find("loss")->value()) == "-inf");
}

BOOST_AUTO_TEST_CASE(a_cleared_log_has_no_values_and_may_get_other_names) {
  tr::Logs logs;
  logs.set("loss", uniform(2));
  logs.set("val_loss", uniform(3));
  logs.clear();
  BOOST_TEST(logs.empty());
  BOOST_TEST(!logs.find("loss"));
  logs.set("mae", uniform(4));
  BOOST_TEST(logs.names() == "mae");
}

BOOST_AUTO_TEST_CASE(setting_the_same_names_again_allocates_nothing) {
  tr::Logs logs;
  auto const epoch = [&](double value) {
    logs.clear();
    logs.set("a_name_that_is_too_long_for_the_string_itself", uniform(value));
    logs.set("val_loss", uniform(value));
    logs.set("val_loss", uniform(value + 1));
  };
  epoch(1);
  auto const* const entries = logs.begin();
  auto const* const name = logs.begin()->name.data();
  epoch(2);
  BOOST_TEST(logs.begin() == entries);
  BOOST_TEST(static_cast<void const*>(logs.begin()->name.data()) == static_cast<void const*>(name));
  BOOST_TEST(logs.find("val_loss")->value() == 3);
}

BOOST_AUTO_TEST_CASE(history_has_one_value_for_each_epoch_that_logged_the_name) {
  tr::History history;
  ScriptedRun run;
  for (std::size_t epoch = 0; epoch < 3; ++epoch) {
    run.epoch_now = epoch;
    run.logs().clear();
    run.logs().set("loss", uniform(static_cast<double>(epoch)));
    if (epoch == 1) run.logs().set("val_loss", uniform(7));
    history.on_epoch_end(run);
  }
  BOOST_TEST(history["loss"] == (std::vector<double>{0, 1, 2}), boost::test_tools::per_element());
  BOOST_TEST(history["val_loss"] == (std::vector<double>{7}), boost::test_tools::per_element());
  BOOST_TEST(history.epochs.size() == 3u);
  BOOST_TEST(history.contains("loss"));
  // The values of a history that ends with the expression, as that of `fit(...)["loss"]`, outlive it.
  static_assert(std::is_same_v<decltype(tr::History{}["loss"]), std::vector<double>>);
}

BOOST_AUTO_TEST_CASE(an_unknown_name_is_answered_with_the_names_that_there_are) {
  tr::History history;
  ScriptedRun run;
  run.logs().set("loss", uniform(1));
  run.logs().set("val_loss", uniform(1));
  history.on_epoch_end(run);
  BOOST_CHECK_EXCEPTION(history["val_los"], tr::ValueError, [](tr::ValueError const& error) {
    return std::string(error.what()) == "the history has no 'val_los', only: loss, val_loss";
  });
  BOOST_CHECK_EXCEPTION(tr::History()["loss"], tr::ValueError, [](tr::ValueError const& error) {
    return std::string(error.what()) == "the history has no 'loss': no epoch was trained";
  });
}
