/// Models without optimizer and loss, which compute outputs and cannot be trained.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "trireme/core/config.hpp"
#include "trireme/metrics/direction.hpp"
#include "trireme/models/head.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

namespace detail {

/// Stand-ins for the optimizer and the loss of a trained model.
struct NoOptimizer {};
struct NoLoss {};

/// The head of such a model: outputs, no targets and no sums.
template <class T, class Extents>
class Head<T, Extents, NoLoss> {
 public:
  using Loss = NoLoss;
  using label = T;
  static constexpr std::size_t outputs = parts_count<Extents>;
  static constexpr bool class_labels = false;
  static constexpr std::size_t totals_width = 0;
  static constexpr std::array<std::string_view, 0> log_names{};
  static constexpr std::array<Direction, 0> log_directions{};

  Head(Extents const&, NoLoss) {}

  void config(Config&) const {}

  static constexpr std::size_t classes() { return 0; }
  static constexpr std::size_t target_size() { return 0; }
  static constexpr bool masks_positions() { return false; }
  static constexpr std::optional<std::int32_t> ignored_label() { return std::nullopt; }
};

}  // namespace detail

/// True if a model has an optimizer and a loss. Without them `fit`, `evaluate` and `train_on_batch` do not compile.
template <class Model>
inline constexpr bool is_trainable = true;
template <class Model>
  requires std::is_same_v<typename Model::Optimizer, detail::NoOptimizer>
inline constexpr bool is_trainable<Model> = false;

namespace detail {

template <class Model>
consteval bool require_trainable() {
  static_assert(is_trainable<Model>,
                "trireme: the model was compiled for inference; to train or evaluate it, give compile an optimizer and "
                "a loss");
  return true;
}

}  // namespace detail

}  // namespace trireme
