// Inference of few rows: the time of a call of `model.infer`, and of `infer` of its predictor, on as many threads as
// OMP_NUM_THREADS says. Cases infer_mlp_b1 infer_surrogate_b1 infer_cnn_b1 infer_lstm_b1; the number is a call's rows.
#include <algorithm>
#include <vector>

#include <Kokkos_Core.hpp>

#include "workloads.hpp"

namespace {

namespace tr = trireme;
using Rows = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;

/// Microseconds a call, of `repetitions` times as many calls as take `seconds`.
template <class Call>
bench::StepTime time_calls(bench::Options const& options, Call const& call) {
  auto const run = [&](std::size_t calls) {
    auto const start = bench::Clock::now();
    for (std::size_t i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(bench::Clock::now() - start).count();
  };
  run(16);
  std::size_t const calls = options.steps > 0 ? options.steps : bench::steps_in(options.seconds, run(16) / 16);
  std::vector<double> seconds(options.repetitions);
  for (double& one : seconds) one = run(calls);
  std::sort(seconds.begin(), seconds.end());
  return bench::step_time(seconds, calls);
}

template <class Architecture>
void infer(Architecture const& architecture, std::string const& name, bench::Options const& options) {
  std::size_t const rows = bench::batch_of(name);
  tr::OneDeviceStrategy<> const strategy;
  auto model = tr::compile(strategy, architecture, tr::Adam{}, tr::MeanSquaredError{}, tr::CompileOptions{.seed = 1});
  auto const predictor = model.predictor();
  Rows const in("in", rows, predictor.input_size()), out("out", rows, predictor.output_size());
  for (std::size_t i = 0; i < in.size(); ++i) in.data()[i] = bench::uniform(i);
  auto const print = [&](char const* way, bench::StepTime const& time) {
    fmt::print("{{\"case\": \"{}\", \"way\": \"{}\", \"threads\": {}, \"us_min\": {:.3f}, \"us_median\": {:.3f}}}\n",
               name, way, Kokkos::DefaultHostExecutionSpace().concurrency(), time.min, time.median);
  };
  print("model", time_calls(options, [&] { model.infer(in, out); }));
  print("predictor", time_calls(options, [&] { predictor.infer(in, out); }));
}

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times inference of few rows");
  for (auto const& name : options.cases)
    if (name.starts_with("infer_mlp"))
      infer(bench::mlp(), name, options);
    else if (name.starts_with("infer_surrogate"))
      infer(bench::surrogate(), name, options);
    else if (name.starts_with("infer_cnn"))
      infer(bench::cnn(), name, options);
    else
      infer(bench::lstm(), name, options);
}
