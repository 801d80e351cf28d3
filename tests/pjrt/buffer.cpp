// Arrays on a device: their elements come to the host in row-major order, and they keep their client.
#define BOOST_TEST_MODULE pjrt_buffer
#include "support/kokkos_fixture.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "pjrt/run_program.hpp"

using namespace trireme;

namespace {

/// 0, 1, 2, ... in row-major order, as a program's result that lies on the device in the layout.
template <class T>
std::vector<T> counted(std::vector<std::size_t> const& extents, std::string const& element, std::string const& layout) {
  auto const type = lowering::tensor_type<T>(extents);
  std::string shape;
  for (std::size_t const extent : extents) shape += std::to_string(extent) + "x";
  std::string const flat = "tensor<" + std::to_string(type.size()) + "x" + element + ">",
                    result = "tensor<" + shape + element + ">";
  lowering::Program program;
  program.text = "func.func public @main() -> (" + result + " {mhlo.layout_mode = \"" + layout + "\"}) {\n" +
                 "  %0 = stablehlo.iota dim = 0 : " + flat + "\n  %1 = stablehlo.reshape %0 : (" + flat + ") -> " +
                 result + "\n  return %1 : " + result + "\n}\n";
  program.results = {type};
  test::ProgramRun run(program);
  run.run();
  return run.take<T>();
}

template <class T>
void check_counted(std::vector<std::size_t> const& extents, std::string const& element, std::string const& layout) {
  auto const values = counted<T>(extents, element, layout);
  std::vector<T> expected(values.size());
  std::iota(expected.begin(), expected.end(), T{0});
  BOOST_TEST_CONTEXT(layout) BOOST_TEST(values == expected, boost::test_tools::per_element());
}

}  // namespace

BOOST_AUTO_TEST_CASE(arrays_are_row_major_on_the_host_in_any_layout_of_the_device) {
  check_counted<float>({2, 3}, "f32", "{1,0}");
  check_counted<float>({2, 3}, "f32", "{0,1}");  // as TPUs keep narrow arrays
  check_counted<double>({50, 10}, "f64", "{0,1}");
  check_counted<std::int32_t>({2, 3, 4}, "i32", "{0,1,2}");
  check_counted<float>({2, 3, 4}, "f32", "{1,2,0}");
  check_counted<float>({2, 3, 4, 5}, "f32", "{2,0,3,1}");
}

BOOST_AUTO_TEST_CASE(arrays_of_every_rank_come_back_as_they_were_sent) {
  auto const client = pjrt::open_client(test::plugin(), {}, 1);
  std::vector<std::size_t> extents;
  for (std::size_t rank = 0; rank <= lowering::TensorType::max_rank; ++rank) {
    auto const type = lowering::tensor_type<float>(extents);
    std::vector<float> values(type.size()), returned(type.size());
    std::iota(values.begin(), values.end(), 1.0F);
    pjrt::copy_to_device(*client, 0, type, values.data()).to_host(returned.data());
    BOOST_TEST(returned == values, boost::test_tools::per_element());
    extents.push_back(rank + 2);
  }
}

BOOST_AUTO_TEST_CASE(an_array_keeps_its_client_until_it_is_destroyed) {
  auto client = pjrt::open_client(test::plugin(), {}, 1);
  std::weak_ptr<pjrt::Client const> const watched = client;
  std::vector<float> const values{1, 2, 3};
  std::vector<float> returned(values.size());
  auto array = pjrt::copy_to_device(*client, 0, lowering::tensor_type<float>({values.size()}), values.data());
  client.reset();
  BOOST_REQUIRE(!watched.expired());
  pjrt::Event arrived = array.copy_to_host(returned.data());
  array.destroy();
  BOOST_REQUIRE(!watched.expired());
  arrived.await();
  BOOST_TEST(returned == values, boost::test_tools::per_element());
  BOOST_TEST(watched.expired());
}

BOOST_AUTO_TEST_CASE(an_array_assigned_over_another_leaves_the_other_ones_client) {
  auto const type = lowering::tensor_type<float>({});
  float const value = 2;
  auto first = pjrt::open_client(test::plugin(), {}, 1);
  auto const second = pjrt::open_client(test::plugin(), {}, 1);
  std::weak_ptr<pjrt::Client const> const watched = first;
  auto array = pjrt::copy_to_device(*first, 0, type, &value);
  first.reset();
  BOOST_REQUIRE(!watched.expired());
  array = pjrt::copy_to_device(*second, 0, type, &value);
  BOOST_TEST(watched.expired());
}
