/// Dropout: sets a random part of its input to zero while training.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "trireme/backend/simd/math.hpp"
#include "trireme/core/config.hpp"
#include "trireme/core/streams.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/layer.hpp"
#include "trireme/layers/layer_name.hpp"
#include "trireme/layers/row_streams.hpp"

namespace trireme {

namespace kernels {

/// One random block for four elements of a row. Backward draws the mask again, which is therefore not kept.
template <class T, class Stream = RowStream>
struct DropoutMask {
  Stream stream;
  std::uint64_t first_row;
  std::size_t columns;
  float rate;
  T scale;
  T const* x;
  T* y;
  KOKKOS_FUNCTION void operator()(std::size_t row, std::size_t group) const {
    auto const words = stream.block(first_row + row, group);
    std::size_t const begin = 4 * group, end = begin + 4 < columns ? begin + 4 : columns;
    KOKKOS_IF_ON_HOST((for (std::size_t j = begin; j < end; ++j) apply(words[j - begin], row * columns + j);))
    // With constant indices, so that the words stay in registers.
    KOKKOS_IF_ON_DEVICE((for (std::size_t k = 0; k < 4; ++k) {
      if (begin + k < end) apply(words[k], row * columns + begin + k);
    }))
  }

 private:
  KOKKOS_FUNCTION void apply(std::uint32_t word, std::size_t at) const {
    y[at] = math::select(uniform_float(word) < rate, T{0}, x[at] * scale);
  }
};

}  // namespace kernels

/// Dropout while training: an element becomes 0 with probability `rate`, otherwise y = x / (1 - rate):
/// `Dropout{.rate = 0.5}`. At other times y = x.
///
/// Input and output have the same extents, (...); no parameters. The mask depends on (seed, layer, step, row of the
/// global batch, element), not on ranks or threads. Source: Srivastava et al., Dropout, 2014; Keras `Dropout`.
/// \throws ValueError from `compile` if `rate` is outside of [0, 1).
struct Dropout {
  static constexpr std::string_view class_name = "Dropout";
  double rate = 0.5;
  LayerName name{};

  void config(Config& c) const { c("rate", rate, intervals::below_one); }

  template <class In>
  constexpr auto output(In const& in) const {
    return in;
  }

  template <class Context, class In, class T>
  void forward(Context& context, In const& in, Forward<T> const& f) const {
    if (f.training)
      apply(context, in.size(), f.rows, f.keys, f.x, f.y);
    else
      kernels::copy(context, f.rows * in.size(), f.x, f.y);
  }

  template <class Context, class In, class T>
  void backward(Context& context, In const& in, Backward<T> const& b) const {
    if (b.dx) apply(context, in.size(), b.rows, b.keys, static_cast<T const*>(b.dy), b.dx);
  }

 private:
  template <class Context, class T>
  void apply(Context& context, std::size_t columns, std::size_t rows, StepKeys const& keys, T const* x, T* y) const {
    detail::with_row_stream(context, keys, Purpose::dropout, [&]<class Stream>(Stream const& stream) {
      context.for_each("trireme::dropout", rows, (columns + 3) / 4,
                       kernels::DropoutMask<T, Stream>{stream, keys.first_row, columns, static_cast<float>(rate),
                                                       T{1} / (T{1} - static_cast<T>(rate)), x, y});
    });
  }
};

}  // namespace trireme
