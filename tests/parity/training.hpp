/// A whole training against Keras's: every value that was logged, every batch's loss, the weights after one and all
/// steps.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include <Kokkos_Core.hpp>
#include <nlohmann/json.hpp>

#include "parity/reference.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/losses/targets.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

/// Training data of all cases: images, with labels or the images themselves as targets.
template <class T, class Label>
struct TrainingData {
  xt::xarray<T> x;
  xt::xarray<Label> y;

  TrainingData(ReferenceCase const& c, std::string const& part) {
    std::vector<double> const images = c.shared_array<double>("x_" + part).values;
    std::vector<std::int32_t> const labels = c.shared_array<std::int32_t>("y_" + part).values;
    std::vector<std::size_t> extents = c.description.at("input_shape");
    extents.insert(extents.begin(), labels.size());
    x = xt::xarray<T>::from_shape(extents);
    BOOST_REQUIRE_EQUAL(x.size(), images.size());
    std::transform(images.begin(), images.end(), x.data(), [](double v) { return static_cast<T>(v); });
    auto const& targets = c.description.at("targets");
    if (targets == "pixels") {
      y = xt::cast<Label>(x);
      return;
    }
    Label const divisor = targets == "label_over_8" ? 8 : 1;
    y = xt::xarray<Label>::from_shape({labels.size()});
    for (std::size_t i = 0; i < labels.size(); ++i) y(i) = static_cast<Label>(labels[i]) / divisor;
  }

  std::size_t rows() const { return x.shape()[0]; }
};

/// All parameters in the model's order, which is Keras's.
template <class Model>
std::vector<std::vector<double>> weights_of(Model const& model) {
  std::vector<std::vector<double>> all;
  for (auto const& name : model.weight_names()) {
    auto const values = model.weights(name);
    all.emplace_back(values.begin(), values.end());
  }
  return all;
}

/// Values that a callback sees after each batch.
struct BatchRecord {
  std::map<std::string, std::vector<double>> running;
  std::vector<std::vector<double>> first_weights;

  template <class Run>
  void on_train_batch_end(Run& run) {
    for (auto const& entry : run.metrics()) running[entry.name].push_back(entry.value.value());
    if (run.step() == 1) first_weights = weights_of(run.model());
  }
};

template <class T>
class Training {
 public:
  explicit Training(ReferenceCase const& c)
      : case_(c), batch_(c.description.at("batch_size")), epochs_(c.description.at("epochs")) {}

  template <class Architecture, class Optimizer, class Loss, class... Metrics>
  void check(Parallelism plan, Architecture const& architecture, Optimizer const& optimizer, Loss const& loss,
             Metrics const&... metrics) {
    using Label = typename Loss::target::template value_type<T>;
    TrainingData<T, Label> const train(case_, "train"), test(case_, "test");
    BOOST_REQUIRE(case_.description.at("shuffle") == false);
    FitOptions options{.epochs = epochs_, .verbose = false};
    auto const& class_weight = case_.description.at("class_weight");
    weight_.assign(train.rows(), 1.0);
    if (!class_weight.is_null()) {
      for (auto const& [name, weight] : class_weight.items()) {
        options.class_weight.resize(std::max<std::size_t>(options.class_weight.size(), std::stoul(name) + 1), 1.0);
        options.class_weight[std::stoul(name)] = weight;
      }
      std::transform(train.y.begin(), train.y.end(), weight_.begin(),
                     [&](Label label) { return options.class_weight.at(static_cast<std::size_t>(label)); });
    }

    OneDeviceStrategy<Kokkos::DefaultHostExecutionSpace> const strategy;
    auto model = compile<T>(strategy, architecture, optimizer, loss, metrics..., CompileOptions{.parallelism = plan});
    set_initial_weights(model);
    BatchRecord record;
    auto const tests = validation(data::from_tensor_slices(test.x, test.y).batch(GlobalBatch{batch_}));
    History history;
    if (case_.has("sample_weight")) {
      weight_ = case_.template array<double>("sample_weight").values;
      history = fit(strategy, model, data::from_tensor_slices(train.x, train.y, weight_).batch(GlobalBatch{batch_}),
                    tests, options, record);
    } else {
      history = fit(strategy, model, data::from_tensor_slices(train.x, train.y).batch(GlobalBatch{batch_}), tests,
                    options, record);
    }

    compare_history(history, test.rows());
    compare_batches(record);
    compare_weights("after_first_batch", record.first_weights);
    compare_weights("final", weights_of(model));
  }

 private:
  template <class Model>
  void set_initial_weights(Model& model) const {
    auto const& weights = case_.description.at("weights");
    auto const names = model.weight_names();
    BOOST_REQUIRE_EQUAL(names.size(), weights.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      // Keras's path begins with the model's own name, if it is a Sequential.
      std::string const path = weights[i].at("name");
      bool const graph = case_.description.at("model").at(0).is_string();
      BOOST_TEST(names[i] == (graph ? path : path.substr(path.find('/') + 1)));
      auto const values = case_.template array<T>(weights[i].at("initial"));
      model.set_weights(names[i], to_xarray(values.values.data(), values.extents));
    }
  }

  void compare_history(History const& history, std::size_t tests) const {
    auto const& expected = case_.description.at("history");
    BOOST_TEST(history.values.size() == expected.size());
    for (auto const& [name, values] : expected.items()) {
      BOOST_REQUIRE_MESSAGE(history.contains(name), case_.name() << ": no " << name << " in " << history.names());
      bool const validates = name.substr(0, 4) == "val_";
      std::vector<double> const weight = validates ? std::vector<double>(tests, 1.0) : counted(name);
      std::vector<double> const allowed(values.size(), one_sample(weight, weight.size()));
      compare_values(name, values, history[name], allowed);
    }
  }

  void compare_batches(BatchRecord const& record) const {
    std::vector<double> losses;
    for (auto const& [name, epochs] : case_.description.at("batch_logs").items()) {
      auto const found = record.running.find(name);
      BOOST_REQUIRE_MESSAGE(found != record.running.end(), case_.name() << ": batches have no " << name);
      std::vector<double> expected, allowed;
      for (auto const& epoch : epochs)
        for (std::size_t b = 0; b < epoch.size(); ++b) {
          expected.push_back(epoch[b]);
          allowed.push_back(one_sample(counted(name), rows_until(b)));
        }
      compare_values(name + " after each batch", expected, found->second, allowed);
    }
    // A batch's own loss, from the running means before and after it.
    auto const expected = case_.template array<double>("batch_losses");
    std::vector<double> const& running = record.running.at("loss");
    std::size_t const batches = expected.extents.at(1);
    for (std::size_t i = 0; i < running.size(); ++i) {
      std::size_t const b = i % batches;
      double const rows = static_cast<double>(rows_until(b)),
                   before = b == 0 ? 0 : static_cast<double>(rows_until(b - 1));
      losses.push_back((running[i] * rows - (b == 0 ? 0 : running[i - 1] * before)) / (rows - before));
    }
    case_.template compare<T>("batch losses", expected.values, losses);
  }

  void compare_weights(char const* when, std::vector<std::vector<double>> const& got) const {
    auto const& weights = case_.description.at("weights");
    BOOST_REQUIRE_EQUAL(weights.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      case_.template compare<T>(weights[i].at("name").get<std::string>() + " " + when,
                                case_.template array<double>(weights[i].at(when)).values, got[i]);
  }

  /// Accuracies are the same in double; in float one sample may fall on the other side.
  void compare_values(std::string const& name, std::vector<double> const& expected, std::vector<double> const& got,
                      std::vector<double> const& sample) const {
    if (name.find("accuracy") == std::string::npos) return case_.template compare<T>(name, expected, got);
    BOOST_REQUIRE_EQUAL(expected.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      double const allowed = (std::is_same_v<T, float> ? sample[i] : 0.0) + 1e-14;
      BOOST_TEST(std::abs(got[i] - expected[i]) <= allowed,
                 case_.name() << ": " << name << " in " << (std::is_same_v<T, float> ? "float" : "double") << " at "
                              << i << ": " << got[i] << " for " << expected[i]);
    }
  }

  /// The weights with which samples count in a metric of training.
  std::vector<double> counted(std::string const& metric) const {
    return metric.substr(0, 9) == "weighted_" ? weight_ : std::vector<double>(weight_.size(), 1.0);
  }
  std::size_t rows_until(std::size_t batch) const { return std::min((batch + 1) * batch_, weight_.size()); }
  /// The largest part that one of the first `count` samples has in their mean.
  static double one_sample(std::vector<double> const& weight, std::size_t count) {
    auto const end = weight.begin() + static_cast<std::ptrdiff_t>(count);
    return *std::max_element(weight.begin(), end) / std::accumulate(weight.begin(), end, 0.0);
  }

  ReferenceCase const& case_;
  std::size_t batch_, epochs_;
  std::vector<double> weight_;
};

/// In float and double, rows by rows and product by product.
template <class... Parts>
void check_training(ReferenceCase const& c, Parts const&... parts) {
  for (Parallelism plan : {Parallelism::samples, Parallelism::intra_op}) {
    Training<double>(c).check(plan, parts...);
    Training<float>(c).check(plan, parts...);
  }
}

}  // namespace trireme::test
