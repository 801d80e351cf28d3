// expect: trireme: compile takes layers with an optimizer and a loss, or a model of your own
#include "trireme/compile.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/own_model.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

using namespace trireme;

struct Line : OwnModel<double, SGD, MeanSquaredError> {
  Line() : OwnModel({.parameters = {{"slope", 1}}}, SGD{}, MeanSquaredError{}) {}
  void initialize(std::span<double> arena) const { arena[0] = 1; }
  template <class Context>
  std::size_t workspace_bytes(std::size_t) const {
    return 0;
  }
#ifndef TRIREME_MUST_FAIL
  template <class Context>
  void predict(Context&, std::size_t, double const*, double*, double const*, std::byte*) const {}
#endif
  template <class Context>
  void train(Context&, Slice<double, double> const&, PerOutput<1> const&, double const*, double*, std::byte*, double*,
             StepKeys const&, GradientSink<double>*) const {}
  template <class Context>
  void test(Context&, Slice<double, double> const&, double const*, std::byte*, double*) const {}
};

void compile_model() { compile(OneDeviceStrategy<>(), Line()); }
