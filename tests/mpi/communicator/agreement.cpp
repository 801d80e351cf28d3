// ranks: 1 2 3 4
#define BOOST_TEST_MODULE agreement
#include "support/kokkos_fixture.hpp"

#include <stdexcept>
#include <string>

using namespace trireme;

namespace {
Communicator const& world() { return test::environment().world(); }
/// The rank that fails where one fails; with one rank, it is all of them.
std::size_t victim() { return world().size() == 1 ? 0 : 1; }
std::string origin() { return world().size() == 1 ? "" : "on rank 1: "; }

template <class E, class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (E const& e) {
    BOOST_TEST(e.uniform());
    return e.what();
  }
  return "nothing was thrown";
}
}  // namespace

BOOST_AUTO_TEST_CASE(work_that_succeeds_gives_its_result) {
  BOOST_TEST(world().together([] { return std::string("done"); }) == "done");
  int counter = 0;
  int& same = world().together([&]() -> int& { return counter; });
  BOOST_TEST(&same == &counter);
  world().together([&] { ++counter; });
  BOOST_TEST(counter == 1);
}

BOOST_AUTO_TEST_CASE(an_error_of_one_rank_is_thrown_on_all_with_its_class_and_rank) {
  auto const read = [] {
    if (world().rank() == victim()) throw FileError("train.idx", "ends after 7 of 10 images");
    return 3;
  };
  BOOST_TEST(message_of<FileError>([&] { world().together(read); }) ==
             origin() + "train.idx: ends after 7 of 10 images");
}

BOOST_AUTO_TEST_CASE(an_error_of_all_ranks_is_that_of_the_lowest_and_names_none) {
  auto const fail = [] { throw ValueError("label " + std::to_string(world().rank())); };
  BOOST_TEST(message_of<ValueError>([&] { world().together(fail); }) == "label 0");
}

BOOST_AUTO_TEST_CASE(an_exception_of_the_standard_library_becomes_an_error) {
  auto const fail = [] {
    if (world().rank() == victim()) throw std::out_of_range("far out");
  };
  BOOST_TEST(message_of<Error>([&] { world().together(fail); }) == origin() + "far out");
}

BOOST_AUTO_TEST_CASE(an_error_that_all_agreed_on_passes_through_unchanged) {
  auto const fail = [] {
    if (world().rank() == victim()) throw ShapeError("does not fit");
  };
  BOOST_TEST(message_of<ShapeError>([&] { world().together([&] { world().together(fail); }); }) ==
             origin() + "does not fit");
}

BOOST_AUTO_TEST_CASE(the_communicator_works_on_after_an_error) {
  BOOST_CHECK_THROW(world().together([] { throw Error("once"); }), Error);
  BOOST_TEST(world().allreduce_sum(1).value() == static_cast<int>(world().size()));
}

BOOST_AUTO_TEST_CASE(only_the_chief_does_its_work_and_all_are_given_the_result) {
  int calls = 0;
  world().on_chief([](ChiefScope const&, int& count) { ++count; }, calls);
  BOOST_TEST(calls == (world().is_chief() ? 1 : 0));

  Uniform<std::size_t> const rank =
      world().on_chief([](ChiefScope const&, std::size_t own) { return own; }, world().rank());
  BOOST_TEST(rank.value() == 0);

  Uniform<std::string> const text = world().on_chief([](ChiefScope const&, std::string const& s) { return s + "!"; },
                                                     "from " + std::to_string(world().rank()));
  BOOST_TEST(text.value() == "from 0!");
}

BOOST_AUTO_TEST_CASE(an_error_of_the_chief_is_thrown_on_all) {
  auto const save = [] {
    world().on_chief([](ChiefScope const&, std::string const& path) { throw FileError(path, "the disk is full"); },
                     std::string("best.h5"));
  };
  BOOST_TEST(message_of<FileError>(save) ==
             (world().size() == 1 ? "" : "on rank 0: ") + std::string("best.h5: the disk is full"));
}
