/// Forward and backward passes of rows through consecutive slices of a model.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/pass.hpp"
#include "trireme/models/slices.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// The caller manages the weights of slices: `weights` has, for slice i,
///   forward(i), backward(i)   its parameters, valid while the pass is in that slice
///   gradients(i)              the memory for its gradients
///   finished(i)               called when they are complete
///   states(), updates(), frozen()   of all slices of the pass, from its first one on
template <class T, class Context, class SlicesType>
class SlicePass {
 public:
  static constexpr std::size_t count = SlicesType::count;

  /// Pass through the slices [begin, end).
  explicit SlicePass(SlicesType slices, std::size_t begin = 0, std::size_t end = count)
      : slices_(std::move(slices)), begin_(begin), end_(end) {}

  /// Slices of the model.
  SlicesType const& slices() const { return slices_; }
  /// Numbers of a sample's input of the first slice.
  std::size_t input_size() const { return slices_.input_size(begin_); }
  /// Numbers of a sample's output of the last slice.
  std::size_t output_size() const { return slices_.output_size(end_ - 1); }

  /// Bytes kept between forward and backward.
  std::size_t workspace_bytes(std::size_t rows) const { return bytes(slices_, begin_, end_, rows); }
  /// Bytes that slices [begin, end) keep between forward and backward, for `rows` rows.
  static constexpr std::size_t bytes(SlicesType const& slices, std::size_t begin, std::size_t end, std::size_t rows) {
    std::size_t sum = 2 * aligned_bytes(gradient_size(slices, begin, end) * rows * sizeof(T));
    for (std::size_t i = begin; i < end; ++i)
      sum += aligned_bytes(slices.output_size(i) * rows * sizeof(T)) +
             aligned_bytes(slices.template workspace_bytes<Context>(i, rows));
    return sum;
  }

  /// Returns the last slice's output, in `memory`.
  template <class Weights>
  T* forward(Context& context, std::size_t rows, T const* x, std::byte* memory, Weights& weights, StepKeys const& keys,
             bool training) const {
    Places const places = place(rows, memory);
    T* y = nullptr;
    for (std::size_t i = begin_; i < end_; ++i, x = y) {
      y = places.y[i];
      slices_.forward(context, i,
                      ForwardPass<T>{.rows = rows,
                                     .x = x,
                                     .y = y,
                                     .parameters = weights.forward(i),
                                     .workspace = places.memory[i],
                                     .keys = keys,
                                     .training = training,
                                     .states = weights.states() + state_begin(i),
                                     .state_updates = training ? weights.updates() + state_begin(i) : nullptr,
                                     .frozen_weights = frozen(weights, i)});
    }
    return y;
  }

  /// `dy` of the output that forward left; `dx` null if it is not needed.
  template <class Weights>
  void backward(Context& context, std::size_t rows, T const* x, std::byte* memory, T* dy, T* dx, Weights& weights,
                StepKeys const& keys) const {
    Places const places = place(rows, memory);
    for (std::size_t i = end_; i-- > begin_;) {
      T* const next = i == begin_ ? dx : places.gradients[i % 2];
      T* const gradients = weights.gradients(i);
      slices_.backward(context, i,
                       BackwardPass<T>{.rows = rows,
                                       .x = i == begin_ ? x : places.y[i - 1],
                                       .y = places.y[i],
                                       .dy = dy,
                                       .dx = next,
                                       .parameters = weights.backward(i),
                                       .gradients = gradients,
                                       .workspace = places.memory[i],
                                       .keys = keys,
                                       .states = weights.states() + state_begin(i),
                                       .frozen_weights = frozen(weights, i)});
      // Layers that sum over rows of other processes run without rows too, but then have no gradients.
      if (rows == 0) clear(context, i, gradients);
      weights.finished(i);
      dy = next;
    }
  }

  /// The same calls of `weights` without rows: gradients are zero.
  template <class Weights>
  void pass_without_rows(Context& context, Weights& weights) const {
    for (std::size_t i = begin_; i < end_; ++i) weights.forward(i);
    for (std::size_t i = end_; i-- > begin_;) {
      T* const gradients = weights.gradients(i);
      weights.backward(i);
      clear(context, i, gradients);
      weights.finished(i);
    }
  }

 private:
  /// Offset of the states of slice i from those of the first slice.
  std::size_t state_begin(std::size_t i) const {
    return slices_.range(i).states_begin - slices_.range(begin_).states_begin;
  }

  struct Places {
    std::array<T*, count> y{};
    std::array<std::byte*, count> memory{};
    std::array<T*, 2> gradients{};
  };

  template <class Weights>
  T const* frozen(Weights& weights, std::size_t i) const {
    return weights.frozen() + (slices_.range(i).frozen_begin - slices_.range(begin_).frozen_begin);
  }

  void clear(Context& context, std::size_t i, T* gradients) const {
    context.for_each("trireme::no_rows", slices_.range(i).elements(), kernels::Clear<T>{gradients});
  }

  Places place(std::size_t rows, std::byte* memory) const {
    Workspace workspace(memory);
    Places places;
    for (std::size_t i = begin_; i < end_; ++i) {
      places.y[i] = workspace.take<T>(slices_.output_size(i) * rows);
      places.memory[i] = workspace.take<std::byte>(slices_.template workspace_bytes<Context>(i, rows));
    }
    for (T*& gradients : places.gradients) gradients = workspace.take<T>(gradient_size(slices_, begin_, end_) * rows);
    return places;
  }

  /// Elements of the largest gradient between two slices.
  static constexpr std::size_t gradient_size(SlicesType const& slices, std::size_t begin, std::size_t end) {
    std::size_t largest = 0;
    for (std::size_t i = begin + 1; i < end; ++i) largest = std::max(largest, slices.input_size(i));
    return largest;
  }

  SlicesType slices_;
  std::size_t begin_, end_;
};

}  // namespace trireme
