// A convolution and the max-pooling behind it: one layer for a thread that has its rows, two elsewhere.
#define BOOST_TEST_MODULE layers_conv_pool
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <trireme/activations/elu.hpp>
#include <trireme/activations/gelu.hpp>
#include <trireme/activations/relu.hpp>
#include <trireme/activations/softmax.hpp>
#include <trireme/activations/tanh.hpp>
#include <trireme/layers/conv2d.hpp>
#include <trireme/layers/flatten.hpp>
#include <trireme/layers/pooling2d.hpp>
#include <trireme/models/sequential.hpp>

#include "gradient_check.hpp"
#include "support/kokkos_fixture.hpp"

using namespace trireme;
using test::check_gradients;

namespace {

using Space = SpaceContext<Kokkos::DefaultHostExecutionSpace>;

/// Runs a model fused and layer by layer, from the same numbers, and holds what comes out.
template <class T, class Model, class In>
struct BothWays {
  struct Result {
    std::vector<T> y, dx, gradients;
  };
  Model model;
  In in;
  std::size_t rows;
  std::vector<T> x, parameters, dy;

  BothWays(Model m, In extents, std::size_t n) : model(m), in(extents), rows(n) {
    std::mt19937 random(29);
    std::normal_distribution<double> normal;
    auto const fill = [&](std::vector<T>& values, std::size_t count) {
      values.resize(count);
      std::generate(values.begin(), values.end(), [&] { return static_cast<T>(normal(random)); });
    };
    fill(x, rows * in.size());
    fill(parameters, detail::parameter_elements<T>(model, in));
    fill(dy, rows * model.output(in).size());
  }

  template <class Context>
  Result run() {
    Context context;
    Result r{std::vector<T>(dy.size(), T(1e30)), std::vector<T>(x.size(), T(1e30)),
             std::vector<T>(parameters.size(), T(1e30))};
    std::vector<std::byte> memory(detail::workspace_bytes<T, Context>(model, in, rows) + arena_alignment, std::byte{7});
    auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
    std::byte* const workspace = memory.data() + (arena_alignment - address % arena_alignment) % arena_alignment;
    model.forward(context, in, ForwardPass<T>{rows, x.data(), r.y.data(), parameters.data(), workspace, {}, true});
    std::vector<T> scratch = dy;
    model.backward(context, in,
                   BackwardPass<T>{rows,
                                   x.data(),
                                   r.y.data(),
                                   scratch.data(),
                                   r.dx.data(),
                                   parameters.data(),
                                   r.gradients.data(),
                                   workspace,
                                   {}});
    return r;
  }

  static double error(std::vector<T> const& a, std::vector<T> const& b) {
    return test::relative_error(std::vector<double>(a.begin(), a.end()), std::vector<double>(b.begin(), b.end()));
  }

  void require_equal(double tolerance) {
    auto const fused = run<ThreadContext>(), separate = run<Space>();
    BOOST_TEST(error(fused.y, separate.y) <= tolerance);
    BOOST_TEST(error(fused.dx, separate.dx) <= tolerance);
    BOOST_TEST(error(fused.gradients, separate.gradients) <= tolerance);
  }
};

/// With the same kernels in float and in double: vectors of other lengths.
template <class Model, class In>
void require_equal(Model const& model, In const& in) {
  for (std::size_t rows : {1u, 3u}) {
    BothWays<double, Model, In>(model, in, rows).require_equal(1e-13);
    BothWays<float, Model, In>(model, in, rows).require_equal(1e-5);
  }
}

template <class... Convolution, class Pooling, class In>
void require_equal_for(Pooling const& pooling, In const& in) {
  (require_equal(Sequential{Convolution{}, pooling}, in), ...);
}

/// One thread's context that notes which kernels it ran.
struct NotingContext : ThreadContext {
  std::vector<std::string> names;
  template <class... A>
  void for_each(char const* name, A const&... a) {
    names.emplace_back(name);
    ThreadContext::for_each(name, a...);
  }
  bool ran(std::string const& name) const { return std::find(names.begin(), names.end(), name) != names.end(); }
};

/// True if pooling ran as a kernel of its own.
template <class Model, class In>
bool pools_separately(Model const& model, In const& in) {
  NotingContext context;
  std::vector<double> x(in.size(), 1.0), y(model.output(in).size()),
      parameters(detail::parameter_elements<double>(model, in), 1.0);
  std::vector<std::byte> memory(detail::workspace_bytes<double, NotingContext>(model, in, 1) + 64);
  auto const address = reinterpret_cast<std::uintptr_t>(memory.data());
  model.forward(context, in,
                ForwardPass<double>{
                    1, x.data(), y.data(), parameters.data(), memory.data() + (64 - address % 64) % 64, {}, false});
  return context.ran("trireme::max_pool");
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_convolution_and_the_pooling_behind_it_have_the_gradient_of_their_forward) {
  check_gradients(Sequential{Conv2D<3, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{}}, Extents<7, 8, 2>{});
  check_gradients(Sequential{Conv2D<1, 3, 3>{}, MaxPooling2D<2, 2>{}}, Extents<6, 6, 1>{});
  check_gradients(Sequential{Conv2D<10, 1, 1, ReLU>{}, MaxPooling2D<3, 3>{}}, Extents<6, 7, 3>{});
  check_gradients(Sequential{Conv2D<5, 3, 3, Tanh, Same>{}, MaxPooling2D<2, 1>{}}, Extents<5, 5, 8>{});
  check_gradients(Sequential{Conv2D<3, 5, 5, Same, NoBias>{}, MaxPooling2D<2, 2>{}}, Extents<6, 5, 2>{});
  check_gradients(Sequential{Conv2D<4, 2, 3, Dilation<2, 1>>{}, MaxPooling2D<2, 2>{}}, Extents<6, 7, 3>{});
}

BOOST_AUTO_TEST_CASE(fused_and_separate_layers_agree_for_any_filters_channels_kernels_and_windows) {
  MaxPooling2D<2, 2> const pooling{};
  require_equal_for<Conv2D<1, 3, 3, ReLU>, Conv2D<3, 3, 3>, Conv2D<8, 3, 3, ReLU>, Conv2D<10, 3, 3, ReLU>,
                    Conv2D<32, 3, 3, ReLU>, Conv2D<70, 3, 3, ReLU>>(pooling, Extents<9, 12, 1>{});
  require_equal_for<Conv2D<10, 3, 3, ReLU>, Conv2D<32, 1, 1>, Conv2D<9, 5, 5, ReLU, Same>, Conv2D<3, 2, 4>>(
      pooling, Extents<8, 9, 2>{});
  require_equal_for<Conv2D<10, 3, 3, ReLU, Same>, Conv2D<8, 5, 5>, Conv2D<3, 1, 1, ReLU>>(pooling, Extents<9, 9, 3>{});
  require_equal_for<Conv2D<10, 3, 3, ReLU>, Conv2D<32, 1, 1, ReLU>, Conv2D<8, 5, 5, ReLU, Same>>(pooling,
                                                                                                 Extents<8, 7, 8>{});
  require_equal_for<Conv2D<33, 3, 3, ReLU>, Conv2D<16, 3, 3, Same, ELU>, Conv2D<3, 5, 5>>(pooling, Extents<7, 9, 32>{});
  require_equal_for<Conv2D<10, 3, 3, ReLU>, Conv2D<32, 3, 3, ReLU, Same>>(MaxPooling2D<3, 3>{}, Extents<10, 11, 3>{});
  require_equal_for<Conv2D<10, 3, 3, ReLU>, Conv2D<32, 3, 3, ReLU, Same>>(MaxPooling2D<2, 1>{}, Extents<6, 7, 5>{});
  require_equal_for<Conv2D<10, 3, 3, ReLU>>(MaxPooling2D<4, 5>{}, Extents<10, 13, 8>{});
  require_equal_for<Conv2D<6, 3, 3, ReLU>>(MaxPooling2D<1, 1>{}, Extents<6, 5, 4>{});
  require_equal_for<Conv2D<4, 2, 2, ReLU>>(MaxPooling2D<17, 17>{},
                                           Extents<19, 36, 2>{});  // more taps than a byte counts
}

BOOST_AUTO_TEST_CASE(extents_given_at_run_time_make_no_difference) {
  require_equal(Sequential{Conv2D<dynamic, 3, 3, ReLU>{.filters = 11}, MaxPooling2D<2, 2>{}},
                Extents<dynamic, 9, 8>{{8, 9, 8}});
  require_equal(Sequential{Conv2D<10, 3, 3, ReLU, Same>{}, MaxPooling2D<2, 2>{}}, Extents<8, 9, dynamic>{{8, 9, 5}});
}

BOOST_AUTO_TEST_CASE(pairs_within_a_larger_model_agree_with_separate_layers) {
  require_equal(Sequential{Conv2D<8, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{}, Conv2D<9, 3, 3, ReLU, Same>{},
                           MaxPooling2D<2, 2>{}, Flatten{}},
                Extents<12, 13, 1>{});
  require_equal(Sequential{Conv2D<4, 2, 2, Tanh>{}, Conv2D<8, 3, 3>{}, MaxPooling2D<2, 2>{}, ReLU{}},
                Extents<9, 8, 3>{});
}

BOOST_AUTO_TEST_CASE(the_first_of_equal_values_gets_the_gradient) {
  Sequential const model{Conv2D<10, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{}};
  for (double level : {1.0, 0.0}) {
    BothWays<double, std::decay_t<decltype(model)>, Extents<8, 9, 8>> constant(model, {}, 2);
    std::fill(constant.x.begin(), constant.x.end(), level);
    // In sixteenths sums are exact, and so equal in whichever order a BLAS adds each of them up.
    for (double& p : constant.parameters) p = std::round(16 * p) / 16;
    constant.require_equal(1e-13);
  }
}

BOOST_AUTO_TEST_CASE(a_clipped_maximum_passes_no_gradient_on) {
  Sequential const model{Conv2D<10, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{}};
  BothWays<double, std::decay_t<decltype(model)>, Extents<8, 9, 8>> clipped(model, {}, 2);
  std::fill(clipped.parameters.end() - 16, clipped.parameters.end(), -1e6);  // the biases
  auto const r = clipped.run<ThreadContext>();
  auto const none = [](std::vector<double> const& v, std::size_t from, std::size_t to) {
    return std::all_of(v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(to),
                       [](double value) { return value == 0; });
  };
  BOOST_TEST(none(r.y, 0, r.y.size()));
  BOOST_TEST(none(r.dx, 0, r.dx.size()));
  BOOST_TEST(none(r.gradients, 0, 720 + 10));
}

BOOST_AUTO_TEST_CASE(what_is_not_a_number_comes_out_where_separate_layers_let_it_out) {
  Sequential const model{Conv2D<10, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{}};
  BothWays<double, std::decay_t<decltype(model)>, Extents<8, 9, 2>> run(model, {}, 1);
  run.x[3 * 18 + 7] = std::numeric_limits<double>::quiet_NaN();
  auto const fused = run.run<ThreadContext>().y, separate = run.run<Space>().y;
  std::size_t out = 0;
  for (std::size_t i = 0; i < fused.size(); ++i) {
    BOOST_TEST(std::isnan(fused[i]) == std::isnan(separate[i]));
    out += std::isnan(fused[i]) ? 1 : 0;
  }
  BOOST_TEST(out > 0);
  BOOST_TEST(out < fused.size());
}

BOOST_AUTO_TEST_CASE(a_number_that_is_none_comes_out_of_each_window_that_has_it) {
  auto const check = [](auto const& model, std::size_t window, std::size_t stride, std::size_t padding) {
    constexpr std::size_t height = 5, width = 6, channels = 3;
    BothWays<float, std::decay_t<decltype(model)>, Extents<height, width, channels>> run(model, {}, 1);
    auto const x = run.x;
    auto const extents = model.output(run.in);
    for (std::size_t pixel = 0; pixel < height * width; ++pixel) {
      run.x = x;
      run.x[pixel * channels + 1] = std::numeric_limits<float>::quiet_NaN();
      std::vector<bool> expected;
      auto const has = [&](std::size_t out, std::size_t in) {
        return in + padding >= out * stride && in + padding < out * stride + window;
      };
      for (std::size_t i = 0; i < extents[0]; ++i)
        for (std::size_t j = 0; j < extents[1]; ++j)
          for (std::size_t c = 0; c < extents[2]; ++c)
            expected.push_back(has(i, pixel / width) && has(j, pixel % width) &&
                               (extents[2] != channels || c == 1));  // a convolution mixes channels
      for (auto const& y : {run.template run<ThreadContext>().y, run.template run<Space>().y}) {
        std::vector<bool> out;
        for (float value : y) out.push_back(std::isnan(value));
        BOOST_TEST(out == expected, "at pixel " << pixel);
      }
    }
  };
  check(Sequential{MaxPooling2D<2, 2>{}}, 2, 2, 0);
  check(Sequential{MaxPooling2D<3, 3, Strides<1, 1>>{}}, 3, 1, 0);
  check(Sequential{MaxPooling2D<3, 3, Strides<1, 1>, Same>{}}, 3, 1, 1);
  check(Sequential{Conv2D<10, 1, 1, ReLU>{}, MaxPooling2D<2, 2>{}}, 2, 2, 0);
  check(Sequential{Conv2D<10, 1, 1>{}, MaxPooling2D<3, 3>{}}, 3, 3, 0);
}

BOOST_AUTO_TEST_CASE(a_thread_with_its_rows_runs_both_as_one_and_keeps_nothing_of_what_is_pooled_away) {
  Extents<12, 12, 3> const in;
  BOOST_TEST(pools_separately(Sequential{Conv2D<8, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{}}, in) == !detail::has_simd);
  BOOST_TEST(pools_separately(Sequential{Conv2D<8, 3, 3, Same, Tanh>{}, MaxPooling2D<3, 2>{}}, in) ==
             !detail::has_simd);
  BOOST_TEST(pools_separately(Sequential{Sequential{Conv2D<8, 3, 3>{}, MaxPooling2D<2, 2>{}}, Flatten{}}, in) ==
             !detail::has_simd);
  Sequential const model{Conv2D<8, 3, 3, ReLU>{}, MaxPooling2D<2, 2>{}};
  auto const grows_by = [&]<class Context>(Context const&) {
    return detail::workspace_bytes<float, Context>(model, in, 2000) -
           detail::workspace_bytes<float, Context>(model, in, 1000);
  };
  if (detail::has_simd) BOOST_TEST(2 * grows_by(ThreadContext{}) < grows_by(Space{}));
}

BOOST_AUTO_TEST_CASE(pairs_that_do_not_suit_run_one_after_the_other) {
  Extents<12, 12, 3> const in;
  BOOST_TEST(pools_separately(Sequential{Conv2D<8, 3, 3, GELU>{}, MaxPooling2D<2, 2>{}}, in));
  BOOST_TEST(pools_separately(Sequential{Conv2D<8, 3, 3, Strides<2, 2>>{}, MaxPooling2D<2, 2>{}}, in));
  BOOST_TEST(pools_separately(Sequential{Conv2D<8, 3, 3, Dilation<1, 2>>{}, MaxPooling2D<2, 2>{}}, in));
  BOOST_TEST(pools_separately(Sequential{Conv2D<8, 3, 3>{}, ReLU{}, MaxPooling2D<2, 2>{}}, in));
  BOOST_TEST(!(fuses<ThreadContext, Conv2D<8, 3, 3, ReLU>, MaxPooling2D<3, 3, Strides<2, 2>>>));
  BOOST_TEST(!(fuses<ThreadContext, Conv2D<8, 3, 3, ReLU>, MaxPooling2D<2, 2, Same>>));
  BOOST_TEST(!(fuses<ThreadContext, Conv2D<8, 3, 3, Softmax>, MaxPooling2D<2, 2>>));
  BOOST_TEST(!(fuses<Space, Conv2D<8, 3, 3, ReLU>, MaxPooling2D<2, 2>>));
}
