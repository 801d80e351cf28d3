/// Gradients that are sent with fewer bits: what a step leaves out is added to the next one's.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/models/description.hpp"
#include "trireme/mpi/all_to_all.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/gradients/dense_exchange.hpp"
#include "trireme/strategies/gradients/shared_gradients.hpp"
#include "trireme/strategies/gradients/top_k_exchange.hpp"

namespace trireme {

namespace detail {

template <class T, class Codec>
struct CodecExchange {
  static_assert(
      requires(Codec wire, T value) {
        static_cast<T>(wire);
        static_cast<Codec>(value);
      },
      "trireme: Compressed takes the number type that travels, such as BFloat16, or a codec with an Exchange<T>, such "
      "as TopK");
  using type = DenseExchange<T, Codec>;
};
template <class T, class Codec>
  requires requires { typename Codec::template Exchange<T>; }
struct CodecExchange<T, Codec> {
  using type = typename Codec::template Exchange<T>;
};

}  // namespace detail

/// For a single process: nothing is sent, and nothing is left out.
template <class T, class Space, class Group, class Codec>
class CompressedGradients {
  static_assert(!Group::distributed);

 public:
  /// Exchange of a process that is alone.
  CompressedGradients(Group const&, Space const&, ModelDescription const&, Codec const&) {}
  SharedGradients<T, Space>* shared() { return nullptr; }
  void begin(T*) {}
  GradientSink<T>* sink() { return nullptr; }
  void finish() {}
  std::string placement() const { return "not at all"; }
};

/// The gradient exchange of a DataParallel (GradientBuckets sums them uncompressed). Over all steps, the sums that were
/// applied and the ranks' residuals add up to the gradients. States are sent uncompressed.
template <class T, class Space, class Codec>
class CompressedGradients<T, Space, Communicator, Codec> {
  using Exchange = typename detail::CodecExchange<T, Codec>::type;
  static constexpr bool on_host = std::is_same_v<typename Space::memory_space, Kokkos::HostSpace>;
  using LoopSpace = std::conditional_t<on_host, Space, Kokkos::DefaultHostExecutionSpace>;

 public:
  /// Exchange among the ranks of a communicator, with residuals of zero.
  CompressedGradients(Communicator const& communicator, Space const& space, ModelDescription const& model,
                      Codec const& codec)
      : communicator_(&communicator),
        space_(space),
        codec_(codec),
        exchange_(communicator, codec, model.elements),
        states_(communicator),
        residual_(model.elements),
        state_sums_(communicator.size() * model.state_elements),
        state_elements_(model.state_elements) {
    if constexpr (on_host)
      loop_ = Loop{space, static_cast<std::size_t>(space.concurrency())};
    else
      stage_.resize(model.reduced_elements());
  }

  SharedGradients<T, Space>* shared() { return nullptr; }
  void begin(T* gradients) { gradients_ = gradients; }
  GradientSink<T>* sink() { return nullptr; }

  /// Gradients become sums over all processes. Collective.
  void finish() {
    if (communicator_->size() > 1)
      on_host_arena([this](T* arena) { sum(arena); });
    else if (std::exchange(carries_, false))
      on_host_arena([this](T* arena) { add_left_out(arena); });
  }

  /// True if one process alone has the residuals that several had before, and adds them to its next step.
  bool carries() const { return carries_; }

  /// The residual of this process by element of the arena: the gradients that it has left out so far.
  std::span<T> residual() { return residual_; }
  /// A readable description of what the order of the sums depends on.
  std::string placement() const { return formatted("{} bytes a step, compressed", contribution()); }
  /// The residuals of all processes. Collective.
  template <class Archive>
  void state(Archive& archive) {
    archive.summands("left_out", *communicator_, residual_, std::max<std::size_t>(1, residual_.size()));
    archive("carries", carries_);
    if (archive.resumes()) carries_ = archive.moved() && communicator_->size() == 1;
  }

  /// Payload of all messages of this process so far.
  std::uint64_t bytes_sent() const { return exchange_.bytes_sent() + states_.bytes_sent(); }
  /// Bytes that a process contributes to the sums of one step.
  std::size_t contribution() const {
    return Exchange::contribution(codec_, residual_.size()) + state_elements_ * sizeof(T);
  }

 private:
  struct Loop {
    LoopSpace space{};
    std::size_t threads = static_cast<std::size_t>(space.concurrency());
    template <class Kernel>
    void operator()(char const* label, Kernel const& kernel) const {
      detail::host_loop(space, threads, label, kernel.blocks(), kernel);
      space.fence(tool_label(label));
    }
  };

  /// f(arena of the gradients in host memory), which may change them.
  template <class F>
  void on_host_arena(F const& f) {
    ProfilingRegion const region("trireme::CompressedGradients::finish");
    if constexpr (on_host) {
      space_.fence(tool_label("trireme: gradients complete before they are sent"));
      f(gradients_);
    } else {
      auto const device = space_view<Space>(gradients_, stage_.size());
      auto const host = host_view(stage_);
      copy_view(space_, host, device);
      space_.fence(tool_label("trireme: gradients complete before they are sent"));
      f(stage_.data());
      copy_view(space_, device, host);
    }
  }

  void add_left_out(T* arena) {
    for (std::size_t i = 0; i < residual_.size(); ++i) arena[i] += std::exchange(residual_[i], T{0});
  }

  void sum(T* arena) {
    exchange_.sum(loop_, arena, residual_.data());
    if (state_elements_ == 0) return;
    constexpr int states = 3;
    T* const own = arena + residual_.size();
    states_.gather(std::span<T const>(own, state_elements_), std::span<T>(state_sums_), states);
    states_.wait();
    for (std::size_t i = 0; i < state_elements_; ++i) {
      own[i] = 0;
      for (std::size_t rank = 0; rank < states_.ranks(); ++rank) own[i] += state_sums_[rank * state_elements_ + i];
    }
  }

  Communicator const* communicator_;
  Space space_;
  Codec codec_;
  Exchange exchange_;
  AllToAll states_;
  std::vector<T> residual_;
  std::vector<T> state_sums_;
  std::size_t state_elements_;
  std::vector<T> stage_;
  Loop loop_{};
  T* gradients_ = nullptr;
  bool carries_ = false;
};

}  // namespace trireme
