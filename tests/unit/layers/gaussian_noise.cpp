#define BOOST_TEST_MODULE layers_gaussian_noise
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <boost/test/unit_test.hpp>

#include <trireme/core/streams.hpp>
#include <trireme/layers/dense.hpp>
#include <trireme/layers/gaussian_noise.hpp>
#include <trireme/models/sequential.hpp>

#include "gradient_check.hpp"
#include "support/kokkos_fixture.hpp"

using namespace trireme;

namespace {

using Space = SpaceContext<Kokkos::DefaultHostExecutionSpace>;

constexpr StepKeys keys{.seed = 3, .step = 5, .first_row = 0, .layer = 1};

/// Numbers of both signs, of which the first is -0.
template <class T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<T>(i) * (i % 2 == 0 ? T(-0.25) : T(0.3));
  return x;
}

template <class T, class Context = ThreadContext, class In>
std::vector<T> forward(GaussianNoise const& layer, In const& in, std::vector<T> const& x, StepKeys const& at,
                       bool training = true) {
  std::vector<T> y(x.size(), T(1e30));
  Context context{};
  detail::run_forward(context, layer, in,
                      ForwardPass<T>{.rows = x.size() / in.size(),
                                     .x = x.data(),
                                     .y = y.data(),
                                     .parameters = nullptr,
                                     .workspace = nullptr,
                                     .keys = at,
                                     .training = training});
  return y;
}

/// Equal to the bit, also in the signs of zeros.
template <class T>
bool same_bits(std::vector<T> const& a, std::vector<T> const& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](T l, T r) { return l == r && std::signbit(l) == std::signbit(r); });
}

/// The output for slices of so many rows each, one after the other; the last one has the rest.
template <class T, class Context, class In>
std::vector<T> in_slices(std::size_t slice, In const& in, std::vector<T> const& x) {
  std::vector<T> y;
  std::size_t const n = in.size(), rows = x.size() / n;
  for (std::size_t first = 0; first < rows; first += slice) {
    auto const at = [&](std::size_t row) { return x.begin() + static_cast<std::ptrdiff_t>(std::min(row, rows) * n); };
    StepKeys of_slice = keys;
    of_slice.first_row = keys.first_row + first;
    auto const part = forward<T, Context>({.stddev = 0.7}, in, std::vector<T>(at(first), at(first + slice)), of_slice);
    y.insert(y.end(), part.begin(), part.end());
  }
  return y;
}

template <class T>
void check_slices() {
  Extents<3, 7> const in{};  // 21 numbers a row: vectors of no width divide it
  auto const x = numbers<T>(11 * in.size());
  auto const whole = forward<T>({.stddev = 0.7}, in, x, keys);
  BOOST_TEST(!same_bits(whole, x));
  for (std::size_t slice : {1u, 2u, 3u, 4u, 10u, 11u}) {
    BOOST_TEST((same_bits(in_slices<T, ThreadContext>(slice, in, x), whole)), "slices of " << slice);
    BOOST_TEST((same_bits(in_slices<T, Space>(slice, in, x), whole)), "slices of " << slice << " over all threads");
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(gaussian_noise_has_the_gradient_of_its_forward) {
  test::check_gradients(GaussianNoise{}, Extents<5>{});
  test::check_gradients(GaussianNoise{.stddev = 0.5}, Extents<3, 7>{});
  test::check_gradients(GaussianNoise{.stddev = 2}, Extents<dynamic, 3>{{4, 3}});
  test::check_gradients(GaussianNoise{.stddev = 0}, Extents<2, 5>{});
  test::check_gradients(Sequential{Dense<4>{}, GaussianNoise{.stddev = 0.3}, Dense<3>{}}, Extents<5>{});
}

BOOST_AUTO_TEST_CASE(gradients_pass_through_unchanged) {
  test::LayerHarness<ThreadContext, GaussianNoise, Extents<3, 7>> harness({.stddev = 4}, {}, 3, 17);
  BOOST_TEST(harness.backward().first == harness.dy, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(outside_of_training_it_is_the_identity) {
  Extents<4, 3> const in{};
  auto const x = numbers<double>(5 * in.size());
  BOOST_TEST(same_bits(forward<double>({.stddev = 3}, in, x, keys, false), x));
  auto const single = numbers<float>(5 * in.size());
  BOOST_TEST((same_bits(forward<float, Space>({.stddev = 3}, in, single, keys, false), single)));
}

BOOST_AUTO_TEST_CASE(a_stddev_of_zero_is_the_identity) {
  Extents<4, 3> const in{};
  auto const x = numbers<double>(5 * in.size());
  BOOST_TEST(same_bits(forward<double>({.stddev = 0}, in, x, keys), x));
  auto const single = numbers<float>(5 * in.size());
  BOOST_TEST((same_bits(forward<float, Space>({.stddev = 0}, in, single, keys), single)));
}

BOOST_AUTO_TEST_CASE(noise_is_the_same_however_rows_are_split_into_slices) {
  check_slices<double>();
  check_slices<float>();
}

BOOST_AUTO_TEST_CASE(noise_is_that_of_the_stream_of_its_seed_layer_step_row_and_element) {
  Extents<7> const in{};
  std::vector<double> const zeros(4 * in.size());
  auto const noise = [&](StepKeys const& at) { return forward<double>({.stddev = 2}, in, zeros, at); };
  auto const found = noise(keys);
  RowStream const stream(keys.seed, keys.layer, keys.step, keys.micro_step, Purpose::noise);
  for (std::size_t i = 0; i < found.size(); ++i) BOOST_TEST(found[i] == 2 * stream.normal(i / 7, i % 7));

  std::vector<double> all = found;  // and those of other keys, all of which differ
  for (auto const change :
       {+[](StepKeys& k) { ++k.seed; }, +[](StepKeys& k) { ++k.layer; }, +[](StepKeys& k) { ++k.step; },
        +[](StepKeys& k) { ++k.micro_step; }, +[](StepKeys& k) { k.first_row += 4; }}) {
    StepKeys other = keys;
    change(other);
    auto const others = noise(other);
    all.insert(all.end(), others.begin(), others.end());
  }
  std::ranges::sort(all);
  BOOST_TEST((std::ranges::adjacent_find(all) == all.end()));
}

/// The seed is fixed, and so are the numbers, up to the last bits of logarithms and cosines. Of 2^16 of them mean and
/// standard deviation have standard errors of 1/256 and 1/362 of stddev.
BOOST_AUTO_TEST_CASE(noise_has_a_mean_of_zero_and_its_standard_deviation) {
  Extents<256> const in{};
  constexpr std::size_t count = 256 * 256;
  constexpr double stddev = 0.5;
  auto const noise = forward<double>({.stddev = stddev}, in, std::vector<double>(count), keys);
  double sum = 0, squares = 0;
  std::size_t within = 0;
  for (double const value : noise) {
    sum += value;
    squares += value * value;
    within += std::abs(value) < stddev ? 1 : 0;
  }
  double const mean = sum / count, deviation = std::sqrt(squares / count - mean * mean);
  BOOST_TEST_MESSAGE("mean " << mean << ", standard deviation " << deviation << ", within it " << within);
  BOOST_TEST(std::abs(mean) <= 4 * stddev / 256);
  BOOST_TEST(std::abs(deviation - stddev) <= 4 * stddev / 362);
  BOOST_TEST(std::abs(static_cast<double>(within) / count - 0.6827) <= 4 * 0.4655 / 256);  // a normal distribution's
}
