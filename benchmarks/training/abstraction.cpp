// What the abstraction costs: a step of mlp (784-128-10, Adam) through `fit`, through `fit` on one MPI rank, with the
// progress bar, and in a loop written by hand over the same kernels; in turn, so that all see the same machine.
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "workloads.hpp"

namespace {

namespace tr = trireme;
using Space = Kokkos::DefaultHostExecutionSpace;

/// One parallel region a step: each thread takes its rows through both layers, then its part of the sum and of Adam.
class HandWritten {
  using View = Kokkos::View<float*, Kokkos::HostSpace>;
  static constexpr tr::Dense<128, tr::ReLU> first{};
  static constexpr tr::Dense<10> second{};
  static constexpr tr::Extents<784> input{};
  static constexpr tr::Extents<128> hidden{};
  static constexpr std::size_t first_size = tr::detail::parameter_elements<float>(first, input);
  static constexpr std::size_t size = first_size + tr::detail::parameter_elements<float>(second, hidden);
  static constexpr std::size_t line = tr::arena_alignment / sizeof(float);

  struct Thread {
    View gradients, h, dh, y, dy;
    Kokkos::View<std::byte*, Kokkos::HostSpace> workspace;
    std::array<double, 8> totals{};  // loss, positions, sum and count of the accuracy; a cache line of its own
  };

 public:
  HandWritten(std::span<float const> parameters, std::size_t batch)
      : batch_(batch), threads_(static_cast<std::size_t>(Space().concurrency())), parameters_("parameters", size) {
    std::copy(parameters.begin(), parameters.end(), parameters_.data());
    std::size_t const rows = batch / threads_ + 1;
    for (std::size_t i = 0; i < threads_; ++i) {
      std::size_t const bytes = tr::detail::workspace_bytes<float, tr::ThreadContext>(first, input, rows) +
                                tr::detail::workspace_bytes<float, tr::ThreadContext>(second, hidden, rows);
      parts_.push_back(std::make_unique<Thread>(Thread{View("gradients", size),
                                                       View("h", rows * 128),
                                                       View("dh", rows * 128),
                                                       View("y", rows * 10),
                                                       View("dy", rows * 10),
                                                       Kokkos::View<std::byte*, Kokkos::HostSpace>("workspace", bytes),
                                                       {}}));
    }
  }

  void step(float const* x, std::int32_t const* labels) {
    ++iteration_;
    auto const adam = tr::Adam{.learning_rate = 1e-3}.step<float>(iteration_, 1e-3);
    tr::ThreadPool& pool = tr::ThreadPool::of(Space());
    pool.run(threads_, [&](std::size_t t) { rows(*parts_[t], x, labels, tr::row_range(batch_, t, threads_)); });
    pool.run(threads_, [&](std::size_t t) {
      auto const [begin, end] = tr::row_range(size / line, t, threads_);
      update(adam, begin * line, end * line);
    });
  }

  double loss() const {
    double sum = 0, count = 0;
    for (auto const& part : parts_) sum += part->totals[0], count += part->totals[1];
    return sum / count;
  }
  void reset() {
    for (auto& part : parts_) part->totals.fill(0);
  }

 private:
  void rows(Thread& own, float const* x, std::int32_t const* labels, tr::RowRange const& range) {
    tr::ThreadContext context;
    std::size_t const n = range.end - range.begin;
    x += range.begin * 784;
    float const* const p = parameters_.data();
    float* const g = own.gradients.data();
    float *const h = own.h.data(), *const dh = own.dh.data(), *const y = own.y.data(), *const dy = own.dy.data();
    std::byte* const first_space = own.workspace.data();
    std::byte* const second_space =
        first_space + tr::detail::workspace_bytes<float, tr::ThreadContext>(first, input, batch_ / threads_ + 1);
    tr::detail::run_forward(context, first, input, tr::ForwardPass<float>{n, x, h, p, first_space, {}, true});
    tr::detail::run_forward(context, second, hidden,
                            tr::ForwardPass<float>{n, h, y, p + first_size, second_space, {}, true});
    tr::SparseCategoricalCrossentropy const loss{.from_logits = true};
    for (std::size_t i = 0; i < n; ++i) {
      std::int32_t const* const label = labels + range.begin + i;
      own.totals[0] += static_cast<double>(loss(y + i * 10, label, 10, 1.0f / static_cast<float>(batch_), dy + i * 10));
      own.totals[1] += 1;
      tr::Accuracy{}.update(y + i * 10, label, 10, 1.0, own.totals.data() + 2);
    }
    tr::detail::run_backward(
        context, second, hidden,
        tr::BackwardPass<float>{n, h, y, dy, dh, p + first_size, g + first_size, second_space, {}});
    tr::detail::run_backward(context, first, input,
                             tr::BackwardPass<float>{n, x, h, dh, nullptr, p, g, first_space, {}});
  }

  void update(tr::AdamStep<float> const& adam, std::size_t begin, std::size_t end) {
    float* const sum = parts_[0]->gradients.data();
    tr::kernels::OptimizerStep<float, tr::AdamStep<float>> const step{
        adam, parameters_.data(), sum, {m_.data(), v_.data()}};
    constexpr std::size_t block = 1024;
    for (std::size_t part = begin; part < end; part += block) {
      std::size_t const last = std::min(end, part + block);
      for (std::size_t t = 1; t < threads_; ++t) {
        float const* const other = parts_[t]->gradients.data();
        TRIREME_SIMD
        for (std::size_t i = part; i < last; ++i) sum[i] += other[i];
      }
      step.elements(part, last);
    }
  }

  std::size_t batch_, threads_;
  View parameters_, m_{"m", size}, v_{"v", size};
  std::vector<std::unique_ptr<Thread>> parts_;
  std::uint64_t iteration_ = 0;
};

/// Seconds of `steps` steps, by whatever way.
template <class F>
double seconds(F const& f) {
  auto const start = bench::Clock::now();
  f();
  return std::chrono::duration<double>(bench::Clock::now() - start).count();
}

/// One way to take steps, and what they took.
struct Way {
  char const* name;
  std::vector<double> times{};
};

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto options = bench::parse(argc, argv, "Compares fit with a loop written by hand");
  std::size_t const steps = options.steps == 0 ? 512 : options.steps;
  for (auto const& name : options.cases) {
    std::size_t const batch = bench::batch_of(name);
    std::size_t const batches = bench::distinct_batches(batch, 784);
    auto const data = bench::labelled({batch * batches, 784});
    auto const dataset = tr::data::from_tensor_slices(data.x, data.y).batch(tr::GlobalBatch{batch}).repeat();
    auto const compile = [&](auto const& strategy) {
      return tr::compile(strategy, bench::mlp(), tr::Adam{.learning_rate = 1e-3},
                         tr::SparseCategoricalCrossentropy{.from_logits = true}, tr::Accuracy{},
                         tr::CompileOptions{.seed = 1, .parallelism = options.parallelism});
    };
    tr::OneDeviceStrategy<> const one;
    tr::MultiWorkerMirroredStrategy<> const ranks(environment.world());
    auto model = compile(one), watched = compile(one);
    auto distributed = compile(ranks);
    HandWritten hand(model.engine().weights().host_parameters(), batch);

    std::array<Way, 4> ways{{{"hand-written"}, {"fit"}, {"fit with progress bar"}, {"fit on one rank"}}};
    double hand_loss = 0, fit_loss = 0;
    std::FILE* const screen = std::fopen("/dev/null", "w");
    for (std::size_t r = 0; r <= options.repetitions; ++r) {
      auto const fit = [&](auto const& strategy, auto& compiled, auto&&... callbacks) {
        bench::EpochClock clock;
        auto const history =
            tr::fit(strategy, compiled, dataset,
                    tr::FitOptions{.epochs = 2, .steps_per_epoch = steps, .verbose = false}, clock, callbacks...);
        fit_loss = history["loss"].back();
        return clock.seconds().front();
      };
      // As many steps as the two epochs of fit, so that losses can be compared; the second half is timed.
      auto const by_hand = [&] {
        hand.reset();
        for (std::size_t s = 0; s < steps; ++s)
          hand.step(data.x.data + s % batches * batch * 784, data.y.data + s % batches * batch);
      };
      by_hand();
      double const hand_seconds = seconds(by_hand);
      hand_loss = hand.loss();
      double const measured[] = {hand_seconds, fit(one, model),
                                 fit(one, watched, tr::ProgressBar{.output = screen, .terminal = true}),
                                 fit(ranks, distributed)};
      if (r > 0)
        for (std::size_t w = 0; w < ways.size(); ++w) ways[w].times.push_back(measured[w]);
    }
    std::fclose(screen);
    if (!environment.world().is_chief()) continue;
    for (auto& way : ways) std::sort(way.times.begin(), way.times.end());
    auto const reference = bench::step_time(ways[0].times, steps);
    for (auto const& way : ways) {
      auto const time = bench::step_time(way.times, steps);
      fmt::print(
          "{{\"case\": \"{}\", \"way\": \"{}\", \"us_min\": {:.3f}, \"us_median\": {:.3f}, \"ratio\": {:.4f}}}\n", name,
          way.name, time.min, time.median, time.min / reference.min);
    }
    fmt::print("{{\"case\": \"{}\", \"loss_by_hand\": {:.6g}, \"loss_of_fit\": {:.6g}}}\n", name, hand_loss, fit_loss);
  }
}
