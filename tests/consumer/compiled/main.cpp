// Prints the bits of what two trainings come to: one in float here, one in double in another source.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

namespace tr = trireme;

void train_in_double();

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  tr::OneDeviceStrategy<> const strategy;

  constexpr std::size_t samples = 200;
  std::vector<float> points(samples * 4);
  std::vector<std::int32_t> labels(samples);
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = static_cast<float>(i * 37 % 101) / 101;
  for (std::size_t i = 0; i < samples; ++i) labels[i] = static_cast<std::int32_t>(points[4 * i] > points[4 * i + 1]);
  xt::xtensor<float, 2> x({samples, 4});
  std::copy(points.begin(), points.end(), x.begin());

  auto model = tr::compile(strategy, tr::Sequential{tr::Input<4>{}, tr::Dense<16, tr::Tanh>{}, tr::Dense<2>{}},
                           tr::Adam{.learning_rate = 1e-2}, tr::SparseCategoricalCrossentropy{.from_logits = true},
                           tr::Accuracy{});
  auto const data = tr::data::from_tensor_slices(x, labels).shuffle(samples, 3).batch(tr::GlobalBatch{32}).prefetch(2);
  auto const history = tr::fit(strategy, model, data, {.epochs = 5, .verbose = false});
  for (double const loss : history["loss"]) fmt::print("{:a}\n", loss);
  for (double const accuracy : history["accuracy"]) fmt::print("{:a}\n", accuracy);
  for (float const y : tr::predict(strategy, model, tr::data::from_tensor_slices(x).batch(tr::GlobalBatch{64})))
    fmt::print("{:a}\n", y);
  fmt::print("{}", model.summary());
  train_in_double();
}
