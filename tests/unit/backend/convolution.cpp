/// Convolutions in each way against sums written out in double: windows, sizes and channels around the edges of tiles,
/// vectors and blocks.
#define BOOST_TEST_MODULE backend_convolution
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <ostream>
#include <vector>

#include <trireme/backend/convolution/convolution.hpp>
#include <trireme/backend/execution/space_context.hpp>
#include <trireme/backend/execution/thread_context.hpp>
#include <trireme/layers/gradient.hpp>

#include "support/kokkos_fixture.hpp"
#include "support/numbers.hpp"

namespace tr = trireme;
using trireme::test::numbers;
using AllThreads = tr::SpaceContext<Kokkos::DefaultHostExecutionSpace>;

namespace {

struct Shape {
  std::size_t rows, height, width, channels, filters;
  std::size_t kernel_height = 3, kernel_width = 3, stride = 1, dilation = 1;
  bool same = true;

  tr::Window2D window() const {
    return {tr::window_axis(height, kernel_height, stride, dilation, same),
            tr::window_axis(width, kernel_width, stride, dilation, same), channels};
  }
};

std::ostream& operator<<(std::ostream& out, Shape const& s) {
  return out << s.rows << " of " << s.height << " x " << s.width << " x " << s.channels << " to " << s.filters
             << ", window " << s.kernel_height << " x " << s.kernel_width << ", stride " << s.stride << ", dilation "
             << s.dilation << (s.same ? ", same" : ", valid");
}

/// Operands, and the three results in double.
template <class T>
struct Problem {
  Shape shape;
  tr::Window2D w = shape.window();
  std::size_t outputs = shape.rows * w.positions() * shape.filters, taps = w.taps() * w.channels * shape.filters;
  std::vector<T> x = numbers<T>(shape.rows * w.input_size(), 1), kernel = numbers<T>(taps, 2),
                 dy = numbers<T>(outputs, 3);
  std::vector<double> y = std::vector<double>(outputs), dx = std::vector<double>(x.size()),
                      gradient = std::vector<double>(taps);

  explicit Problem(Shape const& s) : shape(s) {
    auto const rows = static_cast<std::ptrdiff_t>(w.height.in), columns = static_cast<std::ptrdiff_t>(w.width.in);
    for (std::size_t position = 0; position < s.rows * w.positions(); ++position) {
      std::size_t const sample = position / w.positions(), line = position % w.positions() / w.width.out,
                        column = position % w.width.out;
      for (std::size_t tap = 0; tap < w.taps(); ++tap) {
        auto const i = static_cast<std::ptrdiff_t>(line * s.stride + tap / s.kernel_width * s.dilation) -
                       static_cast<std::ptrdiff_t>(w.height.padding);
        auto const j = static_cast<std::ptrdiff_t>(column * s.stride + tap % s.kernel_width * s.dilation) -
                       static_cast<std::ptrdiff_t>(w.width.padding);
        if (i < 0 || j < 0 || i >= rows || j >= columns) continue;
        std::size_t const pixel = sample * w.input_size() + static_cast<std::size_t>(i * columns + j) * w.channels;
        for (std::size_t c = 0; c < w.channels; ++c)
          for (std::size_t k = 0; k < s.filters; ++k) {
            std::size_t const at = (tap * w.channels + c) * s.filters + k, out = position * s.filters + k;
            auto const left = static_cast<double>(x[pixel + c]), weight = static_cast<double>(kernel[at]),
                       slope = static_cast<double>(dy[out]);
            y[out] += left * weight;
            dx[pixel + c] += slope * weight;
            gradient[at] += slope * left;
          }
      }
    }
  }
};

/// Largest difference over the largest exact value.
template <class T>
double error_of(std::vector<T> const& values, std::vector<double> const& exact) {
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    auto const value = static_cast<double>(values[i]);
    difference = std::isfinite(value) ? std::max(difference, std::abs(value - exact[i]))
                                      : std::numeric_limits<double>::infinity();
    if (!std::isfinite(difference)) break;
    largest = std::max(largest, std::abs(exact[i]));
  }
  return difference / largest;
}

/// Rounding of sums of `terms` products; in double as exact as the sums that they are compared with.
template <class T>
double tolerance(std::size_t terms) {
  return sizeof(T) == sizeof(double)
             ? 1e-13
             : 2 * static_cast<double>(std::numeric_limits<T>::epsilon()) * std::sqrt(static_cast<double>(terms));
}

/// Memory of exactly so many bytes, aligned as an arena's.
struct Memory {
  explicit Memory(std::size_t bytes)
      : begin(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{tr::arena_alignment}))) {}
  Memory(Memory const&) = delete;
  Memory& operator=(Memory const&) = delete;
  ~Memory() { ::operator delete(begin, std::align_val_t{tr::arena_alignment}); }
  std::byte* begin;
};

/// The results of a way, from memory that held no number.
template <class T>
struct Results {
  static constexpr T nothing = std::numeric_limits<T>::quiet_NaN();
  std::vector<T> y, dx, gradient;

  template <class Way>
  Results(Problem<T> const& p, std::size_t workspace, Way const& way)
      : y(p.y.size(), nothing), dx(p.dx.size(), nothing), gradient(p.gradient.size(), nothing) {
    Memory const memory(workspace);
    way(*this, tr::Workspace(memory.begin));
  }
  void check(Problem<T> const& p) const {
    BOOST_TEST(error_of(y, p.y) <= tolerance<T>(p.w.taps() * p.w.channels));
    BOOST_TEST(error_of(dx, p.dx) <= tolerance<T>(p.w.taps() * p.shape.filters));
    BOOST_TEST(error_of(gradient, p.gradient) <= tolerance<T>(p.shape.rows * p.w.positions()));
  }
};

/// A way whose steps are members.
template <class Way, class T, class Context>
Results<T> results_of(Context& context, Problem<T> const& p, std::size_t workspace) {
  return Results<T>(p, workspace, [&](Results<T>& r, tr::Workspace memory) {
    std::size_t const rows = p.shape.rows;
    Way const way(p.w, p.shape.filters, memory);
    way.forward(context, rows, p.x.data(), p.kernel.data(), r.y.data());
    way.input_gradient(context, rows, p.kernel.data(), p.dy.data(), r.dx.data());
    way.kernel_gradient(context, rows, p.x.data(), p.dy.data(), r.gradient.data());
  });
}

/// The chosen way.
template <class T, class Context>
Results<T> chosen_results(Context& context, Problem<T> const& p) {
  std::size_t const rows = p.shape.rows, filters = p.shape.filters;
  return Results<T>(
      p, tr::convolution_workspace<T, Context>(p.w, filters, rows), [&](Results<T>& r, tr::Workspace memory) {
        tr::convolution(context, p.w, filters, rows, p.x.data(), p.kernel.data(), r.y.data(), memory);
        tr::convolution_backward(context, p.w, filters, rows, p.x.data(), p.kernel.data(), p.dy.data(),
                                 tr::Gradient<T>(r.gradient.data(), r.gradient.size(), nullptr), r.dx.data(), memory);
      });
}

template <class T>
bool same_bits(Results<T> const& a, Results<T> const& b) {
  return a.y == b.y && a.dx == b.dx && a.gradient == b.gradient;
}

template <class F>
void for_numbers(Shape const& shape, F const& f) {
  BOOST_TEST_CONTEXT("float: " << shape) f(Problem<float>(shape));
  BOOST_TEST_CONTEXT("double: " << shape) f(Problem<double>(shape));
}

Shape const small_images[] = {{1, 4, 4, 16, 16}, {1, 1, 1, 1, 1},
                              {2, 3, 5, 3, 7},   {3, 7, 7, 5, 70},
                              {1, 5, 8, 33, 17}, {2, 6, 5, 4, 9, 3, 3, 1, 1, false},
                              {5, 2, 9, 70, 3},  {1, 3, 3, 130, 66, 3, 3, 1, 1, false}};

}  // namespace

BOOST_AUTO_TEST_CASE(winograd_gives_the_sums_of_the_direct_convolution_on_one_thread_and_on_all) {
  AllThreads all;
  tr::ThreadContext one;
  auto const check = [&]<class T>(Problem<T> const& p) {
    using Way = tr::detail::WinogradConvolution<T>;
    std::size_t const workspace = Way::workspace(p.w, p.shape.filters, p.shape.rows);
    Results<T> const results = results_of<Way, T>(one, p, workspace);
    results.check(p);
    BOOST_TEST(same_bits(results, results_of<Way, T>(all, p, workspace)));
  };
  for (Shape const& shape : small_images) for_numbers(shape, check);
  // Several blocks of tiles and groups of sums, with more tiles than filters and with fewer.
  for_numbers({9, 16, 15, 4, 6}, check);
  for_numbers({4, 10, 10, 3, 140}, check);
}

BOOST_AUTO_TEST_CASE(blocks_of_patches_give_the_sums_of_the_direct_convolution_on_one_thread_and_on_all) {
  AllThreads all;
  tr::ThreadContext one;
  auto const check = [&]<class T>(Problem<T> const& p) {
    using Way = tr::detail::PatchConvolution<T>;
    std::size_t const workspace = Way::workspace(p.w, p.shape.filters);
    Results<T> const results = results_of<Way, T>(one, p, workspace);
    results.check(p);
    BOOST_TEST(same_bits(results, results_of<Way, T>(all, p, workspace)));
  };
  for (Shape const& shape : small_images) for_numbers(shape, check);
  for (bool const same : {false, true}) {
    for_numbers({2, 9, 8, 3, 5, 3, 3, 2, 1, same}, check);
    for_numbers({1, 8, 11, 24, 6, 3, 2, 3, 1, same}, check);  // pixels without a tap
    for_numbers({2, 9, 10, 2, 3, 2, 3, 1, 2, same}, check);   // taps apart
    for_numbers({2, 11, 12, 2, 3, 3, 3, 2, 2, same}, check);  // of which one stride in two has none
    for_numbers({2, 13, 13, 2, 3, 3, 3, 2, 3, same}, check);
    for_numbers({3, 15, 18, 2, 3, 3, 3, 4, 6, same}, check);
    for_numbers({3, 7, 6, 100, 9, 1, 1, 2, 1, same}, check);
    for_numbers({3, 1, 40, 20, 12, 1, 5, 1, 1, same}, check);
  }
}

BOOST_AUTO_TEST_CASE(the_chosen_way_gives_the_sums_of_the_direct_convolution) {
  AllThreads all;
  tr::ThreadContext one;
  auto const check = [&]<class T>(Problem<T> const& p) {
    chosen_results<T>(one, p).check(p);
    chosen_results<T>(all, p).check(p);
  };
  for_numbers({3, 8, 7, 16, 20}, check);
  for_numbers({1, 2, 2, 16, 16}, check);
  for_numbers({4, 9, 9, 3, 8}, check);
  for_numbers({20, 5, 12, 1, 3, 5, 5}, check);
  for_numbers({2, 9, 9, 5, 6, 3, 3, 2}, check);
  for_numbers({2, 5, 6, 5, 6, 1, 1}, check);
  for_numbers({2, 9, 9, 5, 6, 3, 3, 1, 2}, check);
}

BOOST_AUTO_TEST_CASE(the_workspace_for_a_batch_is_enough_for_a_smaller_one) {
  for (Shape const& shape : {Shape{40, 7, 7, 16, 16}, Shape{40, 5, 5, 64, 300}, Shape{40, 8, 8, 200, 16},
                             Shape{40, 9, 9, 8, 8, 3, 3, 2}, Shape{40, 12, 12, 4, 8, 5, 5}}) {
    tr::Window2D const w = shape.window();
    for (std::size_t rows = 1; rows < shape.rows; ++rows) BOOST_TEST_CONTEXT(shape << ", " << rows << " rows") {
        BOOST_TEST((tr::convolution_workspace<float, AllThreads>(w, shape.filters, rows) <=
                    tr::convolution_workspace<float, AllThreads>(w, shape.filters, rows + 1)));
        BOOST_TEST((tr::convolution_workspace<double, tr::ThreadContext>(w, shape.filters, rows) <=
                    tr::convolution_workspace<double, tr::ThreadContext>(w, shape.filters, rows + 1)));
      }
  }
}

BOOST_AUTO_TEST_CASE(winograd_is_chosen_where_transforms_are_paid_back_by_the_products) {
  using Way = tr::detail::WinogradConvolution<float>;
  auto const pays = [](Shape const& s) { return Way::pays(s.window(), s.filters, s.rows); };
  BOOST_TEST(pays({32, 32, 32, 64, 64}));
  BOOST_TEST(pays({1, 8, 8, 16, 16}));
  BOOST_TEST(!pays({32, 32, 32, 3, 64}));               // few channels
  BOOST_TEST(!pays({32, 32, 32, 64, 1}));               // few filters
  BOOST_TEST(!pays({1, 4, 4, 64, 64}));                 // few tiles
  BOOST_TEST(!pays({64, 1, 1, 64, 64}));                // tiles beyond the image
  BOOST_TEST(!pays({32, 32, 32, 64, 64, 3, 3, 2}));     // another stride,
  BOOST_TEST(!pays({32, 32, 32, 64, 64, 3, 3, 1, 2}));  // dilation
  BOOST_TEST(!pays({32, 32, 32, 64, 64, 5, 5}));        // or window
}
