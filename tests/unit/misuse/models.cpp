#include "support/misuse.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/layers/embedding.hpp"
#include "trireme/layers/flatten.hpp"
#include "trireme/losses/sparse_categorical_crossentropy.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/tensor/xtensor.hpp"

namespace trireme::test {

using Strategy = MultiWorkerMirroredStrategy<>;
using Rows = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;

auto classifier(Strategy const& strategy) {
  return compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, SGD{},
                 SparseCategoricalCrossentropy{.from_logits = true});
}

auto reader(Strategy const& strategy) { return compile(strategy, Sequential{Input<3>{}, Dense<4>{}}); }

auto samples() {
  return data::from_tensor_slices(xt::xarray<float>(xt::zeros<float>({12, 3})), std::vector<std::int32_t>(12, 1))
      .batch(GlobalBatch{4});
}

char const* const moved = "the model was moved from; use the model that it was moved to";

/// f on a thread of its own; what it throws is thrown here.
template <class F>
void on_another_thread(F const& f) {
  std::exception_ptr error;
  std::thread([&] {
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

Misuse const table[] = {
    {"fit_of_a_moved_model", moved,
     [](Environment& environment) {
       Strategy const strategy(environment.world());
       auto model = classifier(strategy);
       auto const other = std::move(model);
       fit(strategy, model, samples(), {.verbose = false});
     }},
    {"predict_of_a_moved_model", moved,
     [](Environment& environment) {
       Strategy const strategy(environment.world());
       auto model = reader(strategy);
       auto const other = std::move(model);
       predict(strategy, model, samples());
     }},
    {"weights_of_a_moved_model", moved,
     [](Environment& environment) {
       Strategy const strategy(environment.world());
       auto model = classifier(strategy);
       auto const other = std::move(model);
       model.weights("dense/kernel");
     }},
    {"view_assigned_other_extents", "a tensor of extents (3, 4) cannot be assigned values of extents (4,)",
     [](Environment& environment) {
       auto model = classifier(Strategy(environment.world()));
       model.weights_view("dense/kernel") = model.weights_view("dense/bias");
     }},
    {"infer_of_columns", "the inputs of infer have to lie row by row without gaps (LayoutRight)",
     [](Environment& environment) {
       auto model = classifier(Strategy(environment.world()));
       Kokkos::View<float**, Kokkos::LayoutLeft, Kokkos::HostSpace> const in("in", 2, 3);
       model.infer(in, Rows("out", 2, 4));
     }},
    {"predictor_of_other_extents", "samples of a tensor have the extents (5,), but the model takes (3,)",
     [](Environment& environment) {
       auto const predictor = reader(Strategy(environment.world())).predictor();
       predictor.predict(xt::xarray<float>(xt::zeros<float>({2, 5})));
     }},
    {"predictor_of_a_part_of_a_row", "7 inputs were given, which are no whole rows of 3",
     [](Environment& environment) {
       auto const predictor = reader(Strategy(environment.world())).predictor();
       predictor.predict(std::vector<float>(7));
     }},
    {"predictor_of_an_unknown_word", "input 9 of sample 1 of a tensor is outside of the vocabulary [0, 9)",
     [](Environment& environment) {
       auto const model =
           compile(Strategy(environment.world()), Sequential{Input<2>{}, Embedding<9, 2>{}, Flatten{}, Dense<1>{}});
       model.predictor().predict(std::vector<float>{1, 2, 9, 3});
     }},
#ifndef NDEBUG
    {"two_threads_on_one_model", "'infer' was called while another thread is in 'fit' of the same model",
     [](Environment& environment) {
       Strategy const strategy(environment.world());
       auto model = classifier(strategy);
       LambdaCallback const meanwhile{.on_epoch_end = [&](auto const&) {
         on_another_thread([&] { model.infer(Rows("in", 2, 3), Rows("out", 2, 4)); });
       }};
       fit(strategy, model, samples(), {.verbose = false}, meanwhile);
     }},
#endif
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
