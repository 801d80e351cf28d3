// EarlyStopping, ReduceLROnPlateau and ModelCheckpoint take the decisions that Keras takes, epoch by epoch.
#define BOOST_TEST_MODULE parity_callbacks
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/callbacks/model_checkpoint.hpp"
#include "trireme/callbacks/output_files.hpp"
#include "trireme/callbacks/reduce_lr_on_plateau.hpp"

#include "../unit/callbacks/scripted_run.hpp"
#include "parity/reference.hpp"

namespace tr = trireme;
using nlohmann::json;
using tr::test::ScriptedRun;
using tr::test::uniform;

namespace {

double number(json const& value) {
  if (!value.is_string()) return value.get<double>();
  std::string const text = value;
  if (text == "nan") return std::nan("");
  return text == "-inf" ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
}

void fill(tr::Logs& logs, json const& entry) {
  logs.clear();
  for (auto const& [name, value] : entry.items()) logs.set(name, uniform(number(value)));
}

/// All names that the case's logs ever hold, as `fit` would know them.
std::vector<std::string> names_in(json const& fits) {
  std::set<std::string> names;
  for (auto const& fit : fits) {
    for (auto const& epoch : fit) {
      for (auto const& [name, value] : (epoch.contains("logs") ? epoch["logs"] : epoch).items()) names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

tr::Mode mode_of(json const& config) {
  std::string const mode = config.value("mode", "auto");
  return mode == "min" ? tr::Mode::min : mode == "max" ? tr::Mode::max : tr::Mode::automatic;
}

std::optional<double> optional(json const& config, char const* key) {
  return config.contains(key) && !config[key].is_null() ? std::optional(number(config[key])) : std::nullopt;
}

bool same(json const& expected, std::optional<double> got) {
  if (expected.is_null() || !got) return expected.is_null() && !got;
  double const value = number(expected);
  return value == *got || (std::isnan(value) && std::isnan(*got));
}

template <tr::FixedString Monitor>
void early_stopping(json const& the_case, json const& expected) {
  json const& config = the_case["config"];
  tr::EarlyStopping<Monitor> callback{.min_delta = config.value("min_delta", 0.0),
                                      .patience = config.value("patience", std::size_t{0}),
                                      .mode = mode_of(config),
                                      .baseline = optional(config, "baseline"),
                                      .restore_best_weights = config.value("restore_best_weights", false),
                                      .start_from_epoch = config.value("start_from_epoch", std::size_t{0})};
  ScriptedRun run;
  for (std::size_t fit = 0; fit < expected.size(); ++fit) {
    json const& trace = expected[fit];
    if (trace.contains("error")) {
      BOOST_CHECK_THROW(callback.on_train_begin(run), tr::ValueError);
      continue;
    }
    callback.on_train_begin(run);
    std::size_t epochs = 0;
    for (json const& entry : the_case["logs"][fit]) {
      BOOST_REQUIRE(epochs < trace["epochs"].size());
      json const& want = trace["epochs"][epochs];
      run.epoch_now = epochs++;
      run.weights = static_cast<int>(run.epoch_now);
      fill(run.epoch_logs, entry);
      bool const stop = callback.on_epoch_end(run).value() == tr::Control::stop;
      BOOST_TEST(callback.wait == want["wait"].get<std::size_t>());
      BOOST_TEST(same(want["best"], callback.best));
      BOOST_TEST(callback.best_epoch == want["best_epoch"].get<std::size_t>());
      BOOST_TEST(stop == want["stop"].get<bool>());
      if (stop) break;
    }
    BOOST_TEST(epochs == trace["epochs"].size());
    callback.on_train_end(run);
    BOOST_TEST(callback.stopped_epoch == trace["stopped_epoch"].get<std::size_t>());
    BOOST_TEST(run.weights == trace["final_weights_epoch"].get<int>());
  }
}

template <tr::FixedString Monitor>
void reduce_lr(json const& the_case, json const& expected) {
  json const& config = the_case["config"];
  tr::ReduceLROnPlateau<Monitor> callback{.factor = config.value("factor", 0.1),
                                          .patience = config.value("patience", std::size_t{10}),
                                          .mode = mode_of(config),
                                          .min_delta = config.value("min_delta", 1e-4),
                                          .cooldown = config.value("cooldown", std::size_t{0}),
                                          .min_lr = config.value("min_lr", 0.0)};
  // Keras holds the rate in float32, and the products with a factor such as 0.1 were taken from there.
  double const tolerance = the_case["tolerance"]["float32"]["rtol"];
  auto const close = [&](double got, json const& want) {
    return std::abs(got - number(want)) <= tolerance * std::abs(number(want));
  };
  ScriptedRun run;
  run.rate = the_case["learning_rate"];
  for (std::size_t fit = 0; fit < expected.size(); ++fit) {
    callback.on_train_begin(run);
    for (std::size_t epoch = 0; epoch < expected[fit]["epochs"].size(); ++epoch) {
      json const& want = expected[fit]["epochs"][epoch];
      run.epoch_now = epoch;
      fill(run.epoch_logs, the_case["logs"][fit][epoch]);
      callback.on_epoch_end(run);
      BOOST_TEST(close(run.epoch_logs.find("learning_rate").value().value(), want["logged_learning_rate"]));
      BOOST_TEST(close(run.rate, want["learning_rate"]));
      BOOST_TEST(callback.wait == want["wait"].get<std::size_t>());
      BOOST_TEST(callback.cooldown_counter == want["cooldown_counter"].get<std::size_t>());
      BOOST_TEST(same(want["best"], callback.best));
    }
  }
}

template <tr::FixedString Monitor>
void model_checkpoint(json const& the_case, json const& expected) {
  json const& config = the_case["config"];
  tr::ModelCheckpoint<Monitor> callback{.path = config["filepath"],
                                        .save_best_only = config.value("save_best_only", false),
                                        .save_weights_only = config["save_weights_only"],
                                        .mode = mode_of(config),
                                        .save_freq = config.value("save_freq", std::size_t{0}),
                                        .initial_value_threshold = optional(config, "initial_value_threshold")};
  ScriptedRun run;
  run.names = names_in(the_case["logs"]);
  // What Keras notices at the first save, or at the end of the first epoch, is noticed before the first batch.
  if (expected.is_string() || expected[0].contains("error")) {
    auto const begin = [&] {
      tr::detail::require_names(callback.output_files(run));
      callback.on_train_begin(run);
    };
    BOOST_CHECK_THROW(begin(), tr::Error);
    return;
  }
  for (std::size_t fit = 0; fit < expected.size(); ++fit) {
    callback.on_train_begin(run);
    for (std::size_t epoch = 0; epoch < expected[fit]["epochs"].size(); ++epoch) {
      json const& want = expected[fit]["epochs"][epoch];
      json const& script = the_case["logs"][fit][epoch];
      run.epoch_now = epoch;
      json batch_files = json::array();
      for (std::size_t batch = 0; batch < script["batches"].size(); ++batch) {
        run.batch_now = batch;
        fill(run.batch_logs, script["batches"][batch]);
        callback.on_train_batch_end(run);
        for (auto const& file : run.saved) batch_files.push_back({{"batch", batch}, {"file", file}});
        run.saved.clear();
      }
      fill(run.epoch_logs, script["logs"]);
      callback.on_epoch_end(run);
      BOOST_TEST(batch_files == want["batch_files"]);
      BOOST_TEST(json(run.saved) == want["epoch_files"]);
      BOOST_TEST(same(want["best"], callback.best));
      run.saved.clear();
    }
  }
}

template <tr::FixedString Monitor>
void drive(json const& the_case) {
  json const& expected = the_case.value("departs", false) ? the_case["expected_departure"] : the_case["expected"];
  std::string const name = the_case["class"];
  if (name == "EarlyStopping") early_stopping<Monitor>(the_case, expected);
  if (name == "ReduceLROnPlateau") reduce_lr<Monitor>(the_case, expected);
  if (name == "ModelCheckpoint") model_checkpoint<Monitor>(the_case, expected);
}

std::size_t drive_all(std::string const& wanted) {
  std::size_t count = 0;
  for (tr::test::ReferenceCase const& c : tr::test::reference_cases("callbacks")) {
    if (c.class_name() != wanted) continue;
    json const& the_case = c.description;
    BOOST_TEST_CONTEXT(c.name()) {
      std::string const monitor = the_case["config"]["monitor"];
      if (monitor == "val_loss")
        drive<"val_loss">(the_case);
      else if (monitor == "loss")
        drive<"loss">(the_case);
      else if (monitor == "val_accuracy")
        drive<"val_accuracy">(the_case);
      else if (monitor == "mae")
        drive<"mae">(the_case);
      else if (monitor == "val_mae")
        drive<"val_mae">(the_case);
      else if (monitor == "val_score")
        drive<"val_score">(the_case);
      else
        BOOST_ERROR("no callback is compiled for the monitor " << monitor);
    }
    ++count;
  }
  return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(early_stopping_decides_as_keras_does) { BOOST_TEST(drive_all("EarlyStopping") >= 51u); }

BOOST_AUTO_TEST_CASE(reduce_lr_on_plateau_decides_as_keras_does) { BOOST_TEST(drive_all("ReduceLROnPlateau") >= 30u); }

BOOST_AUTO_TEST_CASE(model_checkpoint_saves_when_keras_does) { BOOST_TEST(drive_all("ModelCheckpoint") >= 30u); }
