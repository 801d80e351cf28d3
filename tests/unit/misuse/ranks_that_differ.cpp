// ranks: 2
#include "support/misuse.hpp"

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "trireme/trireme.hpp"

// Ranks that were given different models, numbers or calls, as programs of several executables may be.
namespace trireme::test {

using World = MultiWorkerMirroredStrategy<>;

auto small(World const& strategy, SGD const& optimizer = {}, CompileOptions const& options = {}) {
  return compile(strategy, Sequential{Input<3>{}, Dense<4>{}}, optimizer, MeanSquaredError{}, options);
}

auto samples() {
  static xt::xtensor<float, 2> const x = xt::zeros<float>({8, 3}), y = xt::ones<float>({8, 4});
  return data::from_tensor_slices(x, y).batch(GlobalBatch{4});
}

/// Two trainings of which rank 1 has the second.
template <class First, class Second>
void either(Environment& environment, First const& first, Second const& second) {
  World const strategy(environment.world());
  if (environment.world().rank() == 1)
    second(strategy);
  else
    first(strategy);
}

template <class Architecture, class Loss = MeanSquaredError, class... Metrics>
auto compiles(Architecture architecture, Loss loss = {}, Metrics... metrics) {
  return [=](World const& strategy) { compile(strategy, architecture, SGD{}, loss, metrics...); };
}

auto fits(FitOptions options, std::size_t patience = 1) {
  return [=](World const& strategy) {
    auto model = small(strategy);
    FitOptions quiet = options;
    quiet.verbose = false;
    fit(strategy, model, samples(), quiet, EarlyStopping<"loss">{.patience = patience});
  };
}

template <class... Validations>
auto fits_with(Validations... validations) {
  return [=](World const& strategy) {
    auto model = small(strategy);
    fit(strategy, model, samples(), validations..., {.verbose = false});
  };
}

auto steps(std::size_t rows, float value = 0, double weight = 1) {
  return [=](World const& strategy) {
    auto model = small(strategy);
    xt::xtensor<float, 2> x = xt::zeros<float>({rows, std::size_t{3}});
    x(0, 0) = value;
    xt::xtensor<float, 2> const y = xt::ones<float>({rows, std::size_t{4}});
    model.train_on_batch(x, y, std::vector<double>(rows, weight));
  };
}

/// A step on arrays of a tuple with so many samples each.
auto step_on_parts(std::size_t first, std::size_t second) {
  return [=](World const& strategy) {
    auto model = compile(strategy, Sequential{Inputs{Input<1>{}, Input<2>{}}, Concatenate{}, Dense<4>{}}, SGD{},
                         MeanSquaredError{});
    xt::xtensor<float, 2> const a = xt::zeros<float>({first, std::size_t{1}}),
                                b = xt::zeros<float>({second, std::size_t{2}});
    xt::xtensor<float, 2> const y = xt::ones<float>({first, std::size_t{4}});
    model.train_on_batch(std::tie(a, b), y);
  };
}

template <class F>
Misuse differs(char const* name, char const* says, F run) {
  return {name, says, run, 2};
}

Misuse const table[] = {
    differs("learning_rates", "compile: rank 1 has SGD::learning_rate 0.1 where rank 0 has 0.01",
            [](Environment& e) {
              World const strategy(e.world());
              small(strategy, {.learning_rate = e.world().rank() == 1 ? 0.1 : 0.01});
            }),
    differs("seeds", "compile: rank 1 has seed 1 where rank 0 has 0",
            [](Environment& e) {
              World const strategy(e.world());
              small(strategy, {}, {.seed = e.world().rank()});
            }),
    differs("names", "compile: rank 1 has layer 'b' Dense<4> where rank 0 has layer 'a' Dense<4>",
            [](Environment& e) {
              World const strategy(e.world());
              auto const* const name = e.world().rank() == 1 ? "b" : "a";
              compile(strategy, Sequential{Input<3>{}, Dense<4>{.name = name}}, SGD{}, MeanSquaredError{});
            }),
    differs("numbers_of_one_rank_alone", "on rank 1: SGD::learning_rate is -1, which is outside of [0, inf)",
            [](Environment& e) {
              World const strategy(e.world());
              small(strategy, {.learning_rate = e.world().rank() == 1 ? -1 : 1});
            }),
    differs("architectures_of_one_size", "compile: rank 1 has layer 'dense' Dense<4, ReLU> where rank 0 has Dense<4>",
            [](Environment& e) {
              either(e, compiles(Sequential{Input<3>{}, Dense<4>{}}),
                     compiles(Sequential{Input<3>{}, Dense<4, ReLU>{}}));
            }),
    differs("architectures_of_other_sizes", "compile: rank 1 has layer 'dense' Dense<5> where rank 0 has Dense<4>",
            [](Environment& e) {
              either(e, compiles(Sequential{Input<3>{}, Dense<4>{}}), compiles(Sequential{Input<3>{}, Dense<5>{}}));
            }),
    differs("losses", "compile: rank 1 has the loss Huber where rank 0 has MeanSquaredError",
            [](Environment& e) {
              either(e, compiles(Sequential{Input<3>{}, Dense<4>{}}),
                     compiles(Sequential{Input<3>{}, Dense<4>{}}, Huber{}));
            }),
    differs("metrics", "compile: rank 1 has the logs loss, binary_accuracy where rank 0 has loss",
            [](Environment& e) {
              either(e, compiles(Sequential{Input<3>{}, Dense<4>{}}),
                     compiles(Sequential{Input<3>{}, Dense<4>{}}, MeanSquaredError{}, BinaryAccuracy{}));
            }),
    differs("models_that_share_a_layer",
            "compile: rank 1 has the number of models that share layer 'common' 1 where rank 0 has 0",
            [](Environment& e) {
              World const strategy(e.world());
              OneDeviceStrategy<> const alone;
              Shared const layer{Dense<4>{.name = "common"}};
              auto const make = [&](auto const& any) {
                return compile(any, Sequential{Input<3>{}, layer}, SGD{}, MeanSquaredError{});
              };
              std::vector<decltype(make(alone))> earlier;
              if (e.world().rank() == 1) earlier.push_back(make(alone));
              make(strategy);
            }),
    differs("weights_of_a_shared_layer",
            "compile: rank 1 has the weights that layer 'common' shares (3, 4), (4,) where rank 0 has none",
            [](Environment& e) {
              World const strategy(e.world());
              Shared const layer{Dense<4>{.name = "common"}};
              auto const make = [&](auto const& any) {
                compile(any, Sequential{Input<3>{}, layer}, SGD{}, MeanSquaredError{});
              };
              if (e.world().rank() == 1) make(OneDeviceStrategy<>());
              make(strategy);
            }),
    differs("shared_layers", "compile: rank 1 has layer 'dense' Dense<4> where rank 0 has Shared<",
            [](Environment& e) {
              either(e, compiles(Sequential{Input<3>{}, Shared{Dense<4>{}}}),
                     compiles(Sequential{Input<3>{}, Dense<4>{}}));
            }),
    differs("epochs", "fit: rank 1 has FitOptions::epochs 2 where rank 0 has 1",
            [](Environment& e) { either(e, fits({.epochs = 1}), fits({.epochs = 2})); }),
    differs("validation", "fit: rank 1 has data for training alone where rank 0 has training and validation",
            [](Environment& e) { either(e, fits_with(validation(samples())), fits_with()); }),
    differs("class_weights", "fit: rank 1 has FitOptions::class_weight 2 numbers where rank 0 has 0 numbers",
            [](Environment& e) { either(e, fits({}), fits({.class_weight = {1, 2}})); }),
    differs("callbacks", "fit: rank 1 has the argument History where rank 0 has TerminateOnNaN",
            [](Environment& e) {
              auto const with = [](auto callback) {
                return [=](World const& strategy) {
                  auto model = small(strategy);
                  fit(strategy, model, samples(), {.verbose = false}, std::decay_t<decltype(callback)>(callback));
                };
              };
              either(e, with(TerminateOnNaN{}), with(History{}));
            }),
    differs("numbers_of_callbacks", "fit: rank 1 has EarlyStopping::patience 2 where rank 0 has 1",
            [](Environment& e) { either(e, fits({}, 1), fits({}, 2)); }),
    differs("calls", "fit: rank 1 has the call evaluate where rank 0 has fit",
            [](Environment& e) {
              either(e, fits({}), [](World const& strategy) {
                auto model = small(strategy);
                evaluate(strategy, model, samples());
              });
            }),
    differs("rows_of_a_batch", "train_on_batch: rank 1 has samples 5 where rank 0 has 4",
            [](Environment& e) { either(e, steps(4), steps(5)); }),
    differs("parts_of_a_batch", "the arrays of a tuple (a tensor, a tensor) hold different numbers of samples: 4, 3",
            [](Environment& e) { either(e, step_on_parts(4, 4), step_on_parts(4, 3)); }),
    differs("content_of_a_batch", "train_on_batch: rank 1 has the checksum of the inputs",
            [](Environment& e) { either(e, steps(4), steps(4, 1)); }),
    differs("weights_of_a_batch", "train_on_batch: rank 1 has the checksum of the sample weights",
            [](Environment& e) { either(e, steps(4), steps(4, 0, 2)); }),
    differs("strategies", "ParameterServerStrategy: rank 1 has ParameterServerOptions::staleness 1 where rank 0 has 0",
            [](Environment& e) { ParameterServerStrategy<>(e.world(), {.staleness = e.world().rank()}); }),
    differs("buckets", "compile: rank 1 has MultiWorkerMirroredStrategy::bucket_bytes 1 where rank 0 has 0",
            [](Environment& e) {
              World const strategy(e.world(), {}, e.world().rank());
              small(strategy);
            }),
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
