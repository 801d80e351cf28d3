// Products on a device that records, in float: by the vendor's library and in tiles of either extent, for some
// divisions of the depth, and as trireme chooses. Prints a line for each: microseconds of one of many in a recording,
// the least of a few runs.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/format.h>
#include <Kokkos_Core.hpp>
#include <trireme/trireme.hpp>

namespace {

namespace tr = trireme;
using Space = Kokkos::DefaultExecutionSpace;
using Context = tr::SpaceContext<Space>;
using tr::detail::GemmDivision;

struct Case {
  char const* name;
  std::size_t m, n, k;
  bool transpose_a = false, transpose_b = false, with_bias = false;
  std::size_t count = 1;  ///< of products, one behind the other
};

constexpr Case cases[] = {
    {"first layer", 32, 128, 784, false, false, true},
    {"first layer", 512, 128, 784, false, false, true},
    {"classes", 32, 10, 128, false, false, true},
    {"classes", 512, 10, 128, false, false, true},
    {"gradient, classes", 128, 10, 32, true},
    {"gradient, classes", 128, 10, 512, true},
    {"gradient, first", 784, 128, 32, true},
    {"gradient, first", 784, 128, 512, true},
    {"narrow layer", 256, 64, 64, false, false, true},
    {"gradient", 64, 64, 256, true},
    {"back", 256, 64, 64, false, true},
    {"narrow layer", 65536, 64, 64, false, false, true},
    {"gradient", 64, 64, 65536, true},
    {"gradient, three", 3, 64, 65536, true},
    {"back", 65536, 64, 64, false, true},
    {"vector", 65536, 1, 64, false, false, true},
    {"gates", 32, 512, 128, false, false, true},
    {"back, gates", 32, 128, 512, false, true},
    {"projection", 1024, 256, 256, false, false, true},
    {"wide projection", 1024, 1024, 256, false, false, true},
    {"back", 1024, 256, 1024, false, true},
    {"gradient", 256, 1024, 1024, true},
    {"scores", 64, 64, 64, false, true, false, 64},
    {"patches, one channel", 65536, 32, 9, false, false, true},
    {"patches", 16384, 64, 288, false, false, true},
    {"gradient, patches", 288, 64, 16384, true},
    {"patches, deep", 2048, 256, 2304, false, false, true},
    {"square", 1024, 1024, 1024, false, false, true},
    {"wide", 256, 4096, 4096, false, false, true},
};

using Numbers = Kokkos::View<float*, Space::memory_space>;
using Epilogue = tr::BiasActivationEpilogue<float, tr::ReLU>;

/// Microseconds of `enqueue()`, of which there are many in a recording.
template <class Enqueue>
double time_of(Space const& space, Enqueue const& enqueue) {
  constexpr int in_a_row = 40, runs = 6;
  enqueue();  // which allocates
  space.fence("first");
  tr::RecordedWork<Space> const recorded(space, [&] {
    for (int i = 0; i < in_a_row; ++i) enqueue();
  });
  double least = std::numeric_limits<double>::infinity();
  for (int run = 0; run < runs; ++run) {
    auto const begin = std::chrono::steady_clock::now();
    recorded.launch();
    space.fence("run");
    std::chrono::duration<double, std::micro> const taken = std::chrono::steady_clock::now() - begin;
    least = std::min(least, taken.count() / in_a_row);
  }
  return least;
}

/// The vendor's product and what comes behind it, where there is one.
template <class Blas, class Add, class Behind>
void by_library(Blas const& blas, Add const& add, Space const& space, tr::ProductBatch<float> const& batch,
                Behind const& behind) {
  if constexpr (!Blas::portable)
    add("library", [&] {
      blas.gemm(space, batch);
      behind();
    });
}

struct Fill {
  Numbers numbers;
  KOKKOS_FUNCTION void operator()(std::size_t i) const {
    numbers(i) = static_cast<float>(i * 2654435761u % 2039) / 1019.0f - 1.0f;
  }
};
Numbers numbers(Space const& space, char const* label, std::size_t count) {
  Numbers const made(label, count);
  Kokkos::parallel_for("fill", Kokkos::RangePolicy<Space>(space, 0, count), Fill{made});
  return made;
}

void measure(Case const& c) {
  Space const space = Space();
  tr::detail::DeviceBlas<Space> const blas(space);
  tr::detail::TeamMemory<Space> memory;
  Context context(space);
  Numbers const a = numbers(space, "a", c.m * c.k * c.count), b = numbers(space, "b", c.k * c.n * c.count),
                bias = numbers(space, "bias", c.n), y("y", c.m * c.n * c.count);
  tr::ProductBatch<float> const batch{.first = {.m = c.m,
                                                .n = c.n,
                                                .k = c.k,
                                                .a = a.data(),
                                                .lda = c.transpose_a ? c.m : c.k,
                                                .b = b.data(),
                                                .ldb = c.transpose_b ? c.k : c.n,
                                                .c = y.data(),
                                                .ldc = c.n,
                                                .transpose_a = c.transpose_a,
                                                .transpose_b = c.transpose_b},
                                      .count = c.count,
                                      .groups = {c.m * c.k, c.k * c.n, c.m * c.n}};
  Epilogue const epilogue{{}, bias.data(), y.data()};
  std::string line = fmt::format("{} {} x {} x {}", c.name, c.m, c.n, c.k);
  if (c.count > 1) line += fmt::format(", {} products", c.count);
  if (c.with_bias) line += ", bias and ReLU";
  auto const add = [&](std::string const& label, auto const& enqueue) {
    line += fmt::format("  {} {:.2f}", label, time_of(space, enqueue));
  };
  by_library(blas, add, space, batch, [&] {
    if (c.with_bias)
      tr::kernels::bias_activation(context, tr::ReLU{}, c.m, c.n, static_cast<float const*>(bias.data()), y.data(),
                                   y.data());
  });
  add("chosen", [&] {
    if (c.with_bias)
      tr::kernels::product_bias_activation(context, tr::ReLU{}, batch.first, static_cast<float const*>(bias.data()),
                                           y.data());
    else
      context.gemm_batch(batch);
  });
  for (std::uint32_t const extent : {GemmDivision::small_tile, GemmDivision::large_tile}) {
    std::uint32_t parts = 0;
    for (std::size_t const most : {1u, 2u, 3u, 4u, 6u, 8u, 12u, 16u, 32u, 64u, 128u, 256u}) {
      GemmDivision const division = tr::detail::divide_gemm(batch.first, extent, most);
      constexpr std::size_t most_teams = 1056;
      if (division.parts == parts || (most > 1 && division.tiles * division.parts * batch.size() > most_teams))
        continue;
      parts = division.parts;
      add(fmt::format("{}/{}", extent, parts), [&] {
        if (c.with_bias)
          tr::detail::tiled_gemm(space, memory, batch, division, epilogue);
        else
          tr::detail::tiled_gemm(space, memory, batch, division);
      });
    }
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  for (Case const& c : cases) measure(c);
}
