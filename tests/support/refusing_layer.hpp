/// A layer that throws on request.
#pragma once

#include "trireme/core/error.hpp"
#include "trireme/layers/call.hpp"
#include "trireme/layers/copy.hpp"

namespace trireme::test {

/// The passes in which a Refusing layer throws, on all ranks.
enum class Refuses { never, forward, backward };
inline Refuses refuses = Refuses::never;

/// The layer that leaves its input as it is.
struct Refusing {
  static constexpr char const* message = "these rows are refused";
  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }
  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if (refuses == Refuses::forward) throw ValueError(message);
    kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }
  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (refuses == Refuses::backward) throw ValueError(message);
    if (b.dx) kernels::copy(context, b.rows * in.size(), b.dy, b.dx);
  }
};

}  // namespace trireme::test
