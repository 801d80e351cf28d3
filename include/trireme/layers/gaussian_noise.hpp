/// GaussianNoise: adds normal random numbers to its input while training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trireme/core/config.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/row_streams.hpp"

namespace trireme {

namespace kernels {

template <class T, class Stream = RowStream>
struct AddNoise {
  Stream stream;
  std::uint64_t first_row;
  std::size_t columns;
  double stddev;
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t j) const {
    y[row * columns + j] = x[row * columns + j] + static_cast<T>(stddev * stream.normal(first_row + row, j));
  }
};

}  // namespace kernels

/// Noise while training, y = x + stddev * n, with n from the standard normal distribution:
/// `GaussianNoise{.stddev = 0.2}`. At other times y = x.
///
/// Input and output have the same extents, (...); no parameters. The noise depends on (seed, layer, step, row of the
/// global batch, element), not on ranks or threads. Source: Keras `GaussianNoise`.
/// \throws ValueError from `compile` if `stddev` is outside of [0, 1].
struct GaussianNoise {
  static constexpr std::string_view class_name = "GaussianNoise";
  double stddev = 0.1;  ///< from 0 to 1
  LayerName name{};

  void config(Config& c) const { c("stddev", stddev, intervals::fraction); }

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if (f.training && stddev > 0) {
      detail::with_row_stream(context, f.keys, Purpose::noise, [&]<class Stream>(Stream const& stream) {
        context.for_each("trireme::gaussian_noise", f.rows, in.size(),
                         kernels::AddNoise<T, Stream>{stream, f.keys.first_row, in.size(), stddev, f.x, f.y});
      });
    } else {
      kernels::copy(context, f.rows * in.size(), f.x, f.y);
    }
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) kernels::copy(context, b.rows * in.size(), static_cast<T const*>(b.dy), b.dx);
  }
};

}  // namespace trireme
