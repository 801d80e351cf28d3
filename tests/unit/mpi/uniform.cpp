#define BOOST_TEST_MODULE uniform
#include <boost/test/unit_test.hpp>

#include "trireme/mpi/chief_scope.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/mpi/uniform.hpp"

#include <memory>
#include <optional>
#include <string>

namespace {
template <class T>
trireme::Uniform<T> agreed(T value) {
  return trireme::detail::UniformAccess::make(value);
}

struct Group {
  int communicator() { return 0; }
};
struct Marked {
  using holds_communicator = void;
};
template <class T>
struct Strategy {
  T const& group() const;
};
}  // namespace

BOOST_AUTO_TEST_CASE(a_uniform_value_reads_as_its_value) {
  auto const loss = agreed(0.5);
  BOOST_TEST(loss.value() == 0.5);
  BOOST_TEST((loss < 0.75));
  double const copy = loss;
  BOOST_TEST(copy == 0.5);
}

BOOST_AUTO_TEST_CASE(what_is_computed_from_uniform_values_is_uniform) {
  trireme::Uniform<bool> const improved =
      agreed(0.5).map([](double current, double best) { return current < best; }, agreed(0.6));
  BOOST_TEST(improved.value());
}

BOOST_AUTO_TEST_CASE(a_uniform_value_converts_as_its_value_does) {
  trireme::Uniform<double> const wide = agreed(0.5f);
  BOOST_TEST(wide.value() == 0.5);
}

BOOST_AUTO_TEST_CASE(an_optional_uniform_value_is_empty_until_it_is_given_one) {
  std::optional<trireme::Uniform<double>> value;
  BOOST_TEST(!value.has_value());
  value = agreed(2.0);
  BOOST_TEST(value->value() == 2.0);
}

BOOST_AUTO_TEST_CASE(types_through_which_a_collective_could_be_called_are_recognised) {
  static_assert(trireme::HoldsCommunicator<Group>);
  static_assert(trireme::HoldsCommunicator<Marked const&>);
  static_assert(trireme::HoldsCommunicator<Marked const* const>);
  static_assert(trireme::HoldsCommunicator<std::shared_ptr<Group const>&>);
  static_assert(trireme::HoldsCommunicator<std::unique_ptr<Marked>>);
  static_assert(trireme::HoldsCommunicator<std::reference_wrapper<Group>>);
  static_assert(trireme::HoldsCommunicator<Strategy<Marked> const&>);
  static_assert(!trireme::HoldsCommunicator<Strategy<trireme::SingleProcess>>);
  static_assert(!trireme::HoldsCommunicator<std::string const&>);
  static_assert(!trireme::HoldsCommunicator<int*>);
  static_assert(!trireme::HoldsCommunicator<void*>);
  static_assert(!trireme::HoldsCommunicator<trireme::ChiefScope>);
  BOOST_TEST(true);
}

BOOST_AUTO_TEST_CASE(a_single_process_runs_work_for_the_chief_with_its_arguments) {
  int const doubled = trireme::detail::ChiefAccess::run([](trireme::ChiefScope const&, int x) { return 2 * x; }, 21);
  BOOST_TEST(doubled == 42);
}
