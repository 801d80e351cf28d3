#define BOOST_TEST_MODULE arrays
#include "support/kokkos_fixture.hpp"

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#if __has_include(<xtensor/xview.hpp>)
#include <xtensor/xview.hpp>
#else
#include <xtensor/views/xview.hpp>
#endif

#include "trireme/data/from_tensor_slices.hpp"
#include "unit/data/collect.hpp"

using namespace trireme;
using namespace trireme::test;
using boost::test_tools::per_element;

namespace {
template <class T>
std::vector<T> values(HostTensor<T> const& tensor) {
  return std::vector<T>(tensor.data, tensor.data + tensor.size());
}
using Sizes = std::vector<std::size_t>;
std::vector<int> const zero_to_eleven = counted(0, 12);
}  // namespace

BOOST_AUTO_TEST_CASE(a_row_major_container_is_referenced_and_an_rvalue_kept_without_a_copy) {
  xt::xarray<int> array = xt::arange<int>(12).reshape({3, 2, 2});
  xt::xtensor<double, 2> const fixed_rank = xt::ones<double>({4, 3});
  BOOST_TEST(host_tensor(array).data == array.data());
  BOOST_TEST(host_tensor(array).extents == (Sizes{3, 2, 2}), per_element());
  BOOST_TEST(!host_tensor(array).owner);
  BOOST_TEST(host_tensor(fixed_rank).data == fixed_rank.data());

  int const* const memory = array.data();
  auto const kept = host_tensor(std::move(array));
  BOOST_TEST(kept.data == memory);
  BOOST_TEST(kept.owner != nullptr);
  BOOST_TEST(values(kept) == zero_to_eleven, per_element());
}

BOOST_AUTO_TEST_CASE(a_temporary_list_which_owns_nothing_is_copied) {
  auto const tensor = host_tensor(std::initializer_list<int>{1, 2, 3});
  BOOST_TEST(tensor.owner != nullptr);
  BOOST_TEST(static_cast<void const*>(tensor.owner.get()) == tensor.data);
  BOOST_TEST(values(tensor) == counted(1, 4), per_element());
}

BOOST_AUTO_TEST_CASE(memory_adapted_by_xtensor_is_referenced) {
  std::vector<float> memory{1, 2, 3, 4, 5, 6};
  Sizes const shape{3, 2};
  auto adapted = xt::adapt(memory, shape);
  BOOST_TEST(host_tensor(adapted).data == memory.data());
  float const* const constant = memory.data();
  BOOST_TEST(host_tensor(xt::adapt(constant, 6, xt::no_ownership(), shape)).data == memory.data());
}

BOOST_AUTO_TEST_CASE(an_expression_is_evaluated_once) {
  xt::xarray<int> const array = xt::arange<int>(12).reshape({4, 3});
  int evaluations = 0;
  auto const counting = xt::make_lambda_xfunction(
      [&evaluations](int value) {
        ++evaluations;
        return 2.0f * static_cast<float>(value);
      },
      array);
  auto const tensor = host_tensor(counting);
  static_assert(std::is_same_v<decltype(tensor), HostTensor<float> const>);
  BOOST_TEST(evaluations == 12);
  BOOST_TEST(tensor.extents == (Sizes{4, 3}), per_element());
  BOOST_TEST(tensor.data[5] == 10.0f);
  BOOST_TEST(values(host_tensor(xt::view(array, xt::range(1, 3), xt::all()))) == counted(3, 9), per_element());
  BOOST_TEST(values(host_tensor(xt::view(array, xt::all(), 1))) == (std::vector<int>{1, 4, 7, 10}), per_element());
  BOOST_TEST(values(host_tensor(array > 9))[10] == true);
}

BOOST_AUTO_TEST_CASE(a_column_major_container_is_copied_to_row_major) {
  xt::xarray<int, xt::layout_type::column_major> const array = xt::arange<int>(12).reshape({3, 4});
  auto const tensor = host_tensor(array);
  BOOST_TEST(tensor.data != array.data());
  BOOST_TEST(values(tensor) == zero_to_eleven, per_element());
  xt::xtensor<int, 1, xt::layout_type::column_major> const line = xt::arange<int>(12);
  BOOST_TEST(host_tensor(line).data == line.data());  // one axis has but one order
}

BOOST_AUTO_TEST_CASE(an_axis_of_one_element_does_not_make_a_container_look_strided) {
  xt::xarray<int> const array = xt::arange<int>(12).reshape({12, 1, 1});
  BOOST_TEST(host_tensor(array).data == array.data());
  xt::xarray<int> const empty = xt::empty<int>({0, 4});
  BOOST_TEST(host_tensor(empty).samples() == 0);
}

BOOST_AUTO_TEST_CASE(a_row_major_host_view_is_referenced_and_kept_alive) {
  HostTensor<float> tensor;
  {
    Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace> view("view", 3, 4);
    view(2, 1) = 9.0f;
    tensor = host_tensor(view);
    BOOST_TEST(tensor.data == view.data());
    BOOST_TEST(view.use_count() == 2);
    auto const rows = Kokkos::subview(view, std::make_pair(1, 3), Kokkos::ALL);
    BOOST_TEST(host_tensor(rows).data == view.data() + 4);
    Kokkos::View<float const*> const line(view.data(), 12);
    BOOST_TEST(host_tensor(line).data == view.data());
  }
  BOOST_TEST(tensor.data[9] == 9.0f);
  BOOST_TEST(tensor.extents == (Sizes{3, 4}), per_element());
}

BOOST_AUTO_TEST_CASE(a_view_of_another_layout_is_copied_once) {
  Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> left("left", 3, 4);
  for (int i = 0; i < 12; ++i) left(i / 4, i % 4) = i;
  BOOST_TEST(values(host_tensor(left)) == zero_to_eleven, per_element());
  BOOST_TEST(host_tensor(left).extents == (Sizes{3, 4}), per_element());

  Kokkos::View<int* [4], Kokkos::LayoutRight, Kokkos::HostSpace> right("right", 6);
  for (int i = 0; i < 24; ++i) right(i / 4, i % 4) = i;
  auto const columns = Kokkos::subview(right, Kokkos::ALL, std::make_pair(1, 3));
  BOOST_TEST(values(host_tensor(columns)) == (std::vector<int>{1, 2, 5, 6, 9, 10, 13, 14, 17, 18, 21, 22}),
             per_element());
  Kokkos::View<int*, Kokkos::LayoutStride, Kokkos::HostSpace> const strided(right.data(), Kokkos::LayoutStride(3, 8));
  BOOST_TEST(values(host_tensor(strided)) == (std::vector<int>{0, 8, 16}), per_element());
}

BOOST_AUTO_TEST_CASE(standard_containers_are_referenced_or_kept) {
  std::vector<float> numbers{1, 2, 3};
  float const* const memory = numbers.data();
  BOOST_TEST(host_tensor(numbers).data == memory);
  BOOST_TEST(host_tensor(std::span<float const>(numbers)).data == memory);
  auto const kept = host_tensor(std::move(numbers));
  BOOST_TEST(kept.data == memory);
  BOOST_TEST(kept.owner != nullptr);
  BOOST_TEST(host_tensor(std::array<int, 3>{4, 5, 6}).data[2] == 6);
}

BOOST_AUTO_TEST_CASE(tensors_become_xtensor_arrays_again) {
  xt::xarray<int> const array = xt::arange<int>(12).reshape({3, 2, 2});
  auto copy = to_xarray(host_tensor(array));
  BOOST_TEST((copy == array));
  BOOST_TEST(copy.dimension() == 3);
  auto seen = xtensor_view(copy.data(), {2, 6});
  seen(1, 0) = 77;
  BOOST_TEST(copy(1, 1, 0) == 77);
}

BOOST_AUTO_TEST_CASE(a_tensor_is_sliced_reshaped_and_cut_into_columns) {
  xt::xarray<int> const array = xt::arange<int>(12).reshape({4, 3});
  auto const tensor = host_tensor(array).named("table.csv");
  BOOST_TEST(values(tensor.slice(1, 3)) == counted(3, 9), per_element());
  BOOST_TEST(tensor.slice(1, 3).data == array.data() + 3);
  BOOST_TEST(values(tensor.columns(0, 2)) == (std::vector<int>{0, 1, 3, 4, 6, 7, 9, 10}), per_element());
  BOOST_TEST(values(tensor.column(2)) == (std::vector<int>{2, 5, 8, 11}), per_element());
  BOOST_TEST(tensor.column(2).extents == Sizes{4}, per_element());
  BOOST_TEST(tensor.columns(0, 2).origin == "table.csv");
  BOOST_TEST(tensor.reshaped({2, 6}).data == array.data());
  BOOST_TEST(message_of<ShapeError>([&] { tensor.reshaped({5, 2}); }) ==
             "table.csv of extents (4, 3) cannot be reshaped to (5, 2)");
  BOOST_TEST(message_of<ValueError>([&] { tensor.columns(1, 4); }) ==
             "columns [1, 4) are not within the 3 of table.csv");
  BOOST_TEST(message_of<ValueError>([&] { tensor.slice(0, 5); }) == "samples [0, 5) are not within the 4 of table.csv");
  BOOST_TEST(message_of<ShapeError>([&] { tensor.column(0).column(0); }) ==
             "table.csv of extents (4,) is not a table with columns");
  BOOST_TEST(message_of<ShapeError>([&] { data::from_tensor_slices(xt::xarray<int>(3)); }) ==
             "a tensor has no axis that counts the samples");
}

BOOST_AUTO_TEST_CASE(a_dataset_takes_a_view_and_an_expression_together) {
  Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> x("x", 5, 2);
  for (std::size_t i = 0; i < 5; ++i) x(i, 0) = x(i, 1) = static_cast<float>(i);
  xt::xarray<int> const numbers = xt::arange<int>(5);
  auto const data = data::from_tensor_slices(x, 10 * numbers, xt::ones<float>({5})).batch(GlobalBatch{2});
  for (auto const& batch : batches(data, 2))
    for (Row const& row : batch) {
      BOOST_TEST(row.y[0] == 10 * row.x[1]);
      BOOST_TEST(row.weight == 1.0);
    }
  BOOST_TEST(trireme::test::labels(data) == (std::vector<int>{0, 10, 20, 30, 40}), per_element());
}
