/// Models whose layers hand on tuples of tensors: Fork makes a tuple, Parallel gives each part a layer of its own, Each
/// the same layer to all. They are layers themselves; Add{} and Concatenate{} join the parts (models/branches.hpp).
///
///     Sequential{Inputs{Input<32>{}, Input<32>{}}, Each{Sequential{Dense<64, ReLU>{}, Dense<16>{}}}, Concatenate{},
///                Fork{Dense<1>{}, Dense<10>{}}}
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/side_by_side.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

namespace detail {

/// Base of Parallel and Fork: each branch writes its part of the output in place.
template <class Source, class... Branches>
class PartBranches : public SideBySide<Source, Branches...> {
  using Base = SideBySide<Source, Branches...>;

 public:
  using Base::Base;

  template <class In>
  constexpr auto output(In const& in) const {
    return this->with_outputs(in, []<class... Out>(Out const&... out) {
      static_assert((!is_parts<Out> && ...),
                    "trireme: a branch of Parallel or Fork that hands on a tuple itself would make a tuple of tuples");
      return Parts<Out...>{{out...}};
    });
  }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    std::size_t bytes = Source::own_part ? 0 : aligned_bytes(in.size() * rows * sizeof(T));
    this->for_each_branch(
        in, [&](auto const& branch, auto const& own) { bytes += workspace_bytes<T, Context>(branch, own, rows); });
    return bytes;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    Workspace workspace(f.workspace);
    if constexpr (!Source::own_part) workspace.take<T>(in.size() * f.rows);
    ForwardPass<T> call = f;
    this->for_each_branch(in, [&]<class B>(B const& branch, auto const& own) {
      call.workspace = workspace.take<std::byte>(workspace_bytes<T, Context>(branch, own, f.rows));
      if constexpr (reinterprets<B>)
        kernels::copy(context, f.rows * own.size(), call.x, call.y);
      else
        run_forward(context, branch, own, call);
      if constexpr (Source::own_part) call.x += f.rows * own.size();
      call.y += f.rows * branch.output(own).size();
      pass_by(branch, own, call);
    });
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    Workspace workspace(b.workspace);
    T* const branch_dx = Source::own_part ? nullptr : workspace.take<T>(in.size() * b.rows);
    backward_from<0>(context, in, b, workspace, branch_dx);
  }

 private:
  /// Runs the last branch first, since gradients become final from the end of the arena. Of branches on the same input
  /// the first to run writes `dx`, and the others add to it.
  template <std::size_t I, class Context, class In, class T>
  void backward_from(Context& context, In const& in, BackwardPass<T> const& b, Workspace workspace,
                     T* branch_dx) const {
    auto const& branch = std::get<I>(this->branches_);
    auto const& own = Source::template of<I>(in);
    using B = std::decay_t<decltype(branch)>;
    std::size_t const inputs = b.rows * own.size();
    BackwardPass<T> call = b;
    call.workspace = workspace.take<std::byte>(workspace_bytes<T, Context>(branch, own, b.rows));
    constexpr bool runs_first = I + 1 == Base::count;
    if constexpr (!runs_first) {
      BackwardPass<T> next = b;
      std::size_t const outputs = b.rows * branch.output(own).size();
      next.y += outputs;
      next.dy += outputs;
      if constexpr (Source::own_part) {
        next.x += inputs;
        if (b.dx) next.dx += inputs;
      }
      pass_by(branch, own, next);
      backward_from<I + 1>(context, in, next, workspace, branch_dx);
    }
    constexpr bool adds = !Source::own_part && !runs_first;
    if constexpr (reinterprets<B>) {
      if (!b.dx) return;
      if constexpr (adds)
        context.for_each("trireme::add_gradients", inputs, kernels::AddTo<T>{b.dy, b.dx});
      else
        kernels::copy(context, inputs, static_cast<T const*>(b.dy), b.dx);
    } else if (wants_backward(branch, own, b)) {
      if (b.dx && adds) call.dx = branch_dx;
      run_backward(context, branch, own, call);
      if (b.dx && adds) context.for_each("trireme::add_gradients", inputs, kernels::AddTo<T>{branch_dx, b.dx});
      if constexpr (!is_composite<B>)
        if (b.sink && parameter_elements<T>(branch, own) > 0) b.sink->ready(b.gradients);
    }
  }
};

}  // namespace detail

/// `Parallel{Dense<16>{}, Sequential{Conv2D<8, 3, 3>{}, Flatten{}}}`: layer i on part i of a tuple; the result is a
/// tuple. `Skip{}` leaves a part as it is.
template <class... Branches>
struct Parallel : detail::PartBranches<detail::OwnPart, Branches...> {
  static constexpr std::string_view class_name = "Parallel";
  using detail::PartBranches<detail::OwnPart, Branches...>::PartBranches;

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(is_parts<In>, "trireme: Parallel takes a tuple of tensors; Fork applies several layers to one");
    static_assert(parts_count<In> == sizeof...(Branches),
                  "trireme: Parallel needs as many branches as its input has parts");
    return detail::PartBranches<detail::OwnPart, Branches...>::output(in);
  }
};
template <class... B>
Parallel(B const&...) -> Parallel<detail::as_layer_t<B>...>;

/// `Fork{Dense<1>{}, Dense<10, Softmax>{}}`: several layers on one input; the result is the tuple of theirs.
template <class... Branches>
struct Fork : detail::PartBranches<detail::SameInput, Branches...> {
  static constexpr std::string_view class_name = "Fork";
  using detail::PartBranches<detail::SameInput, Branches...>::PartBranches;
};
template <class... B>
Fork(B const&...) -> Fork<detail::as_layer_t<B>...>;

}  // namespace trireme
