#include "support/misuse.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "trireme/callbacks/lambda_callback.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/compile.hpp"
#include "trireme/data/from_tensor_slices.hpp"
#include "trireme/fit.hpp"
#include "trireme/layers/dense.hpp"
#include "trireme/losses/mean_squared_error.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/optimizers/sgd.hpp"
#include "trireme/strategies/data_parallel/mirrored.hpp"
#include "trireme/strategies/data_parallel/multi_worker_mirrored.hpp"
#include "trireme/strategies/data_parallel/one_device.hpp"

namespace trireme::test {

using Strategy = MultiWorkerMirroredStrategy<>;

auto line(Strategy const& strategy) {
  return compile(strategy, Sequential{Input<2>{}, Dense<1>{}}, SGD{}, MeanSquaredError{});
}

void nothing(Environment&) {}

Misuse const table[] = {
    {"deadline_of_0",
     "EnvironmentOptions::deadline is 0 ms, and has to be above 0",
     nothing,
     1,
     {.threads = 1, .deadline = std::chrono::milliseconds(0)}},
    {"negative_patience",
     "EnvironmentOptions::patience is -1 ms, and has to be above 0",
     nothing,
     1,
     {.threads = 1, .patience = std::chrono::milliseconds(-1)}},
    {"status_directory_missing",
     "no_such_folder/below: cannot be used, for the status records of the run",
     nothing,
     1,
     {.threads = 1, .status_directory = "no_such_folder/below"}},
    {"exception_of_two_lines", "rank 0: the disk is gone: ask for another",
     [](Environment& environment) {
       if (environment.world().rank() == 0) throw std::runtime_error("the disk is gone:\nask for another\n");
       environment.world().barrier();
     }},
    {"environments_crossed",
     "an Environment ended before one that was made later",
     nullptr,
     1,
     {},
     [](int& argc, char**& argv) {
       auto first = std::make_unique<Environment>(argc, argv);
       Environment const second(argc, argv);
       first.reset();
     }},
    {"model_outlives_environment",
     "1 compiled model, predictor or snapshot outlives the Environment",
     nullptr,
     1,
     {},
     [](int& argc, char**& argv) {
       std::optional<decltype(line(std::declval<Strategy const&>()))> model;
       Environment const environment(argc, argv, {.threads = 1});
       Strategy const strategy(environment.world());
       model.emplace(line(strategy));
     }},
    {"predictor_outlives_environment",
     "1 compiled model, predictor or snapshot outlives the Environment",
     nullptr,
     1,
     {},
     [](int& argc, char**& argv) {
       std::optional<decltype(line(std::declval<Strategy const&>()).predictor())> predictor;
       Environment const environment(argc, argv, {.threads = 1});
       Strategy const strategy(environment.world());
       predictor.emplace(line(strategy).predictor());
     }},
    {"snapshot_outlives_environment",
     "1 compiled model, predictor or snapshot outlives the Environment",
     nullptr,
     1,
     {},
     [](int& argc, char**& argv) {
       Snapshot kept;
       Environment const environment(argc, argv, {.threads = 1});
       Strategy const strategy(environment.world());
       auto model = line(strategy);
       xt::xarray<float> const x = xt::ones<float>({2, 2}), y = xt::ones<float>({2, 1});
       fit(strategy, model, data::from_tensor_slices(x, y).batch(GlobalBatch{2}), {.verbose = false},
           LambdaCallback{.on_train_end = [&](auto& run) {
             kept.take(run);
             Snapshot const copy = kept, dropped = std::move(kept);
             kept = copy;
           }});
     }},
    {"one_device_without_environment",
     "a strategy was made while Kokkos is not running",
     nullptr,
     1,
     {},
     [](int&, char**&) { OneDeviceStrategy<> const strategy; },
     1},
    {"mirrored_without_environment",
     "a strategy was made while Kokkos is not running",
     nullptr,
     1,
     {},
     [](int&, char**&) { MirroredStrategy<> const strategy(2); },
     1},
    {"communicator_without_environment",
     "a Communicator was made while MPI is not running",
     nullptr,
     1,
     {},
     [](int&, char**&) { Communicator const world(MPI_COMM_WORLD); },
     1},
    {"strategy_after_the_end",
     "a strategy was made after Kokkos had ended",
     nullptr,
     1,
     {},
     [](int& argc, char**& argv) {
       {
         Environment const environment(argc, argv, {.threads = 1});
       }
       OneDeviceStrategy<> const strategy;
     },
     1},
    {"model_after_the_end",
     "a compiled model was made after Kokkos had ended",
     nullptr,
     1,
     {},
     [](int& argc, char**& argv) {
       std::optional<Strategy> strategy;
       {
         Environment const environment(argc, argv, {.threads = 1});
         strategy.emplace(environment.world());
       }
       line(*strategy);
     },
     1},
    {"message_after_the_end",
     "MPI_Ibarrier was to be called after MPI had ended",
     nullptr,
     1,
     {},
     [](int& argc, char**& argv) {
       std::optional<Communicator> world;
       {
         Environment const environment(argc, argv, {.threads = 1});
         world.emplace(environment.world().duplicate());
       }
       world->barrier();
     },
     1},
};

}  // namespace trireme::test

int main(int argc, char** argv) { return trireme::test::misuse(argc, argv, trireme::test::table); }
