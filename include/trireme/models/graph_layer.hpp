/// GraphLayer: base of layers made of layers, which are part of the graph that they stand in.
#pragma once

#include <cstddef>

#include "trireme/layers/pass.hpp"
#include "trireme/models/composite.hpp"
#include "trireme/models/graph_pass.hpp"

namespace trireme::detail {

/// Base of such a layer L, which has the members of GraphOfLayers: its own passes, for where it stands alone.
template <class L>
class GraphLayer : public SumsOfLayers<L> {
 public:
  using composite = void;

  template <class T, class Context, class In>
  constexpr std::size_t workspace(In const& in, std::size_t rows) const {
    return pass_workspace<T, Context>(self(), in, rows);
  }
  template <class T, class Context, class In>
  constexpr bool takes_scattered_rows(In const& in, std::size_t rows) const {
    return GraphPass<T, Context, L, In>(self(), in).takes_scattered_rows(rows);
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, ForwardPass<T> const& f) const {
    pass_forward(context, self(), in, f);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, BackwardPass<T> const& b) const {
    pass_backward(context, self(), in, b);
  }

 private:
  constexpr L const& self() const { return static_cast<L const&>(*this); }
};

}  // namespace trireme::detail
