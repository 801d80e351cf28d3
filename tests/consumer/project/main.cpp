// A small program of a user: learns y = 2 x_0 - x_1 + 0.5, beside xtensor-blas, and ends with 0 if it has.
#include <cstddef>

#include <trireme/trireme.hpp>
#include <xtensor-blas/xlinalg.hpp>

namespace tr = trireme;

#ifdef CONSUMER_FOUND_VERSION
static_assert(tr::version() == CONSUMER_FOUND_VERSION);
#endif

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  tr::MultiWorkerMirroredStrategy<Kokkos::DefaultExecutionSpace> const strategy(environment.world());

  xt::xtensor<float, 2> x({256, 2});
  for (std::size_t i = 0; i < 256; ++i) {
    x(i, 0) = static_cast<float>(i % 16) / 16;
    x(i, 1) = static_cast<float>(i / 16) / 16;
  }
  xt::xtensor<float, 1> const slope{2, -1};
  xt::xtensor<float, 1> const targets = xt::linalg::dot(x, slope) + 0.5f;
  xt::xtensor<float, 2> const y = xt::reshape_view(targets, {256, 1});

  auto model = tr::compile(strategy, tr::Sequential{tr::Input<2>{}, tr::Dense<1>{}}, tr::Adam{.learning_rate = 0.05},
                           tr::MeanSquaredError{});
  auto const data = tr::data::from_tensor_slices(x, y).shuffle(256, 1).batch(tr::GlobalBatch{32});
  auto const history = tr::fit(strategy, model, data, {.epochs = 40, .verbose = false});
  return history["loss"].back() < 1e-4 ? 0 : 1;
}
