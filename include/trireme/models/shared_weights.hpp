/// Weights of layers that several models have in common, and how a change in one model reaches the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/models/weight_table.hpp"

namespace trireme::detail {

/// The newest values on the host, in Keras's order, and the models that hold them as well.
class SharedWeights {
 public:
  struct Tensor {
    std::string path;
    std::vector<std::size_t> extents;
    std::vector<double> values;  ///< of float or double, so that models of both share
  };
  /// A model that has the layer.
  struct Member {
    std::function<void(std::vector<Tensor> const&)> take;    ///< sets its weights. Collective over its processes
    std::function<void()> give;                              ///< those to the others. Collective
    std::function<std::vector<double>(std::size_t)> read;    ///< one of its tensors, as its member `weights` does
    std::function<void(char const* call)> require_together;  ///< throws while its processes go their own pace
    std::size_t processes = 1;
    bool reads_alone = true;  ///< one process may read
  };

  std::vector<Tensor> tensors;
  /// The model that has newer values than the tensors: one that trains, or whose call an error has ended.
  std::weak_ptr<Member> ahead;

  void join(std::shared_ptr<Member> const& member);
  std::vector<std::shared_ptr<Member>> members();
  /// The number of models that share the weights now.
  std::size_t models() const;

 private:
  std::vector<std::weak_ptr<Member>> members_;
};

ValueError not_reached(char const* call, std::string const& path, std::size_t others, std::size_t own);
/// \throws ValueError on all processes if a handle stands twice in the model
void require_shared_once(ModelDescription const& model);
/// \throws ShapeError on all processes if the handle has weights of other extents
void require_fit(std::vector<WeightInfo> const& weights, SharedWeights const& shared);

/// An engine whose weights can be read and set, whichever process holds them.
template <class Engine>
concept HoldsWeights = requires(Engine& engine, std::vector<typename Engine::T>& values) {
  engine.weights().host_values(std::size_t{}, std::size_t{});
  engine.weights().set_values(std::size_t{}, values);
};

/// The shared layers of one placed model.
template <class Engine>
class SharedLinks {
  using T = typename Engine::T;

 public:
  SharedLinks() = default;

  /// Takes the weights that other models gave the handles already, and gives those that no model gave. Collective.
  /// \throws ShapeError if the model's extents are not the handle's
  explicit SharedLinks(Engine& engine) : target_(std::make_shared<Engine*>(&engine)) {
    ModelDescription const& model = engine.model().description();
    require_shared_once(model);
    for (SharedLayers const& layers : model.shared) {
      Link link{layers.weights, std::make_shared<SharedWeights::Member>(), {}, false};
      for_each_weight(model, [&]<class Weight>(Weight const& weight) {
        if (weight.layer < layers.first || weight.layer >= layers.last) return;
        link.weights.push_back(weight);
        link.trains = link.trains || !std::is_same_v<Weight, FrozenInfo>;
      });
      prepare(link);
      if (link.shared->tensors.empty()) {
        collect(engine, *link.shared, link.weights);
      } else {
        require_fit(link.weights, *link.shared);
        settle(link, "compile");
        link.member->take(link.shared->tensors);
      }
      link.shared->join(link.member);
      links_.push_back(std::move(link));
    }
  }

  /// Gives the weights as they are now to the other models that share them. Collective.
  /// \param changed_only  of frozen layers only those that were set otherwise
  void publish(Engine& engine, bool changed_only) {
    for (Link& link : links_) {
      if (changed_only) take_newer(link);
      if (!changed_only || link.trains || link.shared->ahead.lock() == link.member)
        publish(engine, *link.shared, link.member.get(), link.weights);
    }
  }

  /// Throws where processes of another model go their own pace, so that `call`, of all, would hang. Local.
  void require_together(char const* call) const {
    for (Link const& link : links_)
      for (auto const& member : link.shared->members())
        if (member != link.member) member->require_together(call);
  }
  /// Gets the weights of a model that is ahead, before `call` uses or changes them. Collective.
  void settle(char const* call) const {
    if constexpr (requires { (*target_)->weights().apart(); })
      if (!links_.empty() && (*target_)->weights().apart()) return;  // no other model trains then
    for (Link const& link : links_) settle(link, call);
  }
  /// The same before a step of training. All processes know whether another model is ahead; this one is then.
  void begin_step() {
    for (Link& link : links_) {
      take_newer(link);
      if (link.trains) link.shared->ahead = link.member;
    }
  }
  /// Notes that weights were set that are not published. Local.
  void note_changed(bool trained_only) {
    for (Link& link : links_)
      if (!trained_only || link.trains) link.shared->ahead = link.member;
  }

  /// The weight's values in a model that is ahead, if there is one. Collective if reading a weight is.
  std::optional<std::vector<T>> newer(WeightInfo const& weight) const {
    for (Link const& link : links_)
      for (std::size_t i = 0; i < link.weights.size(); ++i) {
        auto const other = link.weights[i].offset == weight.offset ? ahead_of(link) : nullptr;
        if (!other) continue;
        require_reached(link, *other, "weights", other->reads_alone == link.member->reads_alone);
        return converted(other->read(i));
      }
    return {};
  }
  /// The same for all weights in an arena.
  void set_newer(std::vector<T>& arena) const {
    for (Link const& link : links_)
      for (WeightInfo const& weight : link.weights)
        if (auto const values = newer(weight))
          std::ranges::copy(*values, arena.begin() + static_cast<std::ptrdiff_t>(weight.offset));
  }

  /// The engine lies elsewhere now.
  void follow(Engine& engine) {
    if (target_) *target_ = &engine;
  }
  bool empty() const { return links_.empty(); }

 private:
  struct Link {
    std::shared_ptr<SharedWeights> shared;
    std::shared_ptr<SharedWeights::Member> member;
    std::vector<WeightInfo> weights;
    bool trains = false;
  };

  void prepare(Link& link) const {
    link.member->take = [target = target_, weights = link.weights](auto const& tensors) {
      set_all(**target, weights, tensors);
    };
    link.member->give = [target = target_, weights = link.weights, shared = link.shared, own = link.member.get()] {
      publish(**target, *shared, own, weights);
    };
    link.member->read = [target = target_, weights = link.weights](std::size_t i) {
      auto const values = (*target)->weights().host_values(weights[i].offset, weights[i].size);
      return std::vector<double>(values.begin(), values.end());
    };
    link.member->require_together = [target = target_](char const* call) {
      if constexpr (requires { (*target)->require_together(call); }) (*target)->require_together(call);
    };
    link.member->processes = (*target_)->group().size();
    link.member->reads_alone = !requires { requires Engine::divided; };
  }

  static void publish(Engine& engine, SharedWeights& shared, SharedWeights::Member const* own,
                      std::vector<WeightInfo> const& weights) {
    auto const members = shared.members();
    require_same_number(engine.group(), members.size(), path(weights));
    collect(engine, shared, weights);
    for (auto const& member : members)
      if (member.get() != own) member->take(shared.tensors);
    shared.ahead.reset();
  }

  /// Another model than this one, or null.
  static std::shared_ptr<SharedWeights::Member> ahead_of(Link const& link) {
    auto ahead = link.shared->ahead.lock();
    return ahead == link.member ? nullptr : ahead;
  }

  static std::string path(std::vector<WeightInfo> const& weights) {
    return weights.empty() ? std::string() : weights[0].path;
  }
  static void require_reached(Link const& link, SharedWeights::Member const& other, char const* call,
                              bool alike = true) {
    if (other.processes != link.member->processes || !alike)
      throw not_reached(call, path(link.weights), other.processes, link.member->processes);
  }

  static void take_newer(Link const& link) {
    auto const other = ahead_of(link);
    if (!other) return;
    require_reached(link, *other, "fit");
    other->give();
  }
  void settle(Link const& link, char const* call) const {
    auto const other = ahead_of(link);
    auto const members = link.shared->members();
    auto const& group = (*target_)->group();
    bool const reached = !other || other->processes == group.size();
    if (std::size_t const others = group.allreduce_max(reached ? std::size_t{0} : other->processes).value())
      raise_uniform(not_reached(call, path(link.weights), others, group.size()));
    std::size_t const own =
        other ? static_cast<std::size_t>(std::ranges::find(members, other) - members.begin()) + 1 : 0;
    std::size_t const number = group.allreduce_max(own).value();  // 0: no model is ahead
    if (number == 0) return;
    require_same_number(group, members.size(), path(link.weights));
    if (members[number - 1] != link.member) members[number - 1]->give();
  }

  static std::vector<T> converted(std::vector<double> const& values) {
    std::vector<T> result(values.size());
    std::ranges::transform(values, result.begin(), [](double value) { return static_cast<T>(value); });
    return result;
  }

  template <class Group>
  static void require_same_number(Group const& group, std::size_t models, std::string const& path) {
    if (group.allreduce_min(models).value() == group.allreduce_max(models).value()) return;
    std::vector<std::size_t> const all = group.allgather(models);
    auto const differs = std::ranges::find_if(all, [&](std::size_t number) { return number != all[0]; });
    raise_uniform(ValueError(formatted(
        "the layer of '{}' is Shared by {} model{} on rank 0 and by {} on rank {}: models that share layers are "
        "compiled, and end, on the same processes",
        path, all[0], all[0] == 1 ? "" : "s", *differs, differs - all.begin())));
  }

  static void collect(Engine& engine, SharedWeights& shared, std::vector<WeightInfo> const& weights) {
    auto& tensors = shared.tensors;
    tensors.resize(weights.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      WeightInfo const& weight = weights[i];
      auto const values = values_on_all(engine, weight.offset, weight.size);
      tensors[i] = {weight.path, weight.shape.to_vector(), {values.begin(), values.end()}};
    }
  }

  static void set_all(Engine& engine, std::vector<WeightInfo> const& weights,
                      std::vector<SharedWeights::Tensor> const& tensors) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      std::vector<T> values = converted(tensors[i].values);
      engine.weights().set_values(weights[i].offset, values);
    }
  }

  std::shared_ptr<Engine*> target_;
  std::vector<Link> links_;
};

/// Members of SharedLinks for engines whose weights cannot be set, and for models without Shared layers.
struct NoSharedLinks {
  static void publish(auto const&, bool) {}
  static void require_together(char const*) {}
  static void settle(char const*) {}
  static void begin_step() {}
  static void note_changed(bool) {}
  static void follow(auto const&) {}
  static constexpr bool empty() { return true; }
};

/// False where a model says that none of its layers is Shared.
template <class Model>
inline constexpr bool may_share_weights = true;
template <class Model>
  requires requires { Model::has_shared; }
inline constexpr bool may_share_weights<Model> = Model::has_shared;

template <class Engine>
using SharedLinksOf = std::conditional_t<HoldsWeights<Engine> && may_share_weights<typename Engine::Model>,
                                         SharedLinks<Engine>, NoSharedLinks>;

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/models/shared_weights.ipp"
#endif
