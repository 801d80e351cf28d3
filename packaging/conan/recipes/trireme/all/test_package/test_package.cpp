// Two ranks learn y = 2 x_0 - x_1 + 0.5 together; weights go through a file where the package has HDF5.
#include <cstddef>
#include <filesystem>

#include <fmt/format.h>
#include <trireme/trireme.hpp>

namespace tr = trireme;

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const& world = environment.world();
  tr::MultiWorkerMirroredStrategy<Kokkos::DefaultHostExecutionSpace> const strategy(world);

  xt::xtensor<float, 2> x({256, 2});
  xt::xtensor<float, 2> y({256, 1});
  for (std::size_t i = 0; i < 256; ++i) {
    x(i, 0) = static_cast<float>(i % 16) / 16;
    x(i, 1) = static_cast<float>(i / 16) / 16;
    y(i, 0) = 2 * x(i, 0) - x(i, 1) + 0.5f;
  }
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<2>{}, tr::Dense<1>{}}, tr::Adam{.learning_rate = 0.05},
                           tr::MeanSquaredError{});
  auto const data = tr::data::from_tensor_slices(x, y).shuffle(256, 1).batch(tr::GlobalBatch{32});
  auto const history = tr::fit(strategy, model, data, {.epochs = 40, .verbose = false});
  double const loss = history["loss"].back();
#ifdef TRIREME_HAVE_HDF5
  model.save_weights("test_package.weights.h5");
  model.load_weights("test_package.weights.h5");
#endif
  if (world.rank() == 0) {
    fmt::print("{}", tr::build_information());
    fmt::print("trireme {} on {} ranks: loss {:.2e}\n", tr::version(), world.size(), loss);
  }
  return world.size() == 2 && loss < 1e-4 ? 0 : 1;
}
