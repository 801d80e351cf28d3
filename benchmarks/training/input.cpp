// What the data pipeline costs: a step of mlp (784-128-10, Adam) over 60,000 samples in their own order, which are used
// where they lie, against the same step over shuffled ones, with and without a prefetch thread; in turn, so that all
// see the same machine.
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <vector>

#include "workloads.hpp"

namespace {

namespace tr = trireme;

struct Way {
  char const* name;
  std::vector<double> times{}, ratios{};
};

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Compares shuffled and prefetched data with data in place");
  auto const data = bench::labelled({60'000, 784});
  auto const samples = tr::data::from_tensor_slices(data.x, data.y);
  for (auto const& name : options.cases) {
    tr::GlobalBatch const batch{bench::batch_of(name)};
    std::size_t const steps = options.steps == 0 ? 60'000 / bench::batch_of(name) : options.steps;
    std::array<Way, 3> ways{{{"in place"}, {"shuffle"}, {"shuffle and prefetch"}}};
    tr::OneDeviceStrategy<> const strategy;
    auto model = tr::compile(strategy, bench::mlp(), tr::Adam{.learning_rate = 1e-3},
                             tr::SparseCategoricalCrossentropy{.from_logits = true}, tr::Accuracy{},
                             tr::CompileOptions{.seed = 1, .parallelism = options.parallelism});
    // Three epochs, of which the last one is timed: the first two warm up buffers and caches.
    auto const measure = [&](Way& way, auto const& dataset) {
      bench::EpochClock clock;
      tr::fit(strategy, model, dataset, tr::FitOptions{.epochs = 3, .steps_per_epoch = steps, .verbose = false}, clock);
      way.times.push_back(clock.seconds().front());
    };
    for (std::size_t r = 0; r < options.repetitions; ++r) {
      measure(ways[0], samples.batch(batch));
      measure(ways[1], samples.shuffle(60'000, 7).batch(batch));
      measure(ways[2], samples.shuffle(60'000, 7).batch(batch).prefetch(2));
    }
    for (auto& way : ways) {  // of times that were measured one after the other
      std::transform(way.times.begin(), way.times.end(), ways[0].times.begin(), std::back_inserter(way.ratios),
                     std::divides<>());
      std::sort(way.ratios.begin(), way.ratios.end());
    }
    for (auto& way : ways) std::sort(way.times.begin(), way.times.end());
    auto const reference = bench::step_time(ways[0].times, steps);
    for (auto const& way : ways) {
      auto const time = bench::step_time(way.times, steps);
      fmt::print(
          "{{\"case\": \"{}\", \"way\": \"{}\", \"us_min\": {:.3f}, \"us_median\": {:.3f}, \"ratio\": {:.4f}, "
          "\"ratio_in_turn\": {:.4f}}}\n",
          name, way.name, time.min, time.median, time.min / reference.min, way.ratios[way.ratios.size() / 2]);
    }
  }
}
