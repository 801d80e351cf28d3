/// StepFuser: training steps of small perceptrons on a device, each as one kernel and one that adds up its teams'
/// gradients.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/head.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/strategies/engine/dense_chain.hpp"
#include "trireme/strategies/engine/dense_chain_step.hpp"

namespace trireme {

/// True if steps of a replica can be fused, as far as types say: in one process, on a device, those of chains of Dense
/// layers.
template <class Model, class Space, class Group>
inline constexpr bool may_fuse_steps = false;
template <class Model, class Space>
  requires(!is_host_space<Space> && DenseChainModel<Model>)
inline constexpr bool may_fuse_steps<Model, Space, SingleProcess> = true;

/// Fuser of steps of a replica that may not be fused.
template <class Model, class Space, class Group>
class StepFuser {
 public:
  /// Fuses steps from now on, if that is possible.
  void start(Model const&, Space const&) { started_ = true; }
  /// True if steps are fused.
  static constexpr bool active() { return false; }
  /// A readable description, empty before `start`.
  std::string text() const {
    return started_ ? ", steps not fused: only those of a Sequential of Dense layers with element-wise activations in "
                      "one number type, of one process on a CUDA or HIP device, are"
                    : "";
  }
  /// None.
  static constexpr bool train(auto const&...) { return false; }
  static constexpr std::size_t memory_bytes(Model const&, std::size_t) { return 0; }
  /// Adds none.
  static constexpr void list_addresses(std::vector<std::uint64_t>&) {}

 private:
  bool started_ = false;
};

/// Fuser of steps with the memory of their teams. It fuses none before `start`.
template <class Model, class Space, class Group>
  requires may_fuse_steps<Model, Space, Group>
class StepFuser<Model, Space, Group> {
  using T = typename Model::scalar;
  using L = typename Model::label;
  using Chain = DenseChain<Model, Space>;
  using Numbers = Kokkos::View<T*, typename Space::memory_space>;
  using Sums = Kokkos::View<double*, typename Space::memory_space>;

 public:
  /// Fuses steps from now on, if that is possible.
  void start(Model const& model, Space const&) {
    started_ = true;
    std::size_t const needed = Chain::least_bytes(model);
    auto const most = static_cast<std::size_t>(Kokkos::TeamPolicy<Space>::scratch_size_max(0));
    if (!Chain::takes_vectors(model))
      obstacle_ = "a Dense layer takes more than one vector of a sample";
    else if (needed > most)
      obstacle_ =
          formatted("weights and activations take {} bytes of the {} that threads of a block share", needed, most);
  }
  /// True if steps are fused.
  bool active() const { return started_ && obstacle_.empty(); }
  /// A readable description, empty before `start`.
  std::string text() const {
    if (!started_) return {};
    return active() ? ", steps fused" : ", steps not fused: " + obstacle_;
  }

  /// Forward, loss and backward: gradients of scale * sum of losses, and for each element of the arena update(i). False
  /// if steps are not fused, or there are no rows; then nothing is done. Such a model has no states.
  template <class Update = kernels::NoChainUpdate>
  bool train(SpaceContext<Space> const& context, Model const& model, Slice<T, L> const& slice,
             PerOutput<1> const& scales, T const* parameters, T* gradients, double* totals, Update const& update = {}) {
    if (!active() || slice.rows == 0) return false;
    auto const division = Chain::division(model, slice.rows);
    std::size_t const elements = model.description().elements;
    reserve(context.space(), division.teams, elements);
    context.for_teams("trireme::fused_step",
                      Chain::step(model, division, slice, scales, parameters, gradients_.data(), totals_.data()),
                      division.teams, kernels::chain_threads, kernels::chain_lanes);
    kernels::ChainSums<T, Update, Space> const sums{
        update, division.teams, elements, Model::totals_width, gradients_.data(), totals_.data(), gradients, totals};
    context.for_teams("trireme::fused_step_sums", sums, sums.league(), kernels::chain_threads, kernels::chain_lanes);
    return true;
  }

  /// Bytes of the teams' sums for batches of up to `rows` rows.
  std::size_t memory_bytes(Model const& model, std::size_t rows) const {
    if (!active() || rows == 0) return 0;
    return Chain::division(model, rows).teams *
           (model.description().elements * sizeof(T) + Model::totals_width * sizeof(double));
  }
  /// Adds the addresses of memory that kernels use, which may move when it grows.
  void list_addresses(std::vector<std::uint64_t>& all) const {
    all.push_back(reinterpret_cast<std::uintptr_t>(gradients_.data()));
    all.push_back(reinterpret_cast<std::uintptr_t>(totals_.data()));
  }

 private:
  /// Padding of the arena, of which no team stores gradients, stays 0.
  void reserve(Space const& space, std::size_t teams, std::size_t elements) {
    if (teams <= teams_) return;
    gradients_ = make_view<Numbers>(space, "trireme::team_gradients", teams * elements);
    totals_ = make_view<Sums>(space, "trireme::team_totals", teams * Model::totals_width);
    teams_ = teams;
  }

  std::string obstacle_;
  bool started_ = false;
  std::size_t teams_ = 0;
  Numbers gradients_;
  Sums totals_;
};

}  // namespace trireme
