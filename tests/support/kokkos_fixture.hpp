/// MPI and Kokkos for the whole run of a test program; include it in the file that defines BOOST_TEST_MODULE.
#pragma once

#include <memory>

#include <boost/test/unit_test.hpp>

#include "trireme/environment/environment.hpp"

namespace trireme::test {

/// Starts the environment before the first test case and ends it after the last.
struct KokkosFixture {
  KokkosFixture() {
    auto& suite = boost::unit_test::framework::master_test_suite();
    environment_ = std::make_unique<Environment>(suite.argc, suite.argv);
  }
  ~KokkosFixture() { environment_.reset(); }

  static Environment& environment() { return *environment_; }

 private:
  static inline std::unique_ptr<Environment> environment_;
};

BOOST_TEST_GLOBAL_FIXTURE(KokkosFixture);

/// The environment of this test program; `environment().world()` is its communicator.
inline Environment& environment() { return KokkosFixture::environment(); }

}  // namespace trireme::test
