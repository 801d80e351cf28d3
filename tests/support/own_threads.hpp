/// Ranks that have several threads each, which tests over ranks have not otherwise.
#pragma once

#include <cstddef>
#include <memory>

#include <mpi.h>
#include <boost/test/unit_test.hpp>

#include "trireme/environment/environment.hpp"

namespace trireme::test {

/// A global fixture: rank r has `Threads(r)` of them.
template <auto Threads>
struct OwnThreads {
  OwnThreads() {
    auto& suite = boost::unit_test::framework::master_test_suite();
    int rank = 0, level = 0;
    MPI_Init_thread(&suite.argc, &suite.argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    environment = std::make_unique<Environment>(suite.argc, suite.argv,
                                                EnvironmentOptions{.threads = Threads(static_cast<std::size_t>(rank))});
  }
  ~OwnThreads() {
    environment.reset();
    MPI_Finalize();
  }
  static inline std::unique_ptr<Environment> environment;
};

}  // namespace trireme::test
