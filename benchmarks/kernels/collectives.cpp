// Sums over MPI ranks: one value, one allreduce by size, and a gradient arena in buckets by their size and in shared
// memory.
//
// OMP_NUM_THREADS=1 mpiexec -n 2 collectives
//
// All ranks take the same number of turns, so it is fixed for each size and not found out.
#include <algorithm>
#include <cstddef>
#include <ostream>
#include <vector>

#include <benchmark/benchmark.h>
#include <trireme/trireme.hpp>

namespace {

namespace tr = trireme;

long turns(std::size_t bytes) { return static_cast<long>(std::clamp<std::size_t>((1u << 30) / bytes, 8, 10'000)); }

void report_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(bytes));
}

void allreduce(benchmark::State& state, tr::Communicator const& world, std::size_t bytes) {
  std::vector<float> values(bytes / sizeof(float), 0.0f);
  world.barrier();
  for (auto _ : state) world.iallreduce_sum(values.data(), values.size()).wait();
  report_bytes(state, bytes);
}

/// What a vote, or a loss that a callback asks for, takes.
void one_value(benchmark::State& state, tr::Communicator const& world) {
  world.barrier();
  double sum = 0;
  for (auto _ : state) sum += world.allreduce_sum(1.0).value();
  benchmark::DoNotOptimize(sum);
}

/// Ranks that share memory meet, with nothing to exchange.
void meeting(benchmark::State& state, tr::Communicator const& world) {
  auto const arrays = tr::SharedArrays<float>::make(world, 1);
  if (!arrays) return state.SkipWithError("the ranks share no memory");
  world.barrier();
  for (auto _ : state) {
    arrays->arrive();
    arrays->wait();
  }
}

/// An arena of 64 parameters of 1 MB each.
void buckets(benchmark::State& state, tr::Communicator const& world, std::size_t bucket_bytes) {
  constexpr std::size_t size = (1u << 20) / sizeof(float), count = 64;
  tr::ModelDescription model;
  for (std::size_t i = 0; i < count; ++i) {
    tr::ParameterInfo parameter;
    parameter.offset = i * size;
    parameter.size = size;
    model.parameters.push_back(parameter);
  }
  model.elements = count * size;
  tr::GradientBuckets<float, Kokkos::DefaultHostExecutionSpace, tr::Communicator> gradients(world, {}, model,
                                                                                            bucket_bytes);
  std::vector<float> arena(model.elements, 0.0f);
  world.barrier();
  for (auto _ : state) {
    gradients.begin(arena.data());
    gradients.finish();
  }
  report_bytes(state, model.elements * sizeof(float));
}

/// The same sums where each rank reads the gradients of the others.
void shared_memory(benchmark::State& state, tr::Communicator const& world) {
  constexpr std::size_t elements = (std::size_t{64} << 20) / sizeof(float);
  auto const gradients = tr::SharedGradients<float, Kokkos::DefaultHostExecutionSpace>::make(world, {}, elements);
  if (!gradients) return state.SkipWithError("the ranks share no memory, or too little");
  world.barrier();
  for (auto _ : state) gradients->sum();
  report_bytes(state, elements * sizeof(float));
}

/// Stands for the output of the ranks that are not the chief.
class Silence : public benchmark::BenchmarkReporter {
  bool ReportContext(Context const&) override { return true; }
  void ReportRuns(std::vector<Run> const&) override {}
};

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const& world = environment.world();
  benchmark::Initialize(&argc, argv);
  benchmark::RegisterBenchmark("sum of one value", [&world](benchmark::State& state) { one_value(state, world); })
      ->Iterations(100'000)
      ->UseRealTime();
  benchmark::RegisterBenchmark("meeting in shared memory", [&world](benchmark::State& state) { meeting(state, world); })
      ->Iterations(1'000'000)
      ->UseRealTime();
  for (std::size_t bytes = std::size_t{4} << 10; bytes <= std::size_t{64} << 20; bytes *= 4)
    benchmark::RegisterBenchmark(fmt::format("allreduce/{} KB", bytes >> 10).c_str(),
                                 [&world, bytes](benchmark::State& state) { allreduce(state, world, bytes); })
        ->Iterations(turns(bytes))
        ->UseRealTime();
  for (std::size_t bytes = std::size_t{1} << 20; bytes <= std::size_t{64} << 20; bytes *= 4)
    benchmark::RegisterBenchmark(fmt::format("buckets of 64 MB/{} KB", bytes >> 10).c_str(),
                                 [&world, bytes](benchmark::State& state) { buckets(state, world, bytes); })
        ->Iterations(turns(std::size_t{64} << 20))
        ->UseRealTime();
  benchmark::RegisterBenchmark("shared memory/64 MB",
                               [&world](benchmark::State& state) { shared_memory(state, world); })
      ->Iterations(turns(std::size_t{64} << 20))
      ->UseRealTime();
  if (world.is_chief()) {
    benchmark::RunSpecifiedBenchmarks();
  } else {
    Silence silence;
    benchmark::RunSpecifiedBenchmarks(&silence);
  }
  benchmark::Shutdown();
}
