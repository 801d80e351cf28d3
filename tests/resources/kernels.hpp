/// One epoch of a model, whose kernels scripts/kernel_resources.py reads.
#pragma once

#include <cstdint>

#include <trireme/trireme.hpp>

namespace resources {

template <class P = float, class Architecture, class Optimizer, class Loss, class Data, class... Callbacks>
void train(Architecture const& architecture, Optimizer const& optimizer, Loss const& loss, Data const& data,
           Callbacks... callbacks) {
  trireme::OneDeviceStrategy<Kokkos::DefaultExecutionSpace> const strategy({.fuse_steps = true});
  auto model = trireme::compile<P>(strategy, architecture, optimizer, loss, trireme::Accuracy{});
  trireme::fit(strategy, model, data, {.epochs = 1, .verbose = false}, callbacks...);
}

inline constexpr std::size_t rows = 64;
inline auto words() { return xt::xtensor<float, 2>(xt::ones<float>({rows, std::size_t{12}})); }
inline auto labels() { return xt::xtensor<std::int32_t, 1>(xt::zeros<std::int32_t>({rows})); }

void train_recurrent_models();

}  // namespace resources
