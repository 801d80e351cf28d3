// One program, any strategy: `mpiexec -n 4 strategies sharded`. The model has a normalization, attention, a recurrent
// layer and an activation of its own; the strategy's type is all that changes.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

namespace tr = trireme;

/// Callable on devices too, where a lambda is not.
struct Softsign {
  template <class Number>
  KOKKOS_FUNCTION auto operator()(Number const& x) const {
    return x / (1 + abs(x));
  }
};

constexpr std::size_t samples = 2048, moments = 16, channels = 8;

/// Noise with a wave in it, faster or slower: which one is it?
struct Waves {
  xt::xtensor<float, 3> x = xt::zeros<float>({samples, moments, channels});
  std::vector<std::int32_t> y = std::vector<std::int32_t>(samples);

  Waves() {
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < samples; ++i) {
      y[i] = static_cast<std::int32_t>(i % 3);
      for (std::size_t t = 0; t < moments; ++t)
        for (std::size_t f = 0; f < channels; ++f) {
          state = state * 1664525u + 1013904223u;
          float const noise = static_cast<float>(state >> 8) * 0x1p-24f - 0.5f;
          x(i, t, f) =
              noise + 0.5f * std::sin(static_cast<float>(y[i] + 1) * static_cast<float>(t) / 2 + static_cast<float>(f));
        }
    }
  }
};

template <class Strategy>
void train(Strategy const& strategy, Waves const& waves, std::string_view name) {
  auto model = tr::compile(strategy,
                           tr::Sequential{tr::Input<moments, channels>{}, tr::Dense<16, tr::Elementwise<Softsign>>{},
                                          tr::Residual{tr::LayerNormalization<>{}, tr::MultiHeadAttention<2, 8>{}},
                                          tr::LSTM<16, tr::ReturnSequences>{}, tr::SyncBatchNormalization<>{},
                                          tr::Flatten{}, tr::Dropout{.rate = 0.1f}, tr::Dense<3>{}},
                           tr::Adam{.learning_rate = 3e-3}, tr::SparseCategoricalCrossentropy{.from_logits = true},
                           tr::Accuracy{});
  auto const data = tr::data::from_tensor_slices(waves.x, waves.y);
  auto const train = data.skip(256).shuffle(samples, 1).batch(tr::GlobalBatch{64});
  auto const held_out = data.take(256).batch(tr::GlobalBatch{64});
  auto const history = tr::fit(strategy, model, train, tr::validation(held_out), {.epochs = 4, .verbose = false},
                               tr::EarlyStopping<"val_loss">{.patience = 2});
  if (strategy.group().is_chief())
    fmt::print("{}: loss {}, val_accuracy {:.4f}\n", name, history["loss"].back(), history["val_accuracy"].back());
}

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const& world = environment.world();
  using Space = Kokkos::DefaultExecutionSpace;
  using Ranks = tr::MultiWorkerMirroredStrategy<Space>;
  std::string_view const name = argc > 1 ? argv[1] : "ranks";
  Waves const waves;

  if (name == "one")
    train(tr::OneDeviceStrategy<Space>(), waves, name);
  else if (name == "mirrored")
    train(tr::MirroredStrategy<Space>(2), waves, name);
  else if (name == "ranks")
    train(Ranks(world), waves, name);
  else if (name == "accumulate")
    train(tr::Accumulate<Ranks, 4>(world), waves, name);
  else if (name == "local_sgd")
    train(tr::LocalSGD<Ranks, 4>(world), waves, name);
  else if (name == "compressed")
    train(tr::Compressed<Ranks, tr::BFloat16>(world), waves, name);
  else if (name == "sharded")
    train(tr::ShardedStrategy<Space, 3>(world), waves, name);
  else if (name == "pipeline")
    train(tr::PipelineStrategy<Space>(world), waves, name);
  else if (name == "virtual")
    train(tr::VirtualReplicas<Ranks, 8>(world), waves, name);
  else if (name == "servers")
    train(tr::ParameterServerStrategy<Space>(world), waves, name);
  else
    throw tr::ValueError(fmt::format("there is no strategy '{}' here", name));
}
