// 3-64-64-64-1 tanh, mean squared error, Adam: cases surrogate_b256 surrogate_b4096.
#include "workloads.hpp"

int main(int argc, char** argv) {
  namespace tr = trireme;
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of surrogate");
  tr::OneDeviceStrategy<> const strategy;
  for (auto const& name : options.cases) {
    std::size_t const batch = bench::batch_of(name);
    auto model = tr::compile(strategy, bench::surrogate(), tr::Adam{.learning_rate = 1e-3}, tr::MeanSquaredError{},
                             tr::CompileOptions{.seed = 1, .parallelism = options.parallelism});
    auto const data = bench::surface(batch * bench::distinct_batches(batch, 3));
    bench::train(strategy, model, tr::data::from_tensor_slices(data.x, data.y).batch(tr::GlobalBatch{batch}), name,
                 options);
  }
}
