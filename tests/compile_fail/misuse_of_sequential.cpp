// expect optimizer_as_layer: trireme: a model is made of layers
// expect option_as_layer: trireme: a model is made of layers
// expect compiled_model_as_layer: trireme: a model is made of layers
// expect input_behind_layers: trireme: an Input stands at the beginning of a model alone
// expect number_as_layer: trireme: a model is made of layers
// expect name_as_layer: trireme: a model is made of layers
// expect optimizer_in_frozen: trireme: a model is made of layers
// expect optimizer_in_each: trireme: a model is made of layers
// expect optimizer_in_add: trireme: a model is made of layers
// expect optimizer_in_parallel: trireme: a model is made of layers
// expect name_of_an_activation: trireme: named<"name">(layer) takes a layer that has a member 'trireme::LayerName name'
#include "trireme/activations/relu.hpp"
#include "trireme/compile.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/branches.hpp"
#include "trireme/models/each.hpp"
#include "trireme/models/frozen.hpp"
#include "trireme/models/named.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/tuples.hpp"
#include "trireme/optimizers/adam.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace tr = trireme;

void make_model() {
  tr::OneDeviceStrategy<> const strategy;
#if defined(misuse_optimizer_as_layer)
  tr::Sequential const layers{tr::Input<1>{}, tr::Dense<1>{}, tr::Adam{}};
#elif defined(misuse_option_as_layer)
  tr::Sequential const layers{tr::Input<1>{}, tr::Dense<1>{}, tr::NoBias{}};
#elif defined(misuse_compiled_model_as_layer)
  auto model =
      tr::compile(strategy, tr::Sequential{tr::Input<1>{}, tr::Dense<1>{}}, tr::Adam{}, tr::MeanSquaredError{});
  tr::Sequential const layers{tr::Input<1>{}, model, tr::Dense<1>{}};
#elif defined(misuse_input_behind_layers)
  tr::Sequential const layers{tr::Input<1>{}, tr::Dense<1>{}, tr::Input<1>{}};
#elif defined(misuse_number_as_layer)
  tr::Sequential const layers{tr::Input<1>{}, 32, tr::Dense<1>{}};
#elif defined(misuse_name_as_layer)
  tr::Sequential const layers{tr::Input<1>{}, "relu", tr::Dense<1>{}};
#elif defined(misuse_optimizer_in_frozen)
  tr::Sequential const layers{tr::Input<1>{}, tr::Frozen{tr::Adam{}}};
#elif defined(misuse_optimizer_in_each)
  tr::Sequential const layers{tr::Inputs{tr::Input<1>{}, tr::Input<1>{}}, tr::Each{tr::Adam{}}, tr::Add{}};
#elif defined(misuse_optimizer_in_add)
  tr::Sequential const layers{tr::Input<1>{}, tr::Add{tr::Dense<1>{}, tr::Adam{}}};
#elif defined(misuse_optimizer_in_parallel)
  tr::Sequential const layers{tr::Inputs{tr::Input<1>{}, tr::Input<1>{}}, tr::Parallel{tr::Dense<1>{}, tr::Adam{}},
                              tr::Add{}};
#elif defined(misuse_name_of_an_activation)
  tr::Sequential const layers{tr::Input<1>{}, tr::Dense<1>{}, tr::named<"relu">(tr::ReLU{})};
#else
  tr::Sequential const layers{tr::Input<1>{}, tr::Dense<1>{}, tr::ReLU{},
                              tr::named<"frozen">(tr::Frozen{tr::Dense<1>{}}), tr::Add{tr::Dense<1>{}, tr::Skip{}}};
#endif
  tr::compile(strategy, layers, tr::Adam{}, tr::MeanSquaredError{});
}
