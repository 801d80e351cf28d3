#define BOOST_TEST_MODULE backend_openblas_core
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include <trireme/backend/gemm/host_blas.hpp>
#include <trireme/backend/gemm/openblas_core.hpp>

#include "support/kokkos_fixture.hpp"

using namespace trireme;

namespace {

/// The largest difference between a product of the BLAS and sums in double.
double product_error() {
  std::size_t const m = 61, n = 83, k = 97;
  std::vector<float> a(m * k), b(k * n), c(m * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 17) - 8;
  detail::host_blas_gemm(Product<float>{
      .m = m, .n = n, .k = k, .a = a.data(), .lda = k, .b = b.data(), .ldb = n, .c = c.data(), .ldc = n});
  double worst = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
      worst = std::max(worst, std::abs(sum - static_cast<double>(c[i * n + j])));
    }
  return worst;
}

/// Leaves OpenBLAS and the environment as a test found them.
struct Restored {
  std::string core = detail::openblas_core();
  bool changes = !core.empty();
  char const* variable = std::getenv("OPENBLAS_CORETYPE");
  std::string chosen = variable ? variable : "";
  ~Restored() {
    variable ? setenv("OPENBLAS_CORETYPE", chosen.c_str(), 1) : unsetenv("OPENBLAS_CORETYPE");
    detail::choose_openblas_core(core);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(kernels_of_a_class_that_is_too_low_are_replaced_and_products_stay_right) {
  Restored const restored;
  std::string const fitting = detail::fitting_openblas_core();
  if (!restored.changes || fitting.empty()) return;
  detail::choose_openblas_core("Prescott");
  BOOST_TEST(detail::openblas_core() == "Prescott");
  BOOST_TEST(product_error() == 0.0);
  unsetenv("OPENBLAS_CORETYPE");
  detail::correct_openblas_core();
  BOOST_TEST(detail::openblas_core() == fitting);
  BOOST_TEST(product_error() == 0.0);
  BOOST_TEST((std::getenv("OPENBLAS_CORETYPE") == nullptr));
}

BOOST_AUTO_TEST_CASE(what_the_user_chose_stays) {
  Restored const restored;
  if (!restored.changes) return;
#ifdef __aarch64__
  char const* const choice = "neoversen1";
#else
  char const* const choice = "Prescott";
#endif
  detail::choose_openblas_core(choice);
  setenv("OPENBLAS_CORETYPE", choice, 1);
  detail::correct_openblas_core();
  BOOST_TEST(detail::openblas_core() == choice);
  BOOST_TEST(product_error() == 0.0);
}

BOOST_AUTO_TEST_CASE(kernels_of_the_same_or_a_higher_class_stay) {
  Restored const restored;
  if (!restored.changes) return;
  detail::raise_openblas_core("Prescott");
  BOOST_TEST(detail::openblas_core() == restored.core);
  detail::raise_openblas_core(restored.core);
  BOOST_TEST(detail::openblas_core() == restored.core);
}

BOOST_AUTO_TEST_CASE(a_name_that_nobody_knows_changes_nothing) {
  Restored const restored;
  detail::raise_openblas_core("Trireme");
  BOOST_TEST(detail::openblas_core() == restored.core);
  BOOST_TEST(!detail::openblas_class("Trireme").has_value());
  BOOST_TEST(!detail::openblas_class("").has_value());
}

BOOST_AUTO_TEST_CASE(an_environment_that_joins_replaces_kernels_of_a_class_that_is_too_low_on_request) {
  Restored const restored;
  if (!restored.changes || detail::fitting_openblas_core().empty()) return;
  unsetenv("OPENBLAS_CORETYPE");
  detail::choose_openblas_core("Prescott");
  int argc = 0;
  char** argv = nullptr;
  {
    Environment const joined(argc, argv);
    BOOST_TEST(detail::openblas_core() == "Prescott");
  }
  Environment const asked(argc, argv, {.choose_blas_kernels = true});
  BOOST_TEST(detail::openblas_core() == detail::fitting_openblas_core());
}
