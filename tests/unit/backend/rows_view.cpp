// Rows in one block and scattered ones: the same rows by every way to them, and copies in their order.
#define BOOST_TEST_MODULE backend_rows_view
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/numbers.hpp"
#include "trireme/backend/gemm/rows_view.hpp"

using namespace trireme;
using boost::test_tools::per_element;

namespace {

using Scalars = std::tuple<float, double>;

/// A matrix, and the same rows in another order in memory, with a pointer to each.
template <class T>
struct Matrix {
  std::size_t columns;
  std::vector<T> block, elsewhere;
  std::vector<T const*> pointers;

  Matrix(std::size_t rows, std::size_t columns_)
      : columns(columns_), block(test::numbers<T>(rows * columns, 7)), elsewhere(rows * columns), pointers(rows) {
    for (std::size_t i = 0; i < rows; ++i) {
      T* const to = elsewhere.data() + (i * 7 + 3) % rows * columns;
      std::copy_n(block.data() + i * columns, columns, to);
      pointers[i] = to;
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(scattered_rows_are_those_of_the_block, T, Scalars) {
  Matrix<T> const matrix(11, 5);
  RowsView<T> const block = matrix.block.data(), scattered = RowsView<T>::scattered(matrix.pointers.data());
  BOOST_TEST(!block.is_scattered());
  BOOST_TEST(scattered.is_scattered());
  BOOST_TEST(block.block() == matrix.block.data());
  BOOST_TEST(scattered.block() == static_cast<T const*>(nullptr));
  for (RowsView<T> const& rows : {block, scattered})
    for (std::size_t i = 0; i < 11; ++i)
      for (std::size_t j = 0; j < 5; ++j) {
        T const expected = matrix.block[i * 5 + j];
        BOOST_TEST(rows.row(i, 5)[j] == expected);
        BOOST_TEST(rows.from_row(i, 5).from_column(j).row(0, 5)[0] == expected);
        BOOST_TEST(rows.from_column(j).row(i, 5)[0] == expected);
      }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(an_address_is_a_view_but_a_view_is_no_address, T, Scalars) {
  static_assert(std::is_convertible_v<T const*, RowsView<T>> && std::is_convertible_v<T*, RowsView<T>>);
  static_assert(!std::is_constructible_v<T const*, RowsView<T>>, "scattered rows would be lost unseen");
  static_assert(!std::is_constructible_v<bool, RowsView<T>>, "scattered rows would be none");
  RowsView<T> const none = nullptr;
  BOOST_TEST(none.block() == static_cast<T const*>(nullptr));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(rows_are_gathered_in_their_order, T, Scalars) {
  for (std::size_t const count : {1u, 2u, 3u, 11u})
    for (std::size_t const size : {1u, 255u, 256u, 257u, 784u}) {
      Matrix<T> const matrix(count, size);
      for (auto const& rows : {RowsView<T>(matrix.block.data()), RowsView<T>::scattered(matrix.pointers.data())}) {
        std::vector<T> copy(count * size);
        detail::gather_rows(rows, count, size, copy.data());
        BOOST_TEST(copy == matrix.block, per_element());
        std::vector<T> last(size - size / 2);  // of the last row, from the middle on
        detail::gather_rows(rows.from_row(count - 1, size).from_column(size / 2), 1, size - size / 2, last.data());
        BOOST_TEST(
            last == std::vector<T>(matrix.block.end() - static_cast<std::ptrdiff_t>(last.size()), matrix.block.end()),
            per_element());
      }
    }
}

BOOST_AUTO_TEST_CASE(no_rows_are_no_address) {
  RowsView<float> const none;
  BOOST_TEST(!none.is_scattered());
  BOOST_TEST(none.from_row(3, 7).block() == static_cast<float const*>(nullptr));
  detail::gather_rows(none, 0, 7, static_cast<float*>(nullptr));
}
