/// Mixed precision: memory in a short number type, sums and products and the master weights in a long one.
#pragma once

#include <cstddef>
#include <type_traits>

#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/type_text.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/models/model.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/bfloat16.hpp"

namespace trireme {

/// Mixed precision, memory in the short type Storage and arithmetic in Scalar:
/// `compile<Mixed<BFloat16>>(strategy, ...)`.
///
/// - Weights: master weights, gradients, optimizer and states (moving statistics) are Scalars; layers compute with the
///   parameters rounded to Storage, anew in each step, frozen ones too.
/// - Activations: the output that a layer or a join hands on is rounded and kept as Storage; backward reads that.
///   Inputs, the model's output and the sums within a layer, or within a join, are Scalars.
/// - Products and convolutions: where Storage is BFloat16 a device may round their operands, on CUDA to TF32 (eleven
///   bits), as programs of PJRT on GPUs do, and on TPUs to BFloat16 (eight bits). Weights and kept activations lose
///   nothing; inputs, gradients and what a layer computes within do.
/// - Gradients: Scalars; to send them as Storage too, give the strategy `Compressed<..., BFloat16>`.
///
/// Rounding is to the nearest, of two as near to the even one; a NaN stays one. Its derivative counts as 1. Source:
/// Micikevicius et al., Mixed Precision Training, 2018.
///
/// Compile-time errors: Scalar is no floating-point type, or no longer than Storage.
template <class StorageType, class ScalarType = float>
struct Mixed {
  using Storage = StorageType;
  using Scalar = ScalarType;
  static_assert(std::is_floating_point_v<Scalar> && sizeof(Storage) < sizeof(Scalar),
                "trireme: Mixed stores in a number type shorter than the one it computes in, such as Mixed<BFloat16>");
};

/// Model that computes with rounded weights and keeps rounded activations, as Mixed describes. `Base` is a Model, whose
/// members have the same shapes.
template <class Base, class Storage>
class MixedModel : public Base {
  using T = typename Base::scalar;
  template <class Context>
  using Storing = StoringContext<Context, Storage>;

 public:
  using storage = Storage;
  using label = typename Base::label;
  using Base::Base;
  using Base::description;

  void config(Config& c) const {
    c.add("the stored numbers", type_text<Storage>());
    Base::config(c);
  }

  /// Strategies that run the layers themselves would not round.
  void architecture() const = delete;
  /// The layers, for those that round as is said of Mixed.
  auto const& exact_architecture() const { return Base::architecture(); }

  /// Bytes of a step of `rows` rows, with the rounded weights.
  template <class Context>
  std::size_t workspace_bytes(std::size_t rows) const {
    return aligned_bytes(description().arena_elements() * sizeof(T)) +
           Base::template workspace_bytes<Storing<Context>>(rows);
  }

  /// Adds the loss and the gradients of a slice, as Model::train, with rounded numbers.
  template <class Context>
  void train(Context& context, Slice<T, label> const& slice, PerOutput<Base::outputs> const& scales,
             T const* parameters, T* gradients, std::byte* memory, double* totals, StepKeys const& keys,
             GradientSink<T>* sink) const {
    Storing<Context> storing(context);
    T const* const weights = rounded(context, parameters, memory);
    // A sink of threads' own rows only defers products, whose inputs have to stay until the step ends. The inputs of
    // these layers do not.
    Base::train(storing, slice, scales, weights, gradients, memory, totals, keys, Context::owns_rows ? nullptr : sink);
  }

  /// Adds the loss and metrics of a slice, as Model::test, with rounded numbers.
  template <class Context>
  void test(Context& context, Slice<T, label> const& slice, T const* parameters, std::byte* memory,
            double* totals) const {
    Storing<Context> storing(context);
    T const* const weights = rounded(context, parameters, memory);
    Base::test(storing, slice, weights, memory, totals);
  }

  /// Writes the outputs of `rows` rows, as Model::predict, with rounded numbers.
  template <class Context>
  void predict(Context& context, std::size_t rows, T const* x, T* y, T const* parameters, std::byte* memory) const {
    Storing<Context> storing(context);
    T const* const weights = rounded(context, parameters, memory);
    Base::predict(storing, rows, x, y, weights, memory);
  }

 private:
  /// The weights that layers compute with; `memory` becomes what is left of it.
  template <class Context>
  T const* rounded(Context& context, T const* parameters, std::byte*& memory) const {
    auto const& model = description();
    Workspace workspace(memory);
    T* const weights = workspace.template take<T>(model.arena_elements());
    memory = workspace.template take<std::byte>(0);
    auto const round = [&](std::size_t offset, std::size_t count) {
      context.for_each("trireme::round_weights", count,
                       kernels::Round<T, Storage>{parameters + offset, weights + offset});
    };
    round(0, model.elements);
    std::size_t const rest = model.arena_elements() - model.elements;
    kernels::copy(context, rest, parameters + model.elements, weights + model.elements);
    for (FrozenInfo const& frozen : model.frozen)
      if (!frozen.is_state) round(frozen.offset, frozen.size);
    return weights;
  }
};

namespace detail {

/// The model that `compile<P>` makes, where P is a scalar or Mixed.
template <class P>
inline constexpr bool is_mixed = false;
template <class Storage, class Scalar>
inline constexpr bool is_mixed<Mixed<Storage, Scalar>> = true;

template <class P, class... Rest>
struct ModelIn {
  using type = Model<P, Rest...>;
};
template <class Storage, class Scalar, class... Rest>
struct ModelIn<Mixed<Storage, Scalar>, Rest...> {
  using type = MixedModel<Model<Scalar, Rest...>, Storage>;
};

}  // namespace detail
}  // namespace trireme
