/// What nearly every test includes. Of Boost.Test only what does not look at BOOST_TEST_MODULE, which each test
/// defines.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include <mpi.h>

#include <fmt/format.h>
#include <Kokkos_Core.hpp>
#include <boost/test/framework.hpp>
#include <boost/test/test_tools.hpp>
#include <boost/test/tree/auto_registration.hpp>
#include <boost/test/tree/global_fixture.hpp>
#include <boost/test/tree/test_case_template.hpp>
#include <trireme/trireme.hpp>

// Boost.Test derives it from BOOST_TEST_MODULE while it is read, which is too early here.
#define BOOST_TEST_MAIN
