// expect forward: trireme: a layer needs forward(context, in, f) const
// expect forward_of_before: trireme: a layer needs forward(context, in, f) const
// expect saved_without_template: trireme: a layer declares what it keeps for backward in saved<T, Context>(in, rows)
// expect workspace_of_before: trireme: a layer declares what it keeps for backward in saved<T, Context>(in, rows)
// expect backward: trireme: a layer needs backward(context, in, b) const
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace tr = trireme;

struct Hand {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
#if defined(misuse_saved_without_template)
  template <class In>
  constexpr auto saved(In const& in, std::size_t rows) const {
    return std::array{tr::SavedTensor{rows * in.size()}};
  }
#elif defined(misuse_workspace_of_before)
  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    return rows * in.size() * sizeof(T);
  }
#endif
#if defined(misuse_forward_of_before)
  template <class Context, class In, class T>
  void forward(Context&, In const&, tr::ForwardPass<T> const&) const {}
#elif !defined(misuse_forward)
  template <class Context, class In, class T>
  void forward(Context&, In const&, tr::Forward<T> const&) const {}
#endif
#if !defined(misuse_backward)
  template <class Context, class In, class T>
  void backward(Context&, In const&, tr::Backward<T> const&) const {}
#endif
};

void train(xt::xarray<float> const& x) {
  auto model = tr::compile(tr::OneDeviceStrategy<>(), tr::Sequential{tr::Input<4>{}, Hand{}, tr::Dense<2>{}}, tr::SGD{},
                           tr::MeanSquaredError{});
  model.train_on_batch(x, x);
}
