// The parts of docs/extending.md in one training: the mean level of noisy sequences, some with a wrong target.
//
//   mpiexec -n 2 extending
#include <cstddef>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

#include "parts.hpp"
#include "strategy.hpp"

namespace tr = trireme;

namespace {

constexpr std::size_t steps = 8, features = 3;

/// Sequences (samples, time, features) whose level is a mixture of the features, and wrong in one of twenty.
struct Sequences {
  xt::xtensor<float, 3> x;
  std::vector<float> level;

  Sequences(std::size_t samples, unsigned seed) : x({samples, steps, features}), level(samples) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (std::size_t i = 0; i < samples; ++i) {
      for (std::size_t j = 0; j < features; ++j) {
        float const mean = normal(random);
        for (std::size_t t = 0; t < steps; ++t) x(i, t, j) = 5 + mean + 0.3f * normal(random);
        level[i] += (j == 0 ? 1.0f : -0.5f) * mean;
      }
      if (i % 20 == 0) level[i] += 30;
    }
  }

  auto data() const { return tr::data::from_tensor_slices(x, level); }
};

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  extending::OneMessageStrategy<> const strategy(environment.world());

  Sequences const training(4096, 1), validation(512, 2);
  auto model = tr::compile(
      strategy,
      tr::Sequential{tr::Input<steps, features>{}, extending::MovingCenter{.momentum = 0.9},
                     extending::MultiplicativeNoise{.deviation = 0.05}, tr::Dense<16, extending::Squareplus>{},
                     extending::LowRank<2>{}, extending::MeanOverTime{}, tr::Dense<1>{}},
      extending::HeavyBall{.learning_rate = 0.02}, extending::Tukey{.width = 4}, extending::R2{},
      extending::Within{.tolerance = 0.25}, tr::CompileOptions{.seed = 1});
  auto const history =
      tr::fit(strategy, model, training.data().shuffle(4096, 7).batch(tr::GlobalBatch{32}),
              tr::validation(validation.data().batch(tr::GlobalBatch{128})), {.epochs = 2, .verbose = false},
              extending::StopOnGap{.factor = 4}, extending::TimeLimit{.seconds = 600});
  if (environment.world().is_chief())
    for (std::size_t epoch = 0; epoch < history["loss"].size(); ++epoch)
      fmt::print("epoch {}: loss {:.4f}, of validation {:.4f}, {:.1f} % within 0.25\n", epoch + 1,
                 history["loss"][epoch], history["val_loss"][epoch], 100 * history["val_within"][epoch]);
}
