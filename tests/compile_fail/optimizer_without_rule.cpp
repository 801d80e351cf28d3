// expect initial: trireme: an optimizer needs initial(slot), the first value of each of its slots
// expect step: trireme: an optimizer needs a template step<T>(iteration, rate) that returns the rule of a step
// expect call: trireme: what an optimizer's step<T>(iteration, rate) returns is called for element i
// expect tensor_sums_alone: trireme: a rule with tensor_sums needs add(i, weights, gradient, slots, sums) const
#include <cstddef>
#include <cstdint>

#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/schedules/rate.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace tr = trireme;

struct Descent {
  tr::Rate learning_rate = 0.1;
  constexpr std::size_t slots() const { return 0; }
#if !defined(misuse_initial)
  double initial(std::size_t) const { return 0; }
#endif
  template <class T>
  struct Rule {
    T rate;
#if defined(misuse_tensor_sums_alone)
    static constexpr std::size_t tensor_sums = 1;
#endif
#if defined(misuse_call)
    void operator()(T* w, T gradient) const { *w -= rate * gradient; }
#else
    void operator()(std::size_t i, T* w, T gradient, T* const*) const { w[i] -= rate * gradient; }
#endif
  };
#if defined(misuse_step)
  Rule<float> step(std::uint64_t, double rate) const { return {static_cast<float>(rate)}; }
#else
  template <class T>
  Rule<T> step(std::uint64_t, double rate) const {
    return {static_cast<T>(rate)};
  }
#endif
};

void train(xt::xarray<float> const& x) {
  auto model = tr::compile(tr::OneDeviceStrategy<>(), tr::Sequential{tr::Input<4>{}, tr::Dense<2>{}}, Descent{},
                           tr::MeanSquaredError{});
  model.train_on_batch(x, x);
}
