/// Weights of layers that several models have in common, and how a change in one model reaches the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/models/description.hpp"
#include "trireme/models/state_file.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::detail {

/// The newest values on the host, in Keras's order, and the models that hold them as well.
class SharedWeights {
 public:
  struct Tensor {
    std::string path;
    std::vector<std::size_t> extents;
    std::vector<double> values;  ///< of float or double, so that models of both share
  };
  /// A model; its weights are set to the tensors. Collective over that model's processes.
  struct Member {
    std::function<void(std::vector<Tensor> const&)> take;
  };

  std::vector<Tensor> tensors;

  void join(std::shared_ptr<Member> const& member);
  std::vector<std::shared_ptr<Member>> members();
  /// The number of models that share the weights now.
  std::size_t models() const;

 private:
  std::vector<std::weak_ptr<Member>> members_;
};

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
    require_each_once(model);
    for (SharedLayers const& layers : model.shared) {
      Link link{layers.weights, std::make_shared<SharedWeights::Member>(), {}, false};
      for_each_weight(model, [&]<class Weight>(Weight const& weight) {
        if (weight.layer < layers.first || weight.layer >= layers.last) return;
        link.weights.push_back(weight);
        link.trains = link.trains || !std::is_same_v<Weight, FrozenInfo>;
      });
      link.member->take = [target = target_, weights = link.weights](auto const& tensors) {
        set_all(**target, weights, tensors);
      };
      if (link.shared->tensors.empty()) {
        collect(engine, link);
      } else {
        require_fit(link);
        link.member->take(link.shared->tensors);
      }
      link.shared->join(link.member);
      links_.push_back(std::move(link));
    }
  }

  /// Gives the weights as they are now to the other models that share them. Collective.
  /// \param trained_only  those of frozen layers are known to be unchanged
  void publish(Engine& engine, bool trained_only) {
    for (Link& link : links_) {
      if (trained_only && !link.trains) continue;
      auto const members = link.shared->members();
      require_same_number(engine.group(), members.size(), link.weights.empty() ? std::string() : link.weights[0].path);
      collect(engine, link);
      for (auto const& member : members)
        if (member != link.member) member->take(link.shared->tensors);
    }
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

  static void require_each_once(ModelDescription const& model) {
    std::set<SharedWeights const*> seen;
    for (SharedLayers const& layers : model.shared)
      if (!seen.insert(layers.weights.get()).second)
        raise_uniform(ValueError(
            formatted("the layer '{}' is Shared and stands twice in one model", model.layers[layers.first].path)));
  }

  static void collect(Engine& engine, Link& link) {
    auto& tensors = link.shared->tensors;
    tensors.resize(link.weights.size());
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      WeightInfo const& weight = link.weights[i];
      auto const values = detail::values_on_all(engine, weight.offset, weight.size);
      tensors[i] = {weight.path, weight.shape.to_vector(), {values.begin(), values.end()}};
    }
  }

  static void set_all(Engine& engine, std::vector<WeightInfo> const& weights,
                      std::vector<SharedWeights::Tensor> const& tensors) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      std::vector<T> values(weights[i].size);
      std::ranges::transform(tensors[i].values, values.begin(), [](double value) { return static_cast<T>(value); });
      engine.weights().set_values(weights[i].offset, values);
    }
  }

  static void require_fit(Link const& link) {
    auto const& tensors = link.shared->tensors;
    for (std::size_t i = 0; i < link.weights.size(); ++i) {
      WeightInfo const& weight = link.weights[i];
      if (i < tensors.size() && tensors[i].extents == weight.shape.to_vector()) continue;
      raise_uniform(ShapeError(formatted(
          "'{}' is Shared and has extents {}, but {} in the model that was compiled first", weight.path,
          format_extents(weight.shape.to_vector()), i < tensors.size() ? format_extents(tensors[i].extents) : "none")));
    }
  }

  std::shared_ptr<Engine*> target_;
  std::vector<Link> links_;
};

/// Members of SharedLinks for engines whose weights cannot be set, and for models without Shared layers.
struct NoSharedLinks {
  static void publish(auto const&, bool) {}
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
