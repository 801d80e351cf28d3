/// A program that was compiled for one length of SVE's vectors says so where they have another.
#define BOOST_TEST_MODULE vector_length
#include <boost/test/unit_test.hpp>

#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cstddef>
#include <string>

#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/backend/simd/vector_length.hpp"

namespace tr = trireme;

BOOST_AUTO_TEST_CASE(a_program_runs_with_vectors_of_the_length_that_it_was_compiled_for) {
  BOOST_CHECK_NO_THROW(tr::detail::require_vector_length());
}

#if defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS > 128 && defined(PR_SVE_SET_VL)

BOOST_AUTO_TEST_CASE(kernels_have_vectors_of_the_length_that_the_compiler_was_given) {
  BOOST_TEST(8 * tr::detail::simd_bytes == std::size_t{__ARM_FEATURE_SVE_BITS});
}

BOOST_AUTO_TEST_CASE(vectors_of_another_length_are_an_error) {
  std::string text;
  BOOST_REQUIRE(prctl(PR_SVE_SET_VL, 16) >= 0);
  try {
    tr::detail::require_vector_length();
  } catch (tr::Error const& error) {
    text = error.what();
  }
  BOOST_REQUIRE(prctl(PR_SVE_SET_VL, __ARM_FEATURE_SVE_BITS / 8) >= 0);
  BOOST_TEST(text.find("but this processor's have 128") != std::string::npos, text);
}

#endif
