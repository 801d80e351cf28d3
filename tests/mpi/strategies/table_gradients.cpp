// ranks: 1 2 3 4
// Rows of tables: summed over the ranks where they occurred, and nowhere else read, written or sent.
#define BOOST_TEST_MODULE table_gradients
#include "support/kokkos_fixture.hpp"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "trireme/strategies/gradients/sparse_gradients.hpp"

using namespace trireme;

namespace {

constexpr std::size_t rows = 50, columns = 3, offset = 8;
using Space = Kokkos::DefaultHostExecutionSpace;

ModelDescription description() {
  ModelDescription model;
  ParameterInfo table{};
  table.shape = {rows, columns};
  table.offset = offset;
  table.size = rows * columns;
  table.by_rows = true;
  model.parameters.push_back(table);
  return model;
}

/// What a rank looks up in a step; the last rank nothing in step 1.
std::vector<double> indices(std::size_t rank, std::size_t size, std::size_t step) {
  if (step == 1 && rank + 1 == size) return {};
  double const own = static_cast<double>(10 + 2 * rank + step);
  return {own, 7, own, static_cast<double>(step), 7, 7, -1};
}

double value(std::size_t rank, std::size_t position, std::size_t j) {
  return 1 + static_cast<double>(rank * 100 + position * 10 + j);
}

}  // namespace

BOOST_AUTO_TEST_CASE(rows_that_occurred_are_summed_and_all_others_are_left_alone) {
  auto const& world = test::environment().world();
  SparseGradients<double, Space, Communicator> tables(world, Space(), description());
  std::vector<double> arena(offset + rows * columns, 0.0);
  double* const table = arena.data() + offset;
  BOOST_TEST(!tables.empty());
  for (std::size_t step = 0; step < 4; ++step) {
    tables.begin(arena.data());
    auto const own = indices(world.rank(), world.size(), step);
    BOOST_TEST(!tables.only_rows(arena.data(), own.data(), own.size()));
    if (own.empty()) {
      std::fill(arena.begin(), arena.end(), 0.0);
      tables.no_rows();
    } else {
      BOOST_TEST(tables.only_rows(table, own.data(), own.size()));
      for (std::size_t i = 0; i < rows * columns; ++i)
        BOOST_REQUIRE(table[i] == (i >= 30 * columns && step > 0 ? 5 : 0));
      if (step == 0) std::fill(table + 30 * columns, table + rows * columns, 5);  // nobody is to touch these
    }
    if (own.empty()) std::fill(table + 30 * columns, table + rows * columns, 5);
    for (std::size_t p = 0; p < own.size(); ++p)
      for (std::size_t j = 0; j < columns; ++j)
        if (own[p] >= 0) table[static_cast<std::size_t>(own[p]) * columns + j] += value(world.rank(), p, j);
    tables.sum();

    std::vector<double> expected(rows * columns, 0.0);
    std::fill(expected.begin() + 30 * columns, expected.end(), 5);
    for (std::size_t rank = 0; rank < world.size(); ++rank) {
      auto const words = indices(rank, world.size(), step);
      for (std::size_t p = 0; p < words.size(); ++p)
        for (std::size_t j = 0; j < columns; ++j)
          if (words[p] >= 0) expected[static_cast<std::size_t>(words[p]) * columns + j] += value(rank, p, j);
    }
    BOOST_TEST(std::vector<double>(table, table + rows * columns) == expected, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(a_table_that_would_be_less_than_its_rows_or_that_some_rank_wrote_as_a_whole_is_summed_whole) {
  auto const& world = test::environment().world();
  double const ranks = static_cast<double>(world.size());
  for (bool all_rows : {false, true}) {
    SparseGradients<double, Space, Communicator> tables(world, Space(), description());
    std::vector<double> arena(offset + rows * columns, 0.0);
    double* const table = arena.data() + offset;
    std::vector<double> own{3};
    if (all_rows) {
      own.clear();
      for (std::size_t row = 0; row < rows; ++row) own.push_back(static_cast<double>(row));
    }
    for (std::size_t step = 0; step < 2; ++step) {
      tables.begin(arena.data());
      bool const tells = all_rows || world.rank() > 0;
      if (tells) BOOST_TEST(tables.only_rows(table, own.data(), own.size()));
      if (!tells) std::fill(table, table + rows * columns, 0.0);
      for (double const row : own) table[static_cast<std::size_t>(row) * columns] += 1;
      tables.sum();
      for (std::size_t row = 0; row < rows; ++row)
        for (std::size_t j = 0; j < columns; ++j)
          BOOST_REQUIRE(table[row * columns + j] == ((all_rows || row == 3) && j == 0 ? ranks : 0));
    }
  }
}
