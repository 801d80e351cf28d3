// Data parallelism over MPI ranks, to be run under mpiexec: cases ddp_mlp_b32 ddp_cnn_b64 ddp_wide_b256, whose number
// is the global batch. Each is timed as ranks of one node train; then a line tells what overlaps where they exchange
// messages, as ranks of several nodes do.
#include "workloads.hpp"

namespace {

namespace tr = trireme;

/// Trains a few steps over messages and prints how much of the time that gradients were under way was hidden.
template <class Architecture, class Optimizer>
void show_overlap(tr::Communicator const& world, Architecture const& architecture, Optimizer const& optimizer,
                  std::string const& name, bench::Options const& options) {
  tr::MultiWorkerMirroredStrategy<> const strategy(world, {}, 0, tr::Exchange::messages);
  std::size_t const batch = bench::batch_of(name), steps = 8;
  // Backward tells of its buckets under the parallelism within operators; one region a step has them all at its end.
  auto model = tr::compile(strategy, architecture, optimizer, tr::SparseCategoricalCrossentropy{.from_logits = true},
                           tr::Accuracy{}, tr::CompileOptions{.seed = 1, .parallelism = options.parallelism});
  std::vector<std::size_t> extents{batch * 2};
  for (std::size_t extent : model.description().input) extents.push_back(extent);
  auto const data = bench::labelled(extents);
  auto const batches = tr::data::from_tensor_slices(data.x, data.y).batch(tr::GlobalBatch{batch});
  auto const train = [&] {
    tr::fit(strategy, model, batches.repeat(), tr::FitOptions{.epochs = 1, .steps_per_epoch = steps, .verbose = false});
  };
  train();
  tr::ExchangeTimes times;
  auto& buckets = model.engine().synchronization();
  buckets.measure(&times);
  train();
  buckets.measure(nullptr);
  double const scale = 1e6 / static_cast<double>(std::max<std::size_t>(1, times.steps));
  if (world.is_chief())
    fmt::print(
        "{{\"overlap\": \"{}\", \"communication_us\": {:.1f}, \"exposed_us\": {:.1f}, \"hidden\": {:.3f}, "
        "\"buckets\": {}, \"bucket_bytes\": {}, \"why\": \"an eighth of {} bytes of gradients, at least a megabyte, "
        "cut between parameters\"}}\n",
        name, times.under_way * scale, times.in_calls * scale, times.hidden(), buckets.count(), buckets.bucket_bytes(),
        model.description().elements * sizeof(float));
}

}  // namespace

int main(int argc, char** argv) {
  tr::Environment environment(argc, argv);
  auto const options = bench::parse(argc, argv, "Times training steps of several MPI ranks");
  tr::MultiWorkerMirroredStrategy<> const strategy(environment.world());
  for (auto const& name : options.cases) {
    auto const is = [&](char const* start) { return name.rfind(start, 0) == 0; };
    auto const run = [&](auto const& architecture, auto const& optimizer) {
      bench::train_classifier(strategy, architecture, optimizer, name, options);
      show_overlap(environment.world(), architecture, optimizer, name, options);
    };
    if (is("ddp_mlp"))
      run(bench::mlp(), tr::Adam{.learning_rate = 1e-3});
    else if (is("ddp_cnn"))
      run(bench::cnn(), tr::Adam{.learning_rate = 1e-3});
    else if (is("ddp_wide"))
      run(bench::wide(), tr::SGD{.learning_rate = 1e-3, .momentum = 0.9});
    else
      throw tr::ValueError(fmt::format("there is no case '{}'", name));
  }
}
