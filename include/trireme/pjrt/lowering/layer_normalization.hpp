/// LayerNormalization in a program.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "trireme/layers/layer_normalization.hpp"
#include "trireme/pjrt/lowering/layer.hpp"
#include "trireme/pjrt/lowering/traced.hpp"

namespace trireme::lowering {

template <class... Options>
struct LayerLowering<LayerNormalization<Options...>> {
  using Layer = LayerNormalization<Options...>;
  using Rows = Extents<dynamic, dynamic>;

  template <class T, class E>
  static auto forward(Trace<T>& trace, Layer const& layer, Value<T, E> const& x) {
    Builder& b = trace.builder();
    AnyExtents shape;
    std::size_t features = 1;
    for (std::size_t axis = E::rank - Layer::axes; axis < E::rank; ++axis) {
      shape.values.push_back(x.extents[axis]);
      features *= x.extents[axis];
    }
    Rows const rows{{without_front(x.extents).size() * x.extents[0] / features, features}};
    auto const spread = [&](AnyExtents const& from, Value<T, AnyExtents> const& v) {
      require_same(from, v.extents);
      return Traced<T, Rows>(b, b.along_back(b.reshape(v, Extents<dynamic>{{features}}), rows));
    };
    Parameter<T, AnyExtents> gamma{}, beta{};
    Traced<T, Rows> scale(1), shift(0);
    if constexpr (Layer::scale) {
      gamma = trace.parameter(shape);
      scale = spread(shape, gamma.value);
    }
    if constexpr (Layer::center) {
      beta = trace.parameter(shape);
      shift = spread(shape, beta.value);
    }
    Traced<T, Rows> const from(b, b.reshape(x, rows));
    auto const centred = from - mean(b, from, rows);
    auto const inverse = Traced<T, Rows>(1) / sqrt(mean(b, centred * centred, rows) + Traced<T, Rows>(layer.epsilon));
    auto const normalized = centred * inverse;
    auto const y = b.reshape((normalized * scale + shift).in(b, rows), x.extents);
    return Lowered{y, [=](Trace<T>& t, Value<T, E> const& dy) {
                     Builder& back = t.builder();
                     Traced<T, Rows> const d(back, back.reshape(dy, rows));
                     if constexpr (Layer::scale)
                       t.set_gradient(gamma, back.reshape(back.sum_to_back((d * normalized).in(back, rows)), shape));
                     if constexpr (Layer::center)
                       t.set_gradient(beta, back.reshape(back.sum_to_back(d.in(back, rows)), shape));
                     auto const g = d * scale;
                     auto const dx =
                         (g - mean(back, g, rows) - normalized * mean(back, g * normalized, rows)) * inverse;
                     return back.reshape(dx.in(back, rows), dy.extents);
                   }};
  }

 private:
  /// The mean of each row, for all of its elements.
  template <class T>
  static Traced<T, Rows> mean(Builder& b, Traced<T, Rows> const& x, Rows const& rows) {
    auto const sums = b.sum_back(x.in(b, rows));
    return Traced<T, Rows>(b, b.repeat_back(sums, rows)) / Traced<T, Rows>(static_cast<T>(rows[1]));
  }
};

}  // namespace trireme::lowering
