/// Trace of a model's lowering: the program being written, the parameters, and the values kept for backward.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/core/text.hpp"
#include "trireme/pjrt/lowering/builder.hpp"
#include "trireme/pjrt/lowering/division.hpp"
#include "trireme/pjrt/lowering/value.hpp"

namespace trireme::lowering {

/// A layer's parameter; its place in the model's table, none if it is frozen; and the axis that the devices of a
/// replica divide, if they do.
template <class T, class E>
struct Parameter {
  Value<T, E> value;
  std::optional<std::size_t> index, axis{};
};

/// An axis of a kernel that is also an axis of another tensor.
struct SameAxis {
  std::size_t of_kernel, of_tensor;
};

/// A layer's state, and its place in the model's table: none if it is frozen.
template <class T, class E>
struct LayerState {
  Value<T, E> value;
  std::optional<std::size_t> index;
};

/// Rows of a training step's program.
template <class T>
struct StepRows {
  Value<bool, Extents<dynamic>> there;  ///< false for a row that fills up the batch
  Scalar<T> share;                      ///< of this replica's rows in the global batch
  Scalar<double> global_rows;           ///< number of the rows of the global batch
  std::size_t replicas;
  bool several_processes;  ///< true if other processes have rows of the global batch
};

/// A stream of random numbers of layer `layer` for the rows of a step. Its key is an argument of each step.
struct StreamUse {
  std::uint32_t layer;
  Purpose purpose;
};

/// State of a lowering. Layers take their parameters in the order of the model's table, and set gradients there.
template <class T>
class Trace {
 public:
  using Tensor = Value<T, AnyExtents>;

  /// Weights in the order of their layers.
  struct LayerWeights {
    std::vector<Tensor> parameters, states;
  };
  /// `stored`: the format to which outputs of layers are rounded, if they are.
  Trace(Builder& builder, LayerWeights trained, LayerWeights frozen, bool training,
        std::optional<NumberFormat> stored = {})
      : builder_(builder),
        trained_(std::move(trained)),
        frozen_(std::move(frozen)),
        gradients_(trained_.parameters.size()),
        state_means_(trained_.states.size()),
        training_(training),
        stored_(stored) {}

  Builder& builder() { return builder_; }
  bool training() const { return training_; }

  /// The next parameter, which has to have the extents that its layer passes, or those with some axes split.
  template <class E>
  Parameter<T, E> parameter(E const& extents) {
    return parameter(extents, std::vector<std::size_t>{});
  }
  /// \param axis  along which the devices of a replica may divide it
  template <class E>
  Parameter<T, E> parameter(E const& extents, std::size_t axis) {
    return parameter(extents, std::vector{axis});
  }
  /// \param axes  along which the devices of a replica may divide it: the first one whose extent they divide evenly
  template <class E>
  Parameter<T, E> parameter(E const& extents, std::vector<std::size_t> const& axes) {
    std::size_t const index = is_frozen_ ? weights_.frozen++ : weights_.parameters++;
    auto& all = is_frozen_ ? divisible_.frozen : divisible_.trained;
    all.resize(std::max(all.size(), index + 1));
    all[index] = {extents.to_vector(), axes};
    auto const divided = builder_.shards() > 1 ? Division::divided(all[index], builder_.shards()) : std::nullopt;
    auto const& whole = next((is_frozen_ ? frozen_ : trained_).parameters, index);
    return {splits(all[index].extents, whole.extents.values) ? with_extents(whole, extents) : typed(whole, extents),
            is_frozen_ ? std::nullopt : std::optional(index), divided ? std::optional(divided->axis) : std::nullopt};
  }
  /// A factor or a result of a product with a kernel, placed as the kernel is: divided along the axis that the devices
  /// divide of the kernel, or whole if x has no such axis. So they exchange x, and never the kernel.
  /// \param same  axes of the kernel that are axes of x
  template <class E, class K>
  Value<T, E> aligned(Value<T, E> const& x, Parameter<T, K> const& kernel, std::vector<SameAxis> const& same) {
    if (!kernel.axis) return x;
    auto const found = std::ranges::find(same, *kernel.axis, &SameAxis::of_kernel);
    return builder_.placed(x, found == same.end() ? std::nullopt : std::optional(found->of_tensor));
  }
  /// The next state, which has to have the extents that its layer passes.
  template <class E>
  LayerState<T, E> state(E const& extents) {
    std::size_t const index = is_frozen_ ? weights_.frozen_states++ : weights_.states++;
    return {typed(next((is_frozen_ ? frozen_ : trained_).states, index), extents),
            is_frozen_ ? std::nullopt : std::optional(index)};
  }
  /// Sets the mean over this replica's rows that a state moves towards, with `decay` of the state left. Where the layer
  /// runs several times the state moves as often, one after the other.
  template <class E>
  void set_state(LayerState<T, E> const& state, Value<T, E> const& mean, double decay) {
    if (!state.index) return;
    auto const times = [&](auto const& x) { return builder_.multiply(x, builder_.fill(rows().share, x.extents)); };
    auto part = times(mean);
    auto& sum = state_means_.at(*state.index);
    if (sum) {
      auto const before = builder_.subtract(typed(*sum, state.value.extents), times(state.value));
      part = builder_.add(builder_.scale(before, static_cast<T>(decay)), part);
    }
    sum = Tensor{{part.extents.to_vector()}, part.id};
  }
  /// Sets a parameter's gradient, or adds to it where the layer runs several times. A frozen parameter has none.
  template <class E>
  void set_gradient(Parameter<T, E> const& parameter, Value<T, E> const& gradient) {
    if (!parameter.index) return;
    auto& sum = gradients_.at(*parameter.index);
    Value<T, E> const placed = parameter.axis ? builder_.placed(gradient, parameter.axis) : gradient;
    Tensor const own = with_extents(placed, trained_.parameters.at(*parameter.index).extents);
    sum = sum ? builder_.add(*sum, own) : own;
  }

  /// Parameters as layers have taken them, in the order of layers.
  struct Divisible {
    std::vector<DivisibleWeight> trained, frozen;
  };
  Divisible const& divisible() const { return divisible_; }

  /// Number of the weights that layers have taken.
  struct Weights {
    std::size_t parameters = 0, frozen = 0, states = 0, frozen_states = 0;
  };
  Weights const& weights() const { return weights_; }
  /// Lets the next layers take weights again.
  void set_weights(Weights const& weights) { weights_ = weights; }

  /// Calls `lower_layers()` for layers whose weights do not train, and returns its result. Normalizations use their
  /// moving statistics there, and Dropout goes on.
  template <class F>
  auto frozen(F const& lower_layers) {
    bool const outer = std::exchange(is_frozen_, true);
    auto const lowered = lower_layers();
    is_frozen_ = outer;
    return lowered;
  }
  bool is_frozen() const { return is_frozen_; }

  std::optional<NumberFormat> const& stored() const { return stored_; }

  /// Gradients of all parameters. `name(index)`: a parameter's name, for the message.
  /// \throws Error if a layer has set none
  template <class Name>
  std::vector<Tensor> gradients(Name const& name) const {
    std::vector<Tensor> all;
    for (std::size_t index = 0; index < gradients_.size(); ++index) {
      if (!gradients_[index])
        throw Error(formatted("the LayerLowering of a layer sets no gradient for '{}'", name(index)));
      all.push_back(*gradients_[index]);
    }
    return all;
  }

  /// The means of all states. \throws Error if a layer has set none
  std::vector<Tensor> state_means() const {
    std::vector<Tensor> all;
    for (auto const& mean : state_means_) {
      if (!mean) throw Error("the LayerLowering of a layer sets no mean for one of its states");
      all.push_back(*mean);
    }
    return all;
  }

  /// The rows of a training step, for layers that add them up.
  StepRows<T> const& rows() const { return *rows_; }
  void set_rows(StepRows<T> const& rows) { rows_ = rows; }

  /// Index of the current layer, counted through nested models, for the keys of random numbers.
  std::uint32_t layer() const { return layer_; }
  void set_layer(std::uint32_t layer) { layer_ = layer; }

  /// Sets the source of a training step's random numbers. `words`: a vector of the step's integers, whose element
  /// `first_key` is the first word of the first stream's key; `first_row`: of these rows in the global batch.
  template <class E>
  void set_random(Value<std::uint32_t, E> const& words, std::size_t first_key, Scalar<std::uint64_t> const& first_row) {
    key_word_ = [this, words, first_key](std::size_t index) { return builder_.element(words, first_key + index); };
    first_row_ = first_row;
  }
  struct Stream {
    Scalar<std::uint32_t> key0, key1;
    Scalar<std::uint64_t> first_row;
  };
  /// The current layer's stream.
  Stream stream(Purpose purpose = Purpose::dropout) {
    std::size_t const index = streams_.size();
    streams_.push_back({layer_, purpose});
    return {key_word_(2 * index), key_word_(2 * index + 1), first_row_};
  }
  std::vector<StreamUse> const& streams() const { return streams_; }

 private:
  static Tensor const& next(std::vector<Tensor> const& all, std::size_t index) {
    if (index >= all.size()) throw Error("a LayerLowering asks for more parameters than its layer says that it has");
    return all[index];
  }
  template <class E, class F>
  Value<T, E> with_extents(Value<T, F> const& x, E const& extents) {
    if (x.extents.to_vector() == extents.to_vector()) return {extents, x.id};
    return builder_.reshape(x, extents);
  }
  /// True if axes of `whole` are split into those of `parts`.
  static bool splits(std::vector<std::size_t> const& parts, std::vector<std::size_t> const& whole) {
    std::size_t part = 0;
    for (std::size_t const extent : whole) {
      std::size_t product = part < parts.size() ? parts[part++] : 0;
      while (product < extent && part < parts.size()) product *= parts[part++];
      if (product != extent) return false;
    }
    while (part < parts.size() && parts[part] == 1) ++part;
    return part == parts.size();
  }

  Builder& builder_;
  LayerWeights trained_, frozen_;
  std::vector<std::optional<Tensor>> gradients_, state_means_;
  std::optional<StepRows<T>> rows_;
  bool training_, is_frozen_ = false;
  Weights weights_;
  Divisible divisible_;
  std::optional<NumberFormat> stored_;
  std::uint32_t layer_ = 0;
  std::function<Scalar<std::uint32_t>(std::size_t)> key_word_;
  Scalar<std::uint64_t> first_row_{};
  std::vector<StreamUse> streams_;
};

/// A layer's output, and its backward pass from the output's gradient to the input's: backward(trace, dy) -> dx.
template <class Y, class Backward>
struct Lowered {
  Y y;
  Backward backward;
};
template <class Y, class Backward>
Lowered(Y, Backward) -> Lowered<Y, Backward>;

}  // namespace trireme::lowering
