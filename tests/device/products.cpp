// Products on a device, by the vendor's library or in tiles, against sums on the host; epilogues against kernels of
// their own.
#define BOOST_TEST_MODULE device_products
#include "support/device.hpp"

#include "support/device_values.hpp"
#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "trireme/activations/gelu.hpp"
#include "trireme/activations/linear.hpp"
#include "trireme/activations/relu.hpp"
#include "trireme/activations/silu.hpp"
#include "trireme/activations/softmax.hpp"
#include "trireme/activations/tanh.hpp"
#include "trireme/backend/execution/device_products.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/team_memory.hpp"
#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/gemm_division.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/layers/activation_kernels.hpp"
#include "trireme/layers/gradient.hpp"
#include "trireme/tensor/bfloat16.hpp"

using namespace trireme;
using trireme::test::numbers;
using trireme::test::OnDevice;

namespace {

using Context = SpaceContext<test::Device>;
using Blas = detail::DeviceBlas<test::Device>;

constexpr std::size_t gap = 3;  // columns that lie behind those of each matrix

struct Sizes {
  std::size_t m, n, k;
};
/// Around the edges of tiles and of vectors, lengths that are no multiple of either, and depths in one part and
/// several.
constexpr Sizes shapes[] = {{1, 1, 1},   {16, 16, 16},  {17, 15, 33}, {5, 70, 3},   {64, 10, 100}, {33, 128, 64},
                            {2, 3, 300}, {40, 50, 300}, {9, 32, 700}, {1, 70, 300}, {70, 1, 300}};

/// Two matrices whose rows are `gap` longer than the product needs, at an offset from the beginning of their memory.
template <class T>
struct Factors {
  Sizes shape;
  bool transpose_a, transpose_b;
  std::size_t offset;
  std::size_t rows_a = transpose_a ? shape.k : shape.m, lda = (transpose_a ? shape.m : shape.k) + gap;
  std::size_t rows_b = transpose_b ? shape.n : shape.k, ldb = (transpose_b ? shape.k : shape.n) + gap;
  std::vector<T> a = numbers<T>(offset + rows_a * lda, 1), b = numbers<T>(offset + rows_b * ldb, 2);

  double left(std::size_t i, std::size_t r) const {
    return static_cast<double>(a[offset + (transpose_a ? r * lda + i : i * lda + r)]);
  }
  double right(std::size_t r, std::size_t j) const {
    return static_cast<double>(b[offset + (transpose_b ? j * ldb + r : r * ldb + j)]);
  }
  double sum(std::size_t i, std::size_t j) const {
    long double total = 0;
    for (std::size_t r = 0; r < shape.k; ++r) total += left(i, r) * right(r, j);
    return static_cast<double>(total);
  }
  /// Bound of the error of a sum of k products of numbers in [-1, 1].
  double tolerance() const {
    return 4 * static_cast<double>(shape.k + 1) * static_cast<double>(std::numeric_limits<T>::epsilon());
  }
  Product<T> product(OnDevice<T> const& device_a, OnDevice<T> const& device_b, T* c, std::size_t ldc) const {
    return {.m = shape.m,
            .n = shape.n,
            .k = shape.k,
            .a = device_a.data() + offset,
            .lda = lda,
            .b = device_b.data() + offset,
            .ldb = ldb,
            .c = c,
            .ldc = ldc,
            .transpose_a = transpose_a,
            .transpose_b = transpose_b};
  }
};

/// f(factors) for each shape, offset and transposition of b; of a where it is asked for.
template <class T, class F>
void for_each_layout(bool transposed, F const& f) {
  for (Sizes const& shape : shapes)
    for (bool const transpose_a : {false, true})
      for (bool const transpose_b : {false, true})
        for (std::size_t const offset : {0u, 1u})
          BOOST_TEST_CONTEXT(shape.m << " x " << shape.n << " x " << shape.k << ", transposed " << transpose_a << ' '
                                     << transpose_b << ", offset " << offset)
  if (transposed || !transpose_a) f(Factors<T>{shape, transpose_a, transpose_b, offset});
}

/// Every element is right, and what lies around the matrix as it was.
template <class T, class Right>
void check_matrix(std::vector<T> const& is, std::vector<T> const& before, std::size_t offset, Sizes const& shape,
                  std::size_t ldc, double tolerance, Right const& right) {
  double largest = 0;
  std::size_t changed = 0;
  for (std::size_t e = 0; e < is.size(); ++e) {
    std::size_t const i = (e - offset) / ldc, j = (e - offset) % ldc;
    if (e >= offset && i < shape.m && j < shape.n) {
      double const difference = std::abs(static_cast<double>(is[e]) - right(i, j));
      largest = std::max(largest, std::isnan(difference) ? std::numeric_limits<double>::infinity() : difference);
    } else if (is[e] != before[e]) {
      ++changed;
    }
  }
  BOOST_TEST(largest <= tolerance);
  BOOST_TEST(changed == 0u);
}

/// The same with numbers that a BFloat16 has.
template <class T>
Factors<T> shortened(Factors<T> factors) {
  for (std::vector<T>* const numbers : {&factors.a, &factors.b})
    for (T& number : *numbers) number = static_cast<T>(static_cast<BFloat16>(number));
  return factors;
}

/// \param short_operands  which a device may multiply by units for short numbers; the sums are as exact.
template <class T>
void check_product(Factors<T> const& f, bool accumulate, bool short_operands = false) {
  Context context(test::device(1));
  std::size_t const ldc = f.shape.n + gap;
  auto const before = numbers<T>(f.offset + f.shape.m * ldc, 3);
  OnDevice<T> const a(f.a), b(f.b), c(before);
  Product<T> product = f.product(a, b, c.data() + f.offset, ldc);
  product.accumulate = accumulate;
  product.short_operands = short_operands;
  context.gemm(product);
  context.fence("product");
  check_matrix(c.values(), before, f.offset, f.shape, ldc, f.tolerance(), [&](std::size_t i, std::size_t j) {
    return f.sum(i, j) + (accumulate ? static_cast<double>(before[f.offset + i * ldc + j]) : 0);
  });
}

template <class T>
void check_products(bool accumulate, bool short_operands = false) {
  for_each_layout<T>(true, [&](Factors<T> const& factors) {
    check_product(short_operands ? shortened(factors) : factors, accumulate, short_operands);
  });
}

/// The product in tiles of a division, added to what is there and with bias and ReLU. Rows of the results are a
/// multiple of four apart, and have numbers between them that stay.
template <class T>
void check_tiles(Factors<T> const& f, std::uint32_t extent, std::size_t parts) {
  if (extent == detail::GemmDivision::large_tile && !detail::takes_large_tiles<T>) return;
  test::Device const space = test::device(1);
  detail::TeamMemory<test::Device> memory;
  std::size_t const ldc = (f.shape.n + 7) / 4 * 4;
  auto const before = numbers<T>(f.shape.m * ldc, 3), bias = numbers<T>(f.shape.n, 4);
  OnDevice<T> const a(f.a), b(f.b), sums(before), activated(before), device_bias(bias);
  detail::GemmDivision const division = detail::divide_gemm(f.product(a, b, sums.data(), ldc), extent, parts);
  for (bool const with_bias : {false, true}) {
    Product<T> product = f.product(a, b, (with_bias ? activated : sums).data(), ldc);
    product.accumulate = !with_bias;
    if (with_bias)
      detail::tiled_gemm(space, memory, ProductBatch<T>{product}, division,
                         BiasActivationEpilogue<T, ReLU>{{}, device_bias.data(), product.c});
    else
      detail::tiled_gemm(space, memory, ProductBatch<T>{product}, division);
  }
  space.fence("tiles");
  BOOST_TEST_CONTEXT("tiles of " << extent << ", parts " << division.parts) {
    check_matrix(sums.values(), before, 0, f.shape, ldc, f.tolerance(),
                 [&](std::size_t i, std::size_t j) { return f.sum(i, j) + static_cast<double>(before[i * ldc + j]); });
    check_matrix(activated.values(), before, 0, f.shape, ldc, f.tolerance(), [&](std::size_t i, std::size_t j) {
      return std::max(0.0, f.sum(i, j) + static_cast<double>(bias[j]));
    });
  }
}

/// Two groups of three products each, of which every one has another left factor, and those of a group the same right
/// one. Their results lie `apart` elements behind each other.
template <class T, class Multiply>
void check_batch(Factors<T> const& first, std::size_t apart, Multiply const& multiply) {
  constexpr std::size_t groups = 2, group = 3;
  Sizes const shape = first.shape;
  std::size_t const a_size = first.rows_a * first.lda, b_size = first.rows_b * first.ldb,
                    c_size = shape.m * shape.n + apart;
  auto const all_a = numbers<T>(groups * group * a_size, 1), all_b = numbers<T>(groups * b_size, 2),
             before = numbers<T>(groups * group * c_size, 3);
  OnDevice<T> const a(all_a), b(all_b), c(before);
  multiply(ProductBatch<T>{.first = first.product(a, b, c.data(), shape.n),
                           .count = groups,
                           .group = group,
                           .groups = {group * a_size, b_size, group * c_size},
                           .within = {a_size, 0, c_size}});
  auto const results = c.values();
  auto const part_of = [](std::vector<T> const& numbers, std::size_t size, std::size_t at) {
    auto const begin = numbers.begin() + static_cast<std::ptrdiff_t>(at * size);
    return std::vector<T>(begin, begin + static_cast<std::ptrdiff_t>(size));
  };
  for (std::size_t at = 0; at < groups * group; ++at) BOOST_TEST_CONTEXT("product " << at) {
      Factors<T> f = first;
      f.a = part_of(all_a, a_size, at);
      f.b = part_of(all_b, b_size, at / group);
      check_matrix(part_of(results, c_size, at), part_of(before, c_size, at), 0, shape, shape.n, f.tolerance(),
                   [&](std::size_t i, std::size_t j) { return f.sum(i, j); });
    }
}

template <class T>
void check_batch(Factors<T> const& first, std::size_t apart) {
  Context context(test::device(1));
  check_batch<T>(first, apart, [&](ProductBatch<T> const& batch) {
    context.gemm_batch(batch);
    context.fence("products");
  });
}

/// Products by the library alone: each layout, short operands, an epilogue that it may take, and groups.
template <class T, class Library = Blas>
void check_library() {
  if constexpr (!Library::portable) {
    test::Device const space = test::device(1);
    Library const library(space);
    for_each_layout<T>(true, [&](Factors<T> const& factors) {
      for (bool const is_short : {false, sizeof(T) == 4}) {
        Factors<T> const f = is_short ? shortened(factors) : factors;
        std::size_t const count = f.shape.m * f.shape.n;
        auto const before = numbers<T>(f.offset + count, 3), bias = numbers<T>(f.shape.n, 4);
        OnDevice<T> const a(f.a), b(f.b), c(before), y(before), device_bias(bias);
        Product<T> product = f.product(a, b, c.data() + f.offset, f.shape.n);
        product.short_operands = is_short;
        library.gemm(space, ProductBatch<T>{product});
        product.c = y.data() + f.offset;
        bool const taken =
            library.gemm(space, product, BiasActivationEpilogue<T, Linear>{{}, device_bias.data(), product.c});
        space.fence("products");
        check_matrix(c.values(), before, f.offset, f.shape, f.shape.n, f.tolerance(),
                     [&](std::size_t i, std::size_t j) { return f.sum(i, j); });
        if (taken)
          check_matrix(y.values(), before, f.offset, f.shape, f.shape.n, f.tolerance(),
                       [&](std::size_t i, std::size_t j) { return f.sum(i, j) + static_cast<double>(bias[j]); });
      }
    });
    check_batch<T>({{17, 15, 33}, false, true, 0}, 7, [&](ProductBatch<T> const& batch) {
      library.gemm(space, batch);
      space.fence("products");
    });
  }
}

/// A product with bias and activation, taken or not, against the host's numbers in double.
template <class T, class A>
void check_activated(A const& activation, bool with_bias) {
  Context context(test::device(1));
  for_each_layout<T>(false, [&](Factors<T> const& f) {
    std::size_t const count = f.shape.m * f.shape.n;
    auto const before = numbers<T>(f.offset + count, 3);
    auto const bias = numbers<T>(f.offset + f.shape.n, 4);
    OnDevice<T> const a(f.a), b(f.b), z(before), y(before), device_bias(bias);
    T* const results = y.data() + f.offset;
    T* const c = needs_preactivation<A>() ? z.data() + f.offset : results;
    kernels::product_bias_activation(context, activation, f.product(a, b, c, f.shape.n),
                                     with_bias ? static_cast<T const*>(device_bias.data() + f.offset) : nullptr,
                                     results);
    context.fence("activated");
    auto const argument = [&](std::size_t i, std::size_t j) {
      return f.sum(i, j) + (with_bias ? static_cast<double>(bias[f.offset + j]) : 0);
    };
    if (needs_preactivation<A>())
      check_matrix(z.values(), before, f.offset, f.shape, f.shape.n, f.tolerance(), argument);
    check_matrix(y.values(), before, f.offset, f.shape, f.shape.n, 2 * f.tolerance(),
                 [&](std::size_t i, std::size_t j) { return activation(argument(i, j)); });
  });
}

template <class T>
void check_bias_gradients(Sizes const& shape) {
  Context context(test::device(1));
  Factors<T> const f{shape, true, false, 0};
  auto const x = numbers<T>(shape.k * shape.m, 1), dy = numbers<T>(shape.k * shape.n, 2);
  OnDevice<T> const device_x(x), device_dy(dy), weights(std::vector<T>(shape.m * shape.n + gap, T(7))),
      bias(std::vector<T>(shape.n + gap, T(7)));
  Gradient<T> const weight_gradient(weights.data(), shape.m * shape.n, nullptr),
      bias_gradient(bias.data(), shape.n, nullptr);
  weight_gradient.product_and_column_sums(context, "test", shape.k, {device_x.data(), shape.m},
                                          {device_dy.data(), shape.n}, bias_gradient);
  context.fence("gradients");
  BOOST_TEST_CONTEXT(shape.m << " x " << shape.n << " x " << shape.k) {
    check_matrix(weights.values(), std::vector<T>(shape.m * shape.n + gap, T(7)), 0, shape, shape.n, f.tolerance(),
                 [&](std::size_t i, std::size_t j) {
                   double sum = 0;
                   for (std::size_t r = 0; r < shape.k; ++r)
                     sum += static_cast<double>(x[r * shape.m + i]) * static_cast<double>(dy[r * shape.n + j]);
                   return sum;
                 });
    check_matrix(bias.values(), std::vector<T>(shape.n + gap, T(7)), 0, {1, shape.n, shape.k}, shape.n, f.tolerance(),
                 [&](std::size_t, std::size_t j) {
                   double sum = 0;
                   for (std::size_t r = 0; r < shape.k; ++r) sum += static_cast<double>(dy[r * shape.n + j]);
                   return sum;
                 });
  }
}

/// Bias and activation in kernels of their own, behind the product.
template <class T, class A>
void in_kernels_of_their_own(Context& context, A const& activation, Product<T> const& product, T const* bias, T* y) {
  context.gemm(product);
  kernels::bias_activation(context, activation, product.m, product.n, bias, product.c, y);
}

template <class T, class A>
void check_same_bits(A const& activation, bool with_bias) {
  Context context(test::device(1));
  for_each_layout<T>(false, [&](Factors<T> const& f) {
    auto const bias = numbers<T>(f.shape.n, 4);
    std::vector<T> const empty(f.shape.m * f.shape.n, T(7));
    OnDevice<T> const a(f.a), b(f.b), device_bias(bias);
    OnDevice<T> const z(empty), y(empty), separate_z(empty), separate_y(empty);
    auto const run = [&](OnDevice<T> const& at, OnDevice<T> const& to, auto const& compute) {
      compute(f.product(a, b, needs_preactivation<A>() ? at.data() : to.data(), f.shape.n),
              with_bias ? static_cast<T const*>(device_bias.data()) : nullptr, to.data());
    };
    run(z, y, [&](Product<T> const& product, T const* added, T* to) {
      kernels::product_bias_activation(context, activation, product, added, to);
    });
    run(separate_z, separate_y, [&](Product<T> const& product, T const* added, T* to) {
      in_kernels_of_their_own(context, activation, product, added, to);
    });
    context.fence("both");
    BOOST_TEST((z.values() == separate_z.values()));
    BOOST_TEST((y.values() == separate_y.values()));
  });
}

std::size_t launches = 0;
void count_launch(char const* label, std::uint32_t, std::uint64_t*) {
  if (std::string_view(label).starts_with("trireme")) ++launches;
}

/// An activation of a program's own whose numbers exceed a kernel's argument with those of the product.
struct LongTable {
  static constexpr bool elementwise = true;
  static constexpr bool derivative_from_output = true;
  double values[16];
  template <class T>
  KOKKOS_FUNCTION T operator()(T x) const {
    T sum = 0;
    for (double const value : values) sum += static_cast<T>(value) * x;
    return sum;
  }
  template <class T>
  KOKKOS_FUNCTION T derivative(T) const {
    return T(1);
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(products_of_any_layout_are_those_of_the_host) {
  check_products<float>(false);
  check_products<double>(false);
}

BOOST_AUTO_TEST_CASE(products_add_to_what_is_there) {
  check_products<float>(true);
  check_products<double>(true);
}
BOOST_AUTO_TEST_CASE(products_of_short_numbers_are_as_exact) {
  check_products<float>(false, true);
  check_products<float>(true, true);
}

BOOST_AUTO_TEST_CASE(bias_and_activation_follow_the_product) {
  for (bool const with_bias : {false, true}) {
    check_activated<float>(Linear{}, with_bias);
    check_activated<double>(Linear{}, with_bias);
    check_activated<float>(ReLU{}, with_bias);
    check_activated<double>(ReLU{}, with_bias);
    check_activated<float>(Tanh{}, with_bias);
    check_activated<float>(GELU{}, with_bias);
    check_activated<float>(GELU{.approximate = true}, with_bias);
    check_activated<double>(GELU{.approximate = true}, with_bias);
    check_activated<float>(LongTable{{0.5, -0.25}}, with_bias);
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_kernel_and_bias_are_those_of_the_host) {
  for (Sizes const& shape : shapes) {
    check_bias_gradients<float>(shape);
    check_bias_gradients<double>(shape);
  }
}

BOOST_AUTO_TEST_CASE(gradients_of_many_rows_are_those_of_the_host) {
  // Sums of blocks of rows are added in two levels and in three.
  for (Sizes const& shape : {Sizes{9, 32, 20000}, Sizes{33, 1, 5000}, Sizes{3, 2, 70000}})
    check_bias_gradients<float>(shape);
}

BOOST_AUTO_TEST_CASE(shallow_products_of_many_results_are_those_of_the_host) {
  check_product<float>({{1100, 970, 5}, false, false, 0}, false);
}

/// Large enough for large tiles, and so deep that sums of parts are added up in several levels.
BOOST_AUTO_TEST_CASE(large_and_deep_products_are_those_of_the_host) {
  check_product<float>({{770, 650, 37}, false, false, 0}, true);
  check_product<float>({{520, 1030, 20}, true, true, 1}, false);
  check_product<double>({{770, 650, 20}, false, true, 0}, true);
  check_product<float>({{33, 10, 9000}, true, false, 0}, true);
  check_product<double>({{20, 40, 5000}, false, true, 0}, false);
}

/// On GPUs too, where trireme might leave products of these sizes to a library: tiles of both extents, with one part of
/// the depth, two, and two levels of them.
BOOST_AUTO_TEST_CASE(tiles_of_any_division_are_those_of_the_host) {
  for (std::size_t const parts : {1u, 2u, 17u})
    for (std::uint32_t const extent : {detail::GemmDivision::small_tile, detail::GemmDivision::large_tile})
      for (bool const transposed : {false, true}) {
        check_tiles<float>({{70, 90, 600}, transposed, !transposed, 1}, extent, parts);
        check_tiles<float>({{65, 30, 150}, transposed, transposed, 0}, extent, parts);
        check_tiles<double>({{33, 70, 280}, transposed, !transposed, 0}, extent, parts);
      }
}

/// Calls of the library itself, for sizes that trireme computes in tiles too; nothing where none is linked.
BOOST_AUTO_TEST_CASE(products_of_a_library_are_those_of_the_host) {
  check_library<float>();
  check_library<double>();
}

BOOST_AUTO_TEST_CASE(groups_of_products_are_those_of_the_host) {
  for (bool const transpose_b : {false, true}) {
    check_batch<float>({{40, 24, 17}, false, transpose_b, 0}, 8);
    check_batch<float>({{5, 70, 33}, true, transpose_b, 0}, 7);
    check_batch<float>({{40, 24, 300}, false, transpose_b, 0}, 7);
    check_batch<float>({{170, 24, 700}, true, transpose_b, 0}, 0);
    check_batch<double>({{17, 15, 8}, true, transpose_b, 0}, 5);
  }
}

/// On a GPU too: a vendor's ReLU that drops NaN is not an epilogue of ours.
BOOST_AUTO_TEST_CASE(relu_behind_a_product_keeps_a_nan) {
  Context context(test::device(1));
  constexpr std::size_t m = 32, n = 48, k = 16;
  auto a = numbers<float>(m * k, 1);
  a[3 * k + 5] = std::numeric_limits<float>::quiet_NaN();
  OnDevice<float> const device_a(a), b(numbers<float>(k * n, 2)), bias(numbers<float>(n, 3)),
      y(std::vector<float>(m * n));
  kernels::product_bias_activation(
      context, ReLU{},
      Product<float>{
          .m = m, .n = n, .k = k, .a = device_a.data(), .lda = k, .b = b.data(), .ldb = n, .c = y.data(), .ldc = n},
      static_cast<float const*>(bias.data()), y.data());
  context.fence("product");
  auto const values = y.values();
  for (std::size_t e = 0; e < values.size(); ++e) BOOST_TEST(std::isnan(values[e]) == (e / n == 3));
}

/// Of the tiles alone: a vendor's library may round in another way.
BOOST_AUTO_TEST_CASE(epilogues_of_the_tiles_have_the_bits_of_separate_kernels) {
  if constexpr (Blas::portable)
    for (bool const with_bias : {false, true}) {
      check_same_bits<float>(Linear{}, with_bias);
      check_same_bits<float>(ReLU{}, with_bias);
      check_same_bits<double>(Tanh{}, with_bias);
      check_same_bits<float>(SiLU{}, with_bias);
      check_same_bits<float>(GELU{}, with_bias);
      check_same_bits<double>(GELU{.approximate = true}, with_bias);
      check_same_bits<float>(Softmax{}, with_bias);
      check_same_bits<float>(LongTable{{0.5, -0.25}}, with_bias);
    }
}

BOOST_AUTO_TEST_CASE(empty_products_leave_their_memory) {
  Context context(test::device(1));
  OnDevice<float> const a(numbers<float>(64, 1)), b(numbers<float>(64, 2)), bias(numbers<float>(8, 3)),
      y(std::vector<float>(64, 7.0f));
  for (Sizes const& shape : {Sizes{0, 8, 8}, Sizes{8, 0, 8}})
    kernels::product_bias_activation(context, Tanh{},
                                     Product<float>{.m = shape.m,
                                                    .n = shape.n,
                                                    .k = shape.k,
                                                    .a = a.data(),
                                                    .lda = 8,
                                                    .b = b.data(),
                                                    .ldb = 8,
                                                    .c = y.data(),
                                                    .ldc = shape.n},
                                     static_cast<float const*>(bias.data()), y.data());
  context.fence("nothing");
  BOOST_TEST(y.values() == std::vector<float>(64, 7.0f), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_product_without_depth_is_the_bias) {
  Context context(test::device(1));
  auto const bias = numbers<float>(8, 3);
  OnDevice<float> const a(numbers<float>(8, 1)), device_bias(bias), y(std::vector<float>(32, 7.0f));
  kernels::product_bias_activation(
      context, Linear{},
      Product<float>{.m = 4, .n = 8, .k = 0, .a = a.data(), .lda = 1, .b = a.data(), .ldb = 8, .c = y.data(), .ldc = 8},
      static_cast<float const*>(device_bias.data()), y.data());
  context.fence("bias");
  auto const values = y.values();
  for (std::size_t e = 0; e < values.size(); ++e) BOOST_TEST(values[e] == bias[e % 8]);
}

/// Of the tiles: an epilogue spares a launch, and one that would not fit a kernel's argument is declined.
BOOST_AUTO_TEST_CASE(an_epilogue_is_no_launch_of_its_own) {
  Context context(test::device(1));
  OnDevice<float> const a(numbers<float>(64, 1)), b(numbers<float>(64, 2)), bias(numbers<float>(8, 3)),
      z(std::vector<float>(64)), y(std::vector<float>(64));
  auto const launches_of = [&](auto const& activation) {
    using A = std::remove_cvref_t<decltype(activation)>;
    Product<float> const product{.m = 8,
                                 .n = 8,
                                 .k = 8,
                                 .a = a.data(),
                                 .lda = 8,
                                 .b = b.data(),
                                 .ldb = 8,
                                 .c = needs_preactivation<A>() ? z.data() : y.data(),
                                 .ldc = 8};
    launches = 0;
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(count_launch);
    kernels::product_bias_activation(context, activation, product, static_cast<float const*>(bias.data()), y.data());
    Kokkos::Tools::Experimental::set_begin_parallel_for_callback(nullptr);
    context.fence("launched");
    return launches;
  };
  if constexpr (Blas::portable) {
    BOOST_TEST(launches_of(Linear{}) == 1u);
    BOOST_TEST(launches_of(ReLU{}) == 1u);
    BOOST_TEST(launches_of(GELU{}) == 1u);
    BOOST_TEST(launches_of(Softmax{}) == 2u);
    BOOST_TEST(launches_of(LongTable{{1.0}}) == 2u);
  } else {
    // Of ours, beside those of the library, whose versions differ in what they take.
    BOOST_TEST(launches_of(Linear{}) <= 1u);
    BOOST_TEST(launches_of(ReLU{}) == 1u);
    BOOST_TEST(launches_of(GELU{.approximate = true}) <= 2u);
  }
}
