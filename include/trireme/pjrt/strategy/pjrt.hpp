/// PjrtStrategy, TPUStrategy and MultiWorkerPjrtStrategy: the training step as one compiled program, on whatever device
/// a PJRT plugin drives.
///
/// Not among the headers of trireme.hpp: it needs the PJRT header and protozero (CMake: TRIREME_WITH_PJRT), and the
/// plugin when the program runs. See docs/tpu.md.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/plan.hpp"
#include "trireme/core/shared_handle.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/single_process.hpp"
#include "trireme/pjrt/runtime/client.hpp"
#include "trireme/pjrt/runtime/program_cache.hpp"
#include "trireme/pjrt/runtime/tpu.hpp"
#include "trireme/pjrt/strategy/pjrt_part.hpp"
#include "trireme/pjrt/strategy/tpu_pod.hpp"

namespace trireme {

/// `PjrtStrategy{.plugin = "pjrt_c_api_cpu_plugin.so", .replicas = 2}`: one process whose client drives the devices of
/// the replicas.
struct PjrtStrategy {
  using Space = Kokkos::DefaultHostExecutionSpace;  ///< of the host's side: `infer` takes Views there
  template <class Model>
  using Part = PjrtPart<Model, SingleProcess>;

  std::string plugin;                                 ///< path of the shared library
  std::size_t replicas = 1;                           ///< devices to use; 0: all that there are
  std::vector<pjrt::ClientOption> options{};          ///< of the client, which are the plugin's own
  std::string cache = pjrt::default_program_cache();  ///< folder for compiled programs; empty: none
  bool in_tpu_pod = false;                            ///< whether the environment's TPU pod is the processes' own

  SingleProcess const& group() const {
    static SingleProcess const single;
    return single;
  }

  /// \throws PluginError of one sentence, where the plugin cannot be loaded or has too few devices; ValueError where
  /// the processes are not those of the pod
  template <class Model>
  Part<Model> place(Model model, Plan = Plan::automatic) const {
    return place_in<Model>(std::move(model), std::make_shared<SingleProcess const>());
  }

  template <class Model, class Group>
  PjrtPart<Model, Group> place_in(Model model, std::shared_ptr<Group const> group) const {
    auto client = group->together([&] {
      if (auto const pod = in_tpu_pod ? launch::tpu_pod() : std::nullopt)
        launch::require_ranks(*pod, group->rank(), group->size());
      return pjrt::open_client(plugin, options, replicas);
    });
    std::size_t const count = replicas == 0 ? client->devices().size() : replicas;
    return {std::move(model), std::move(group), std::move(client), count, cache};
  }
};

/// All TPUs of this host: PjrtStrategy with libtpu as its plugin, from $TPU_LIBRARY_PATH or where the dynamic linker
/// looks. In a pod of several hosts: MultiWorkerPjrtStrategy(world, TPUStrategy()).
struct TPUStrategy : PjrtStrategy {
  explicit TPUStrategy(std::size_t tpus = 0)
      : PjrtStrategy{.plugin = pjrt::tpu_library(), .replicas = tpus, .in_tpu_pod = true} {
    pjrt::spare_the_search_for_tpus();
  }
};

/// Every rank of a communicator has a client of its own; gradients, counts and metrics are summed with MPI.
class MultiWorkerPjrtStrategy {
 public:
  using Space = PjrtStrategy::Space;
  template <class Model>
  using Part = PjrtPart<Model, Communicator>;

  /// Collective. `local`: the plugin and the replicas of each rank.
  MultiWorkerPjrtStrategy(Communicator const& communicator, PjrtStrategy local)
      : group_(std::make_shared<Communicator>(communicator.duplicate())), local_(std::move(local)) {}

  Communicator const& group() const { return *group_; }

  template <class Model>
  Part<Model> place(Model model, Plan = Plan::automatic) const {
    return local_.place_in<Model>(std::move(model), group_);
  }

 private:
  SharedHandle<Communicator const> group_;
  PjrtStrategy local_;
};

}  // namespace trireme
