// What is asked of a training benchmark on its command line, and how a run of `fit` is timed.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <trireme/trireme.hpp>

namespace bench {

namespace tr = trireme;
using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::string> cases;
  std::size_t steps = 0;  ///< of an epoch; 0: as many as take `seconds`
  std::size_t repetitions = 15;
  double seconds = 0.05;
  tr::Parallelism parallelism = tr::Parallelism::automatic;
  tr::DeviceOptions device{};
};

/// The options of every training benchmark; ends the program if they make no sense.
inline Options parse(int argc, char** argv, char const* description) {
  Options options;
  std::string plan = "automatic";
  CLI::App app(description);
  app.add_option("--case", options.cases, "mlp_b32 and the like: the number is the global batch")->required();
  app.add_option("--steps", options.steps, "steps of an epoch; 0: as many as take --seconds")->capture_default_str();
  app.add_option("--seconds", options.seconds, "an epoch's time, where --steps is 0")->capture_default_str();
  app.add_option("--repetitions", options.repetitions, "epochs measured, after one to warm up")->capture_default_str();
  app.add_option("--parallelism", plan, "how threads share a step")
      ->check(CLI::IsMember({"automatic", "samples", "intra_op"}))
      ->capture_default_str();
  app.add_flag("--record", options.device.record_steps, "steps of one device are recorded once and replayed");
  app.add_flag("--fuse", options.device.fuse_steps, "steps of small perceptrons on one device are two kernels");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    std::exit(app.exit(error));
  }
  options.repetitions = std::max<std::size_t>(1, options.repetitions);
  options.parallelism = plan == "samples"    ? tr::Parallelism::samples
                        : plan == "intra_op" ? tr::Parallelism::intra_op
                                             : tr::Parallelism::automatic;
  return options;
}

/// The number behind the last "_b" of a case's name: its global batch.
inline std::size_t batch_of(std::string const& name) {
  std::size_t const at = name.rfind("_b");
  std::size_t const batch = at == std::string::npos ? 0 : std::strtoul(name.c_str() + at + 2, nullptr, 10);
  if (batch == 0) throw tr::ValueError(fmt::format("the case '{}' does not end in a batch, such as _b32", name));
  return batch;
}

/// The model of a case: what stands before the last "_b" of its name, without `prefix`.
inline std::string model_of(std::string const& name, std::string_view prefix = "") {
  std::size_t const skipped = name.starts_with(prefix) ? prefix.size() : 0;
  return name.substr(skipped, name.rfind("_b") - skipped);
}

/// A callback that notes when epochs begin; an epoch lasts until the next begins, with all that `fit` does between.
struct EpochClock {
  std::vector<Clock::time_point> moments{};

  void on_epoch_begin(auto const&) { moments.push_back(Clock::now()); }
  void on_train_end(auto const&) { moments.push_back(Clock::now()); }

  /// Seconds of each epoch but the first, in increasing order.
  std::vector<double> seconds() const {
    std::vector<double> result;
    for (std::size_t i = 2; i < moments.size(); ++i)
      result.push_back(std::chrono::duration<double>(moments[i] - moments[i - 1]).count());
    std::sort(result.begin(), result.end());
    return result;
  }
};

/// Microseconds a step, from the seconds of epochs in increasing order.
struct StepTime {
  double min, median;
};
inline StepTime step_time(std::vector<double> const& seconds, std::size_t steps) {
  double const scale = 1e6 / static_cast<double>(steps);
  return {seconds.front() * scale, seconds[seconds.size() / 2] * scale};
}

/// As many steps as take so many seconds, from what one was seen to take; at least two, to be more than an epoch's end.
inline std::size_t steps_in(double seconds, double step_seconds) {
  return static_cast<std::size_t>(std::clamp(seconds / step_seconds, 2.0, 4096.0));
}

inline void print(std::string const& name, StepTime const& time, std::size_t steps, std::size_t parameters,
                  tr::History const& history) {
  fmt::print(
      "{{\"case\": \"{}\", \"us_min\": {:.3f}, \"us_median\": {:.3f}, \"steps\": {}, \"parameters\": {}, "
      "\"loss_first\": {:.6f}, \"loss_last\": {:.6f}}}\n",
      name, time.min, time.median, steps, parameters, history["loss"].front(), history["loss"].back());
  std::fflush(stdout);
}

}  // namespace bench
