#define BOOST_TEST_MODULE initializers
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/initializers/constant.hpp"
#include "trireme/initializers/glorot.hpp"
#include "trireme/initializers/identity.hpp"
#include "trireme/initializers/initializer.hpp"
#include "trireme/initializers/orthogonal.hpp"
#include "trireme/initializers/random_normal.hpp"
#include "trireme/initializers/random_uniform.hpp"
#include "trireme/initializers/truncated_normal.hpp"

namespace tr = trireme;
using boost::test_tools::tolerance;

namespace {

std::vector<double> draw(tr::Initializer const& initializer, std::vector<std::size_t> const& extents,
                         std::uint64_t seed = 7, std::string_view path = "dense/kernel", std::size_t input_axes = 0) {
  std::vector<double> out(std::accumulate(extents.begin(), extents.end(), std::size_t{1}, std::multiplies<>{}));
  initializer(out, {.extents = extents, .seed = seed, .path = path, .input_axes = input_axes});
  return out;
}

/// Mean, standard deviation and largest distance from the mean, each within what n numbers allow.
void check_moments(std::vector<double> const& x, double mean, double deviation, double limit) {
  double const n = static_cast<double>(x.size());
  double sum = 0, squares = 0, furthest = 0;
  for (double const value : x) {
    sum += value - mean;
    squares += (value - mean) * (value - mean);
    furthest = std::max(furthest, std::abs(value - mean));
  }
  BOOST_TEST(std::abs(sum / n) < 4 * deviation / std::sqrt(n));
  BOOST_TEST(std::abs(std::sqrt(squares / n) / deviation - 1) < 4 / std::sqrt(2 * n));
  BOOST_TEST(furthest <= limit);
  BOOST_TEST(furthest > 0.95 * std::min(limit, 3 * deviation));
}

double const unlimited = 1e300, cut = 0.87962566103423978;  // deviation of a normal that is cut at 2

}  // namespace

BOOST_AUTO_TEST_CASE(constants_are_constant) {
  for (double const value : draw(tr::Zeros{}, {5})) BOOST_TEST(value == 0.0);
  for (double const value : draw(tr::Ones{}, {5})) BOOST_TEST(value == 1.0);
  for (double const value : draw(tr::Constant{2.5}, {5})) BOOST_TEST(value == 2.5);
}

BOOST_AUTO_TEST_CASE(random_initializers_have_their_moments_and_limits) {
  std::vector<std::size_t> const extents{200, 100};
  check_moments(draw(tr::RandomNormal{.mean = 1, .stddev = 0.5}, extents), 1, 0.5, unlimited);
  check_moments(draw(tr::RandomUniform{.minval = -1, .maxval = 3}, extents), 1, 4 / std::sqrt(12.0), 2);
  check_moments(draw(tr::TruncatedNormal{.mean = -1, .stddev = 0.5}, extents), -1, 0.5 * cut, 1.0);
}

BOOST_AUTO_TEST_CASE(scaled_initializers_have_the_variance_of_their_fans) {
  std::vector<std::size_t> const extents{200, 100};
  double const average = std::sqrt(1.0 / 150), in = std::sqrt(1.0 / 200), he = std::sqrt(2.0 / 200);
  check_moments(draw(tr::GlorotUniform{}, extents), 0, average, std::sqrt(3.0) * average);
  check_moments(draw(tr::HeUniform{}, extents), 0, he, std::sqrt(3.0) * he);
  check_moments(draw(tr::LecunUniform{}, extents), 0, in, std::sqrt(3.0) * in);
  check_moments(draw(tr::GlorotNormal{}, extents), 0, average, 2 * average / cut);
  check_moments(draw(tr::HeNormal{}, extents), 0, he, 2 * he / cut);
  check_moments(draw(tr::LecunNormal{}, extents), 0, in, 2 * in / cut);
  check_moments(draw(tr::VarianceScaling{3, tr::FanMode::fan_out, tr::Distribution::untruncated_normal}, extents), 0,
                std::sqrt(3.0 / 100), unlimited);
}

BOOST_AUTO_TEST_CASE(fans_count_the_receptive_field_of_a_convolution) {
  tr::Fans const convolution = tr::compute_fans({3, 5, 4, 8}), dense = tr::compute_fans({7, 9}),
                 bias = tr::compute_fans({6});
  BOOST_TEST(convolution.in == 60.0);
  BOOST_TEST(convolution.out == 120.0);
  BOOST_TEST(dense.in == 7.0);
  BOOST_TEST(dense.out == 9.0);
  BOOST_TEST(bias.in == 6.0);
  BOOST_TEST(bias.out == 6.0);
}

BOOST_AUTO_TEST_CASE(fans_of_a_product_over_several_axes_are_products_of_extents) {
  tr::Fans const to_heads = tr::compute_fans({32, 4, 8}, 1), from_heads = tr::compute_fans({4, 6, 40}, 2);
  BOOST_TEST(to_heads.in == 32.0);
  BOOST_TEST(to_heads.out == 32.0);
  BOOST_TEST(from_heads.in == 24.0);
  BOOST_TEST(from_heads.out == 40.0);
}

BOOST_AUTO_TEST_CASE(scaled_initializers_take_the_fans_of_a_product_over_several_axes) {
  // Variances of keras.layers.MultiHeadAttention(8, 48, value_dim=30, output_shape=70) on 96 features, which it draws
  // with the fans 96 and 384 of the query, and 240 and 70 of the output.
  struct Kernel {
    std::vector<std::size_t> extents;
    std::size_t input_axes;
    double average, in;  // variances of Glorot's and of LeCun's initializers
  };
  for (Kernel const& k : {Kernel{{96, 8, 48}, 1, 2.0 / 480, 1.0 / 96}, Kernel{{8, 30, 70}, 2, 2.0 / 310, 1.0 / 240}}) {
    double const average = std::sqrt(k.average), in = std::sqrt(k.in), he = std::sqrt(2 * k.in);
    auto const draw_kernel = [&](tr::Initializer const& initializer) {
      return draw(initializer, k.extents, 7, "dense/kernel", k.input_axes);
    };
    check_moments(draw_kernel(tr::GlorotUniform{}), 0, average, std::sqrt(3.0) * average);
    check_moments(draw_kernel(tr::GlorotNormal{}), 0, average, 2 * average / cut);
    check_moments(draw_kernel(tr::HeUniform{}), 0, he, std::sqrt(3.0) * he);
    check_moments(draw_kernel(tr::LecunNormal{}), 0, in, 2 * in / cut);
  }
}

BOOST_AUTO_TEST_CASE(an_element_depends_on_seed_path_and_its_index_alone) {
  tr::RandomNormal const initializer;
  auto const whole = draw(initializer, {40, 10}), part = draw(initializer, {7});
  BOOST_TEST(std::equal(part.begin(), part.end(), whole.begin()));
  BOOST_TEST(draw(initializer, {40, 10}) == whole);
  BOOST_TEST(draw(initializer, {40, 10}, 8) != whole);
  BOOST_TEST(draw(initializer, {40, 10}, 7, "dense_1/kernel") != whole);
}

BOOST_AUTO_TEST_CASE(orthogonal_columns_or_rows_are_orthonormal) {
  for (auto const& extents : {std::vector<std::size_t>{12, 5}, {5, 12}, {2, 3, 4}}) {
    std::size_t const columns = extents.back();
    auto const q = draw(tr::Orthogonal{.gain = 2}, extents);
    std::size_t const rows = q.size() / columns;
    bool const tall = rows >= columns;
    for (std::size_t a = 0; a < std::min(rows, columns); ++a) {
      for (std::size_t b = 0; b < std::min(rows, columns); ++b) {
        double dot = 0;
        for (std::size_t i = 0; i < std::max(rows, columns); ++i)
          dot += tall ? q[i * columns + a] * q[i * columns + b] : q[a * columns + i] * q[b * columns + i];
        BOOST_TEST(std::abs(dot - (a == b ? 4 : 0)) < 1e-13);
      }
    }
  }
  BOOST_CHECK_THROW(draw(tr::Orthogonal{}, {5}), tr::ShapeError);
}

BOOST_AUTO_TEST_CASE(identity_is_a_matrix) {
  BOOST_TEST(draw(tr::Identity{.gain = 3}, {2, 3}) == (std::vector<double>{3, 0, 0, 0, 3, 0}));
  BOOST_CHECK_THROW(draw(tr::Identity{}, {2, 3, 4}), tr::ShapeError);
}

BOOST_AUTO_TEST_CASE(a_users_struct_is_an_initializer) {
  struct Ramp {
    double slope;
    void operator()(std::span<double> out, tr::InitializerContext const&) const {
      for (std::size_t e = 0; e < out.size(); ++e) out[e] = slope * static_cast<double>(e);
    }
  };
  tr::Initializer const original = Ramp{.slope = 0.5};
  tr::Initializer const copy = original;
  BOOST_TEST(draw(copy, {3}) == (std::vector<double>{0, 0.5, 1}));
}
