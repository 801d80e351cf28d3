// The main function of a program of kernel benchmarks: MPI and Kokkos are up while they run.
#pragma once

#include <benchmark/benchmark.h>

#include <trireme/environment/environment.hpp>

inline int run_benchmarks(int argc, char** argv) {
  trireme::Environment environment(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
