// expect evaluate_without_batches: trireme: fit, evaluate and predict take samples in batches
// expect evaluate_arrays: trireme: fit, evaluate and predict take a dataset, not arrays
// expect evaluate_options_forgotten: trireme: evaluate takes options before the callbacks
// expect evaluate_strategy_forgotten: trireme: fit, evaluate and predict take the strategy before the model
// expect evaluate_const_model: trireme: fit, evaluate and predict change the model that they are given
// expect evaluate_validation: trireme: validation(data) stands behind the training data in fit
// expect predict_without_batches: trireme: fit, evaluate and predict take samples in batches
// expect predict_arrays: trireme: fit, evaluate and predict take a dataset, not arrays
// expect predict_strategy_forgotten: trireme: fit, evaluate and predict take the strategy before the model
// expect predict_const_model: trireme: fit, evaluate and predict change the model that they are given
// expect predict_model_behind_data: trireme: fit, evaluate and predict take a model that compile(strategy, ...)
// returned
// expect infer_of_vectors: trireme: infer takes Views in memory of the strategy's execution space, infer(in, out)
// expect infer_without_outputs: trireme: infer takes Views in memory of the strategy's execution space, infer(in, out)
// expect infer_of_another_scalar: trireme: infer takes Views of the model's scalar type
// expect predictor_infer_of_pointers: trireme: infer of a predictor takes two arrays of the model's scalar type
// expect predictor_infer_of_another_scalar: trireme: infer of a predictor takes two arrays of the model's scalar type
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/callbacks/early_stopping.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace tr = trireme;

struct PrintEnd {
  template <class Run>
  void on_test_end(Run&) {}
  template <class Run>
  void on_predict_end(Run&) {}
};

void test(std::vector<float> const& x, std::vector<float> const& y) {
  tr::OneDeviceStrategy<> const strategy;
  auto model = tr::compile(strategy, tr::Sequential{tr::Input<1>{}, tr::Dense<1>{}}, tr::SGD{}, tr::MeanSquaredError{});
  [[maybe_unused]] auto const& fixed = model;
  auto const samples = tr::data::from_tensor_slices(x, y);
  auto const data = samples.batch(tr::GlobalBatch{4});
  [[maybe_unused]] Kokkos::View<float* [1], Kokkos::LayoutRight, Kokkos::HostSpace> const in("in", 3);
  [[maybe_unused]] Kokkos::View<double* [1], Kokkos::LayoutRight, Kokkos::HostSpace> const doubles("doubles", 3);
#if defined(misuse_evaluate_without_batches)
  tr::evaluate(strategy, model, samples);
#elif defined(misuse_evaluate_arrays)
  tr::evaluate(strategy, model, x, y);
#elif defined(misuse_evaluate_options_forgotten)
  tr::evaluate(strategy, model, data, PrintEnd{});
#elif defined(misuse_evaluate_strategy_forgotten)
  tr::evaluate(model, data);
#elif defined(misuse_evaluate_const_model)
  tr::evaluate(strategy, fixed, data);
#elif defined(misuse_evaluate_validation)
  tr::evaluate(strategy, model, tr::validation(data));
#elif defined(misuse_predict_without_batches)
  tr::predict(strategy, model, samples);
#elif defined(misuse_predict_arrays)
  tr::predict(strategy, model, x);
#elif defined(misuse_predict_strategy_forgotten)
  tr::predict(model, data);
#elif defined(misuse_predict_const_model)
  tr::predict(strategy, fixed, data);
#elif defined(misuse_predict_model_behind_data)
  tr::predict(strategy, data, model);
#elif defined(misuse_infer_of_vectors)
  std::vector<float> out(x.size());
  model.infer(x, out);
#elif defined(misuse_infer_without_outputs)
  model.infer(in);
#elif defined(misuse_infer_of_another_scalar)
  model.infer(doubles, in);
#elif defined(misuse_predictor_infer_of_pointers)
  model.predictor().infer(in.data(), in.data());
#elif defined(misuse_predictor_infer_of_another_scalar)
  model.predictor().infer(doubles, in);
#else
  model.infer(in, in);
  model.predictor().infer(x, in);
  tr::evaluate(strategy, model, data);
  tr::evaluate(strategy, model, data, {.verbose = true}, PrintEnd{});
  PrintEnd print;
  tr::evaluate(strategy, model, data, {}, print);
  tr::predict(strategy, model, data);
  tr::predict(strategy, model, data, PrintEnd{}, print);
#endif
}
