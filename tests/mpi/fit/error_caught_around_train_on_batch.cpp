// ranks: 2 3   labels: fault   exit: error   says: no more
// One rank catches an error of a layer around train_on_batch and goes on alone; the others are still in train_on_batch.
#include "support/failing_fit.hpp"

#include <chrono>
#include <stdexcept>

#include "trireme/environment/environment.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"

using namespace trireme;

namespace {

bool refuses = false;

struct Refusing {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if (refuses) throw std::runtime_error("no more");
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), b.dy, b.dx);
  }
};

}  // namespace

int main(int argc, char** argv) {
  Environment environment(argc, argv, {.threads = 1, .patience = std::chrono::seconds(1)});
  auto const& world = environment.world();
  MultiWorkerMirroredStrategy<> const strategy(world);
  auto model = compile(strategy, Sequential{Input<3>{}, Dense<10>{}, Refusing{}}, SGD{},
                       SparseCategoricalCrossentropy{.from_logits = true});
  test::ZeroSamples const samples{20};
  refuses = world.rank() + 1 == world.size();
  test::catch_around([&] { model.train_on_batch(samples.x, samples.y); });
}
