/// Branches: several layers on one input whose outputs are joined. Add, Concatenate and Residual are made of them, and
/// are layers themselves, so that a block of a ResNet or of a transformer is a type.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/models/input_sources.hpp"
#include "trireme/models/joins.hpp"
#include "trireme/models/sequential.hpp"
#include "trireme/models/side_by_side.hpp"
#include "trireme/tensor/parts.hpp"

namespace trireme {

/// Its input as it is: the short cut beside other branches.
struct Skip {
  static constexpr std::string_view class_name = "Identity";
  static constexpr bool takes_parts = true;
  static constexpr bool reinterprets = true;
  std::string_view name{};

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
};

namespace detail {

/// Base of Add and Concatenate. `Join` says where a branch's part of the joined output lies.
template <class Join, class... Branches>
class Branched : public SideBySide<SameInput, Branches...> {
  using Base = SideBySide<SameInput, Branches...>;
  using Base::branches_;
  using Base::count;

 public:
  using Base::Base;

  template <class In>
  constexpr auto output(In const& in) const {
    return this->with_outputs(in, [](auto const&... out) { return Join::output(out...); });
  }

  template <class In, class F>
  InputSources trace_inputs(In const& in, InputSources const& sources, F const& f) const {
    Base::trace_inputs(in, sources, f);
    return {no_input};
  }

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    std::size_t bytes = aligned_bytes(in.size() * rows * sizeof(T));
    this->for_each_branch(in, [&]<class B>(B const& branch, auto const&) {
      if constexpr (!reinterprets<B>)
        bytes += 2 * aligned_bytes(branch.output(in).size() * rows * sizeof(T)) +
                 workspace_bytes<T, Context>(branch, in, rows);
    });
    return bytes;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    Workspace workspace(f.workspace);
    workspace.take<T>(in.size() * f.rows);
    std::size_t const width = output(in).back();
    ForwardPass<T> call = f;
    std::size_t column = 0;
    bool first = true;
    this->for_each_branch(in, [&]<class B>(B const& branch, auto const&) {
      auto const out = branch.output(in);
      Place<T> const place = Place<T>::template take<Context>(branch, in, f.rows, workspace);
      T const* y = f.x;
      if constexpr (!reinterprets<B>) {
        call.y = place.y;
        call.workspace = place.memory;
        run_forward(context, branch, in, call);
        y = place.y;
      }
      Join::put(context, f.rows * out.size() / out.back(), out.back(), y, f.y, width, column, first);
      column += out.back();
      first = false;
      pass_by(branch, in, call);
    });
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    Workspace workspace(b.workspace);
    T* const branch_dx = workspace.take<T>(in.size() * b.rows);
    backward_from<0>(context, in, b, workspace, 0, branch_dx);
  }

 private:
  /// Memory of a branch: its output, the gradient of that and its own workspace; none for a branch that only renames.
  template <class T>
  struct Place {
    T* y = nullptr;
    T* dy = nullptr;
    std::byte* memory = nullptr;

    template <class Context, class B, class In>
    static Place take(B const& branch, In const& in, std::size_t rows, Workspace& workspace) {
      Place place;
      if constexpr (!reinterprets<B>) {
        std::size_t const size = branch.output(in).size() * rows;
        place.y = workspace.take<T>(size);
        place.dy = workspace.take<T>(size);
        place.memory = workspace.take<std::byte>(workspace_bytes<T, Context>(branch, in, rows));
      }
      return place;
    }
  };

  /// Runs the last branch first, since gradients become final from the end of the arena. Branch 0 runs last, and finds
  /// in `dx` what the others left there.
  template <std::size_t I, class Context, class In, class T>
  void backward_from(Context& context, In const& in, BackwardPass<T> const& b, Workspace workspace, std::size_t column,
                     T* branch_dx) const {
    auto const& branch = std::get<I>(branches_);
    using B = std::decay_t<decltype(branch)>;
    auto const out = branch.output(in);
    Place<T> const place = Place<T>::template take<Context>(branch, in, b.rows, workspace);
    if constexpr (I + 1 < count) {
      BackwardPass<T> next = b;
      pass_by(branch, in, next);
      backward_from<I + 1>(context, in, next, workspace, column + out.back(), branch_dx);
    }
    std::size_t const rows = b.rows * out.size() / out.back(), width = output(in).back();
    constexpr bool is_first = I + 1 == count;
    if constexpr (reinterprets<B>) {
      if (b.dx) Join::take(context, rows, out.back(), b.dy, width, column, b.dx, is_first);
    } else if (wants_backward(branch, in, b)) {
      Join::take(context, rows, out.back(), b.dy, width, column, place.dy, true);
      BackwardPass<T> call = b;
      call.y = place.y;
      call.dy = place.dy;
      call.workspace = place.memory;
      if (b.dx) call.dx = is_first ? b.dx : branch_dx;
      run_backward(context, branch, in, call);
      if (b.dx && !is_first)
        context.for_each("trireme::add_gradients", in.size() * b.rows, kernels::AddTo<T>{branch_dx, b.dx});
      if constexpr (!is_composite<B>)
        if (b.sink && detail::parameter_elements<T>(branch, in) > 0) b.sink->ready(b.gradients);
    }
  }
};

/// The same joins of the parts of a tuple.
template <class Join>
struct PartsJoin {
  using join = Join;
  static constexpr bool takes_parts = true;
  std::string_view name{};

  template <class In>
  constexpr auto output(In const& in) const {
    static_assert(is_parts<In>,
                  "trireme: Add{} and Concatenate{} without branches join the parts of a tuple, and were given one "
                  "tensor");
    return std::apply([](auto const&... part) { return Join::output(part...); }, in.all);
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    for_each_place(in, f.rows, [&](std::size_t rows, std::size_t columns, std::size_t begin, std::size_t column) {
      Join::put(context, rows, columns, f.x + begin, f.y, output(in).back(), column, begin == 0);
    });
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (!b.dx) return;
    for_each_place(in, b.rows, [&](std::size_t rows, std::size_t columns, std::size_t begin, std::size_t column) {
      Join::take(context, rows, columns, b.dy, output(in).back(), column, b.dx + begin, true);
    });
  }

 private:
  /// f(rows and columns of a part as a matrix, where it begins, its first column in the joined output).
  template <class In, class F>
  static void for_each_place(In const& in, std::size_t rows, F const& f) {
    std::size_t column = 0;
    for_each_part(in, [&](auto const& part, std::size_t before) {
      f(rows * part.size() / part.back(), part.back(), rows * before, column);
      column += part.back();
    });
  }
};

}  // namespace detail

/// `Add{Skip{}, Sequential{Dense<64, ReLU>{}, Dense<32>{}}}`: the sum of branches on the same input; `Add{}`: of the
/// parts of a tuple.
template <class... Branches>
struct Add : detail::Branched<detail::SumJoin, Branches...> {
  static constexpr std::string_view class_name = "Add";
  using detail::Branched<detail::SumJoin, Branches...>::Branched;
};
template <>
struct Add<> : detail::PartsJoin<detail::SumJoin> {
  static constexpr std::string_view class_name = "Add";
};
template <class... B>
Add(B const&...) -> Add<detail::as_layer_t<B>...>;

/// `Concatenate{Conv2D<16, 1, 1>{}, Conv2D<16, 3, 3, Same>{}}`: branches side by side along the last axis;
/// `Concatenate{}`: the parts of a tuple.
template <class... Branches>
struct Concatenate : detail::Branched<detail::ConcatenateJoin, Branches...> {
  static constexpr std::string_view class_name = "Concatenate";
  using detail::Branched<detail::ConcatenateJoin, Branches...>::Branched;
};
template <>
struct Concatenate<> : detail::PartsJoin<detail::ConcatenateJoin> {
  static constexpr std::string_view class_name = "Concatenate";
};
template <class... B>
Concatenate(B const&...) -> Concatenate<detail::as_layer_t<B>...>;

/// `Residual{LayerNormalization<>{}, Dense<64, ReLU>{}, Dense<32>{}}`: the input plus the output of the layers.
template <class... Layers>
struct Residual : Add<Skip, Sequential<Layers...>> {
  static constexpr std::string_view class_name = "Add";
  constexpr Residual() = default;
  template <class... L>
  constexpr explicit Residual(L const&... layers)
      : Add<Skip, Sequential<Layers...>>(Skip{}, Sequential<Layers...>(layers...)) {}
};
template <class... L>
Residual(L const&...) -> Residual<detail::as_layer_t<L>...>;

}  // namespace trireme
