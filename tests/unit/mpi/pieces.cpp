#define BOOST_TEST_MODULE pieces
#include <boost/test/unit_test.hpp>

#include "trireme/mpi/extremum.hpp"
#include "trireme/mpi/gathered.hpp"
#include "trireme/mpi/shared_error.hpp"
#include "trireme/mpi/wire_type.hpp"

#include <climits>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

using namespace trireme;
using detail::Extremum;

BOOST_AUTO_TEST_CASE(more_elements_than_an_int_counts_go_in_several_pieces) {
  std::size_t const n = 2 * static_cast<std::size_t>(INT_MAX) + 5;
  std::vector<std::pair<std::size_t, int>> pieces;
  detail::in_chunks(n, largest_mpi_count, [&](std::size_t at, int count) { pieces.emplace_back(at, count); });
  BOOST_REQUIRE(pieces.size() == 3);
  BOOST_TEST(pieces[1].first == static_cast<std::size_t>(INT_MAX));
  BOOST_TEST(pieces[1].second == INT_MAX);
  BOOST_TEST(pieces[2].second == 5);
}

BOOST_AUTO_TEST_CASE(nothing_to_send_is_one_empty_piece) {
  int calls = 0;
  detail::in_chunks(0, 4, [&](std::size_t at, int count) {
    ++calls;
    BOOST_TEST(at == 0);
    BOOST_TEST(count == 0);
  });
  BOOST_TEST(calls == 1);
}

BOOST_AUTO_TEST_CASE(a_struct_travels_as_its_bytes_and_a_number_as_itself) {
  struct Pair {
    int a;
    double b;
  };
  BOOST_TEST(detail::wire_type<Pair>().units == sizeof(Pair));
  BOOST_TEST((detail::wire_type<long long>().type == MPI_INT64_T));
  BOOST_TEST((detail::wire_type<std::size_t>().type == MPI_UINT64_T));
  static_assert(!Reducible<bool> && !Transferable<int*> && !Transferable<std::vector<int>>);
}

BOOST_AUTO_TEST_CASE(the_extremum_does_not_depend_on_the_order_of_its_operands) {
  double const nan = std::numeric_limits<double>::quiet_NaN();
  BOOST_TEST(std::isnan(detail::extremum<Extremum::largest>(nan, 1.0)));
  BOOST_TEST(std::isnan(detail::extremum<Extremum::largest>(1.0, nan)));
  BOOST_TEST(!std::signbit(detail::extremum<Extremum::largest>(-0.0, 0.0)));
  BOOST_TEST(!std::signbit(detail::extremum<Extremum::largest>(0.0, -0.0)));
  BOOST_TEST(std::signbit(detail::extremum<Extremum::smallest>(-0.0, 0.0)));
  BOOST_TEST(std::signbit(detail::extremum<Extremum::smallest>(0.0, -0.0)));
  BOOST_TEST(detail::extremum<Extremum::smallest>(2.0, 1.0) == 1.0);
  BOOST_TEST(detail::extremum<Extremum::largest>(2.0, 1.0) == 2.0);
}

BOOST_AUTO_TEST_CASE(gathered_parts_may_be_empty) {
  Gathered<int> gathered(std::vector<std::size_t>{2, 0, 1});
  gathered.values() = {1, 2, 3};
  BOOST_TEST(gathered.parts() == 3);
  BOOST_TEST(gathered.part(1).empty());
  BOOST_TEST(gathered.part(2)[0] == 3);
  BOOST_TEST(Gathered<int>().parts() == 0);
}

BOOST_AUTO_TEST_CASE(a_shared_error_keeps_its_class_and_names_its_rank) {
  auto const shared = detail::SharedError::from(std::make_exception_ptr(FileError("a.idx", "truncated")));
  try {
    shared.raise("on rank 2: ");
  } catch (FileError const& e) {
    BOOST_TEST(e.what() == std::string("on rank 2: a.idx: truncated"));
    BOOST_TEST(e.path() == "a.idx");
    BOOST_TEST(e.uniform());
  }
  BOOST_CHECK_THROW(detail::SharedError::from(std::make_exception_ptr(ShapeError("x"))).raise(""), ShapeError);
  BOOST_CHECK_THROW(detail::SharedError::from(std::make_exception_ptr(ValueError("x"))).raise(""), ValueError);
  BOOST_CHECK_THROW(detail::SharedError::from(std::make_exception_ptr(CommunicationError("x"))).raise(""),
                    CommunicationError);
  BOOST_CHECK_THROW(detail::SharedError::from(std::make_exception_ptr(std::out_of_range("x"))).raise(""), Error);
  BOOST_TEST(detail::SharedError::from(std::make_exception_ptr(7)).message == "an exception that is no std::exception");
}

BOOST_AUTO_TEST_CASE(the_text_of_a_shared_error_is_one_line_and_never_empty) {
  auto const text = [](auto const& error) { return detail::SharedError::from(std::make_exception_ptr(error)).message; };
  BOOST_TEST(text(std::runtime_error("line  1:\r\n\n  line 2\rline 3\n")) == "line  1: line 2 line 3");
  BOOST_TEST(text(ValueError("\n too large \n")) == "too large");
  BOOST_TEST(text(FileError("a\nb.csv", "is cut\n")) == "a b.csv: is cut");
  BOOST_TEST(text(std::runtime_error("")) == "an exception of type std::runtime_error without a text");
  BOOST_TEST(text(ShapeError(" \n\t")) == "an exception of type ShapeError without a text");
  auto const file = detail::SharedError::from(std::make_exception_ptr(FileError("a\nb.csv", "is cut")));
  BOOST_TEST(file.path == "a\nb.csv");
}
