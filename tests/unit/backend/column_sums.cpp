#define BOOST_TEST_MODULE backend_column_sums
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <vector>

#include <trireme/backend/execution/space_context.hpp>
#include <trireme/backend/execution/thread_context.hpp>

#include "support/kokkos_fixture.hpp"

using namespace trireme;

namespace {

/// Small integers, whose sums are exact in any order.
template <class T>
std::vector<T> matrix(std::size_t rows, std::size_t columns) {
  std::vector<T> values(rows * columns);
  for (std::size_t e = 0; e < values.size(); ++e) values[e] = static_cast<T>(e * 7 % 23) - T(11);
  return values;
}

template <class T, class Context>
void check_sums(Context& context, std::size_t rows, std::size_t columns) {
  auto const x = matrix<T>(rows, columns);
  std::vector<T> sums(columns + 1, T(77)), right(columns + 1, T(0));
  for (std::size_t e = 0; e < x.size(); ++e) right[e % columns] += x[e];
  right[columns] = T(77);
  context.column_sums("test", rows, columns, x.data(), sums.data());
  BOOST_TEST_CONTEXT(rows << " rows, " << columns << " columns")
  BOOST_TEST(sums == right, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(sums_of_columns_are_exact_for_any_number_of_rows_and_columns) {
  SpaceContext<Kokkos::DefaultHostExecutionSpace> space;
  ThreadContext thread;
  for (std::size_t const rows : {0u, 1u, 2u, 255u, 256u, 257u, 513u, 1000u})
    for (std::size_t const columns : {1u, 3u, 10u, 17u, 255u, 256u, 257u, 700u}) {
      check_sums<float>(space, rows, columns);
      check_sums<double>(space, rows, columns);
      check_sums<float>(thread, rows, columns);
    }
}

BOOST_AUTO_TEST_CASE(blocks_of_blocks_of_rows_are_summed_too) {
  SpaceContext<Kokkos::DefaultHostExecutionSpace> space;
  for (std::size_t const rows : {65'536u, 65'537u, 140'001u}) {
    check_sums<float>(space, rows, 3);
    check_sums<double>(space, rows, 5);
  }
}

BOOST_AUTO_TEST_CASE(a_matrix_of_rows_alone_leaves_later_sums_right) {
  SpaceContext<Kokkos::DefaultHostExecutionSpace> space;
  check_sums<float>(space, 100'000, 2);
  check_sums<float>(space, 3, 300);
  check_sums<float>(space, 70'000, 40);
}
