/// Output extents of layers with windows, and the sentences for inputs that do not fit.
#pragma once

#include <cstddef>

#include "trireme/backend/convolution/window.hpp"
#include "trireme/core/error.hpp"
#include "trireme/core/text.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::detail {

/// (height, width, channels) slid over by a KH x KW window.
template <std::size_t KH, std::size_t KW, class Strides, class Dilation, bool IsSame, std::size_t... E>
constexpr Window2D window_2d(char const* layer, Extents<E...> const& in) {
  static_assert(sizeof...(E) == 3,
                "trireme: Conv2D and 2-D pooling take (height, width, channels); give Input three extents or Reshape");
  constexpr std::size_t rows = static_extent<Extents<E...>, 0>, columns = static_extent<Extents<E...>, 1>;
  if constexpr (rows != dynamic && !IsSame)
    static_assert(rows >= covered(KH, Dilation::height),
                  "trireme: the window of a Conv2D or pooling layer is higher than its input");
  if constexpr (columns != dynamic && !IsSame)
    static_assert(columns >= covered(KW, Dilation::width),
                  "trireme: the window of a Conv2D or pooling layer is wider than its input");
  auto const height = [](std::size_t n) { return window_axis(n, KH, Strides::height, Dilation::height, IsSame); };
  auto const width = [](std::size_t n) { return window_axis(n, KW, Strides::width, Dilation::width, IsSame); };
  if constexpr (rows != dynamic && rows > 0 && columns != dynamic && columns > 0) {
    // Constants: otherwise each of the many callers would contain a call and the code of its exceptions.
    constexpr WindowAxis down = height(rows), across = width(columns);
    return {down, across, in[2]};
  }
  Window2D const window{height(in[0]), width(in[1]), in[2]};
  if (window.positions() == 0)
    throw ShapeError(formatted("{}: a window of {} x {} does not fit an input of {}", layer, KH, KW,
                               format_extents(in.to_vector())));
  return window;
}

/// Extents<height, width, Channels> of the window's output, each static where its input is.
template <std::size_t KH, std::size_t KW, class Strides, class Dilation, bool IsSame, std::size_t Channels, class In>
constexpr auto window_output(char const* layer, In const& in, std::size_t channels) {
  constexpr auto height = map_extent(static_extent<In, 0>, [](std::size_t n) {
    return window_axis(n, KH, Strides::height, Dilation::height, IsSame).out;
  });
  constexpr auto width = map_extent(static_extent<In, 1>, [](std::size_t n) {
    return window_axis(n, KW, Strides::width, Dilation::width, IsSame).out;
  });
  Window2D const window = window_2d<KH, KW, Strides, Dilation, IsSame>(layer, in);
  return Extents<height, width, Channels>{{window.height.out, window.width.out, channels}};
}

}  // namespace trireme::detail
