// A LayerLowering that does not do what its layer's parameters need is named, before anything is compiled.
#define BOOST_TEST_MODULE lowering_gradients
#include <boost/test/unit_test.hpp>

#include <array>
#include <string>

#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/pjrt/lowering/model.hpp"

using namespace trireme;

/// y = x + shift, one number for each feature.
template <bool sets_gradient, int more_than_it_has>
struct Shift {
  static constexpr std::string_view class_name = "Shift";
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class In>
  constexpr auto parameters(In const& in) const {
    return std::array{ParameterShape{"shift", {in.back()}}};
  }
  Initializer initializer(std::size_t) const { return Zeros{}; }
  template <class Context, class In, class T>
  void forward(Context&, In const&, Forward<T> const&) const {}
  template <class Context, class In, class T>
  void backward(Context&, In const&, Backward<T> const&) const {}
};

template <bool sets_gradient, int more_than_it_has>
struct trireme::lowering::LayerLowering<Shift<sets_gradient, more_than_it_has>> {
  template <class T, class E>
  static auto forward(Trace<T>& trace, Shift<sets_gradient, more_than_it_has> const&, Value<T, E> const& x) {
    Builder& b = trace.builder();
    auto const shift = trace.parameter(back_of(x.extents));
    for (int i = 0; i < more_than_it_has; ++i) trace.parameter(back_of(x.extents));
    auto const y = b.add(x, b.along_back(shift.value, x.extents));
    return Lowered{y, [=](Trace<T>& t, Value<T, E> const& dy) {
                     if constexpr (sets_gradient) t.set_gradient(shift, t.builder().sum_to_back(dy));
                     return dy;
                   }};
  }
};

namespace {

template <class Layer>
lowering::Program train(Layer const& layer) {
  Sequential const layers{Input<4>{}, Dense<3>{}, layer};
  Model<float, std::decay_t<decltype(layers)>, SGD, MeanSquaredError> const model(layers, SGD{}, MeanSquaredError{}, 0);
  return lowering::ModelPrograms(model, 8, 1).train();
}

auto says(std::string const& text) {
  return [text](Error const& error) { return error.what() == text; };
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_gradient_that_a_layer_does_not_set_is_named) {
  BOOST_TEST(train(Shift<true, 0>{}).arguments.size() == 3u + 1 + 5);
  BOOST_CHECK_EXCEPTION(train(Shift<false, 0>{}), Error,
                        says("the LayerLowering of a layer sets no gradient for 'shift/shift'"));
}

BOOST_AUTO_TEST_CASE(parameters_beyond_those_of_the_model_are_refused) {
  BOOST_CHECK_EXCEPTION(train(Shift<true, 1>{}), Error,
                        says("a LayerLowering asks for more parameters than its layer says that it has"));
}
