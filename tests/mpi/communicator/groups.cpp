// ranks: 1 2 3 4
#define BOOST_TEST_MODULE groups
#include "support/kokkos_fixture.hpp"

#include <utility>

using namespace trireme;

namespace {
Communicator const& world() { return test::environment().world(); }
}  // namespace

BOOST_AUTO_TEST_CASE(two_halves_work_at_once_and_do_not_meet) {
  std::size_t const color = world().rank() % 2;
  Communicator const half = world().split(color);
  std::size_t const expected_size = (world().size() + 1 - color) / 2;
  BOOST_TEST(half.size() == expected_size);
  BOOST_TEST(half.rank() == world().rank() / 2);
  // Another number of collectives in each half, and one of the whole under way meanwhile.
  double whole = 1.0;
  Request request = world().iallreduce_sum(&whole, 1);
  for (std::size_t i = 0; i <= color; ++i)
    BOOST_TEST(half.allreduce_sum(color + 1).value() == expected_size * (color + 1));
  request.wait();
  BOOST_TEST(whole == static_cast<double>(world().size()));
}

BOOST_AUTO_TEST_CASE(the_key_orders_the_ranks_of_a_part) {
  Communicator const reversed = world().split(0, world().size() - world().rank());
  BOOST_TEST(reversed.rank() == world().size() - 1 - world().rank());
  BOOST_TEST(reversed.is_chief() == (world().rank() + 1 == world().size()));
}

BOOST_AUTO_TEST_CASE(an_error_in_one_half_is_not_the_other_half_s) {
  std::size_t const color = world().rank() % 2;
  Communicator const half = world().split(color);
  auto const work = [&] {
    if (color == 1) throw Error("odd");
    return 1;
  };
  if (color == 1)
    BOOST_CHECK_THROW(half.together(work), Error);
  else
    BOOST_TEST(half.together(work) == 1);
}

BOOST_AUTO_TEST_CASE(a_duplicate_keeps_its_messages_apart) {
  Communicator const copy = world().duplicate();
  int comparison = 0;
  MPI_Comm_compare(copy.get(), world().get(), &comparison);
  BOOST_TEST(comparison == MPI_CONGRUENT);
  BOOST_TEST(copy.rank() == world().rank());
}

BOOST_AUTO_TEST_CASE(processes_of_one_node_find_each_other) {
  Communicator const node = world().split_by_node();
  BOOST_TEST(node.size() >= 1);
  BOOST_TEST(node.size() <= world().size());
}

BOOST_AUTO_TEST_CASE(a_moved_communicator_has_one_owner) {
  Communicator first = world().duplicate();
  Communicator second = std::move(first);
  BOOST_TEST((first.get() == MPI_COMM_NULL));
  first = world().duplicate();
  second = std::move(first);
  BOOST_TEST(second.allreduce_sum(1).value() == static_cast<int>(world().size()));
}

BOOST_AUTO_TEST_CASE(the_caller_keeps_his_communicator_and_its_error_handler) {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &own);
  MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL);
  {
    Communicator const ours(own);
  }
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(own, &handler);
  BOOST_TEST((handler == MPI_ERRORS_ARE_FATAL));
  BOOST_TEST(MPI_Barrier(own) == MPI_SUCCESS);
  MPI_Comm_free(&own);
}
