/// PjrtStrategy, TPUStrategy and MultiWorkerPjrtStrategy: the training step as one compiled program, on any device of a
/// PJRT plugin.
///
/// Not among the headers of trireme.hpp: it needs the PJRT header and protozero (CMake: TRIREME_WITH_PJRT), and the
/// plugin at run time. See docs/tpu.md.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/pjrt/runtime/client.hpp"
#include "trireme/pjrt/runtime/program_cache.hpp"
#include "trireme/pjrt/runtime/tpu.hpp"
#include "trireme/pjrt/strategy/pjrt_engine.hpp"
#include "trireme/pjrt/strategy/tpu_pod.hpp"

namespace trireme {

/// `PjrtStrategy{.plugin = "pjrt_c_api_cpu_plugin.so", .replicas = 2}`: one process whose client drives the devices of
/// the replicas. With `.shards = 4` each replica has four devices, which divide the weights of Dense, Conv2D,
/// Embedding, MultiHeadAttention, LSTM and GRU, with the optimizer's state; what does not divide lies on each.
struct PjrtStrategy {
  using Space = Kokkos::DefaultHostExecutionSpace;  ///< of the host's side: `infer` takes Views there
  template <class Model>
  using Engine = PjrtEngine<Model, SingleProcess>;

  std::string plugin;                                 ///< path of the shared library
  std::size_t replicas = 1;                           ///< of the model, each with rows of a batch; 0: for all devices
  std::size_t shards = 1;                             ///< devices of a replica, which divide weights
  std::vector<pjrt::ClientOption> options{};          ///< of the client, which are the plugin's own
  std::string cache = pjrt::default_program_cache();  ///< folder for compiled programs; empty: none
  bool in_tpu_pod = false;                            ///< true: check the processes against the environment's TPU pod

  SingleProcess const& group() const {
    static SingleProcess const single;
    return single;
  }

  /// \throws PluginError of one sentence, if the plugin cannot be loaded or has too few devices; ValueError if the
  /// processes are not those of the pod, or a replica has no device
  template <class Model>
  Engine<Model> build(Model model, Parallelism = Parallelism::automatic) const {
    return place_in<Model>(std::move(model), std::make_shared<SingleProcess const>());
  }

  /// Engine of this process within a group, for strategies of several processes. Collective.
  template <class Model, class Group>
  PjrtEngine<Model, Group> place_in(Model model, std::shared_ptr<Group const> group) const {
    auto client = group->together([&] {
      if (auto const pod = in_tpu_pod ? launch::tpu_pod() : std::nullopt)
        launch::require_ranks(*pod, group->rank(), group->size());
      if (shards == 0) throw ValueError("a replica of PjrtStrategy needs one device or more, and shards is 0");
      return pjrt::open_client(plugin, options, replicas, shards);
    });
    std::size_t const count = replicas == 0 ? client->devices().size() / shards : replicas;
    return {std::move(model), std::move(group), std::move(client), count, shards, cache};
  }
};

/// All TPUs of this host (or `tpus` of them, `per_replica` for each replica): PjrtStrategy with libtpu as its plugin,
/// from $TPU_LIBRARY_PATH or the dynamic linker's path. In a pod of several hosts: MultiWorkerPjrtStrategy(world,
/// TPUStrategy()).
struct TPUStrategy : PjrtStrategy {
  /// \throws ValueError if `tpus` is no multiple of `per_replica`
  explicit TPUStrategy(std::size_t tpus = 0, std::size_t per_replica = 1)
      : PjrtStrategy{.plugin = pjrt::tpu_library(),
                     .replicas = replicas_on(tpus, per_replica),
                     .shards = per_replica,
                     .in_tpu_pod = true} {
    pjrt::spare_the_search_for_tpus();
  }

 private:
  static std::size_t replicas_on(std::size_t tpus, std::size_t per_replica) {
    if (per_replica == 0 || tpus % per_replica != 0)
      throw ValueError(formatted("{} TPUs are no replicas of {} each", tpus, per_replica));
    return tpus / per_replica;
  }
};

/// Data parallelism over the ranks of a communicator, each with a client of its own; MPI sums gradients, counts and
/// metrics.
class MultiWorkerPjrtStrategy {
 public:
  using Space = PjrtStrategy::Space;
  template <class Model>
  using Engine = PjrtEngine<Model, Communicator>;

  /// Collective. `local`: the plugin and the replicas of each rank.
  MultiWorkerPjrtStrategy(Communicator const& communicator, PjrtStrategy local)
      : group_(std::make_shared<Communicator>(communicator.duplicate())), local_(std::move(local)) {}

  Communicator const& group() const { return *group_; }

  template <class Model>
  Engine<Model> build(Model model, Parallelism = Parallelism::automatic) const {
    return local_.place_in<Model>(std::move(model), group_);
  }

 private:
  SharedHandle<Communicator const> group_;
  PjrtStrategy local_;
};

}  // namespace trireme
