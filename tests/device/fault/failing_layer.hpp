/// A model on a device with a layer that fails in the middle of a step, where kernels wait in the device's queue and
/// other ranks for gradients.
#pragma once

#include "support/device.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trireme/trireme.hpp"

namespace trireme::test {

/// Hands its input on; calls `fail` in the fourth step.
struct FailingLayer {
  std::function<void()> fail;
  std::size_t* steps;

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if (f.training && ++*steps == 4) fail();
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

inline void train_until_rank_1_fails(Communicator const& world, std::function<void()> const& fail) {
  MultiWorkerMirroredStrategy<Device> const strategy(world, test::device(1 + world.rank()));
  xt::xtensor<float, 2> const x = xt::zeros<float>({20, 3});
  std::vector<std::int32_t> const y(20, 1);
  std::size_t steps = 0;
  FailingLayer const layer{[&] {
                             if (world.rank() == 1) fail();
                           },
                           &steps};
  auto model = compile(strategy, Sequential{Input<3>{}, Dense<4>{}, layer, Dense<10>{}}, SGD{},
                       SparseCategoricalCrossentropy{.from_logits = true});
  fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{6}), {.epochs = 3, .verbose = false});
}

}  // namespace trireme::test
