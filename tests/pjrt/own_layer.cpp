// A layer of a user's own becomes part of a program by a specialisation beside it, as docs/tpu.md shows.
#define BOOST_TEST_MODULE pjrt_own_layer
#include "support/kokkos_fixture.hpp"

#include "pjrt/training.hpp"
#include "trireme/activations/sigmoid.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/metrics/accuracy.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

namespace kernels_of_a_user {
template <class T>
struct Double {
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t i) const { y[i] = 2 * x[i]; }
};
}  // namespace kernels_of_a_user

struct Twice {
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    context.for_each("twice", f.rows * in.size(), kernels_of_a_user::Double<T>{f.x, f.y});
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) context.for_each("twice", b.rows * in.size(), kernels_of_a_user::Double<T>{b.dy, b.dx});
  }
};

template <>
struct trireme::lowering::LayerLowering<Twice> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, Twice const&, Value<T, E> const& x) {
    auto const y = trace.builder().scale(x, T{2});
    return Lowered{y, [](Trace<T>& t, Value<T, E> const& dy) { return t.builder().scale(dy, T{2}); }};
  }
};

BOOST_AUTO_TEST_CASE(a_users_layer_within_a_nested_model_trains_as_on_one_device) {
  auto const samples = test::mlp_samples<float>(50);
  auto const data = samples.data().batch(GlobalBatch{9});
  auto const make = [](auto const& strategy) {
    return compile(
        strategy,
        Sequential{Input<test::mlp_inputs>{},
                   Sequential{Dense<8, Tanh>{}, Twice{}, Dropout{.rate = 0.2f}, Reshape<2, 4>{}, Dense<3, Sigmoid>{}},
                   Flatten{}, Dropout{.rate = 0.1f}, ReLU{}, Dense<test::classes>{}},
        SGD{.learning_rate = 0.1}, SparseCategoricalCrossentropy{.from_logits = true, .ignore_class = 2}, Accuracy{});
  };
  auto const reference = test::run(OneDeviceStrategy<>(), make, data, data, 9);
  test::check_same_run(test::run(test::pjrt_strategy(2), make, data, data, 9), reference);
}
