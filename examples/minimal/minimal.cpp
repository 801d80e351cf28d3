// The smallest program: a network learns which of two interleaved spirals a point belongs to.
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

namespace tr = trireme;

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  tr::OneDeviceStrategy<> const strategy;

  constexpr std::size_t samples = 1024;
  xt::xtensor<float, 2> points({samples, 2});
  std::vector<std::int32_t> labels(samples);
  for (std::size_t i = 0; i < samples; ++i) {
    auto const arm = static_cast<std::int32_t>(i % 2);
    double const turn = static_cast<double>(i) / samples * 1.5 * std::numbers::pi;
    double const angle = turn + arm * std::numbers::pi;
    points(i, 0) = static_cast<float>(turn * std::cos(angle) / 5);
    points(i, 1) = static_cast<float>(turn * std::sin(angle) / 5);
    labels[i] = arm;
  }
  auto const data = tr::data::from_tensor_slices(points, labels).shuffle(samples, 1).batch(tr::GlobalBatch{32});

  auto model = tr::compile(
      strategy, tr::Sequential{tr::Input<2>{}, tr::Dense<32, tr::Tanh>{}, tr::Dense<32, tr::Tanh>{}, tr::Dense<2>{}},
      tr::Adam{.learning_rate = 1e-2}, tr::SparseCategoricalCrossentropy{.from_logits = true}, tr::Accuracy{});
  fmt::print("{}", model.summary());

  tr::fit(strategy, model, data, {.epochs = 30, .verbose = false});
  auto const result = tr::evaluate(strategy, model, data);
  fmt::print("accuracy: {:.3f}\n", result.find("accuracy")->value());
}
