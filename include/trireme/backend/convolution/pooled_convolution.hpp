/// Convolution by one thread whose results are pooled before they leave the registers: row products as in
/// RowConvolution, but only the largest value of each pooling window and its tap are written.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/row_convolution.hpp"
#include "trireme/backend/convolution/sparse_gradient.hpp"
#include "trireme/backend/convolution/sparse_lists.hpp"
#include "trireme/backend/convolution/spread_gradient.hpp"
#include "trireme/backend/convolution/tap_vector.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/convolution/window_tile.hpp"
#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/tensor/arena.hpp"
#include "trireme/tensor/extents.hpp"

namespace trireme::detail {

/// Kernel of KH x KW, distance 1 between positions and between the taps of a row, `Channels` of the image (may be
/// `dynamic`), `Dilation` between kernel rows. Pooling windows of H x W tile the convolution's output from its first
/// corner on; positions left over at the end are never computed.
template <class T, std::size_t KH, std::size_t KW, std::size_t Channels, std::size_t Dilation, std::size_t H,
          std::size_t W>
class PooledConvolution {
  using Vector = SimdVector<T>;
  using Tile = WindowTile<T, H, W>;
  static constexpr std::size_t lanes = Vector::lanes;

  /// The backward algorithm. Where a kernel row fills a vector, the sparse form takes H * W times fewer operations than
  /// the dense one, and skips zeros. Shorter rows waste its lanes; then the kernel's gradient is taken in vectors of
  /// filters. The rest (the gradient of an image with few channels, and channels known only at run time) is unpooled
  /// and left to RowConvolution.
  static constexpr bool is_static = Channels != dynamic;
  static constexpr bool sparse = is_static && KW * Channels >= lanes, spread = is_static && !sparse;
  using Sparse = SparseGradient<T, KH, sparse ? KW * Channels : lanes>;
  using Spread = SpreadGradient<T, KH, KW, spread ? Channels : 1, Dilation, H, W>;
  using Lists = SparseLists<T, H, W>;

 public:
  using Tap = PoolTap<H * W>;

  static constexpr std::size_t workspace(Window2D const& w, std::size_t filters) {
    std::size_t bytes = RowConvolution<T>::workspace(w, filters);
    bytes += aligned_bytes((w.taps() * w.channels + 1) * lanes * sizeof(T));
    if (sparse)
      bytes += 2 * aligned_bytes(Sparse::packed_size(filters) * sizeof(T)) + Lists::workspace(windows(w), filters);
    else
      bytes += aligned_bytes(w.positions() * filters * sizeof(T));
    return bytes;
  }

  PooledConvolution(Window2D const& w, std::size_t filters, Workspace workspace)
      : w_(w), filters_(filters), rows_(w, filters, workspace) {
    workspace.take<std::byte>(RowConvolution<T>::workspace(w, filters));
    last_ = workspace.take<T>((w.taps() * w.channels + 1) * lanes);
    if constexpr (sparse) {
      packed_kernel_ = workspace.take<T>(Sparse::packed_size(filters));
      packed_gradient_ = workspace.take<T>(Sparse::packed_size(filters));
      lists_ = workspace.take<std::byte>(Lists::workspace(windows(w), filters));
    } else {
      unpooled_ = workspace.take<T>(w.positions() * filters);
    }
  }

  /// y (rows, H', W', filters) = activation of the largest value of each pooling window, and the tap that had it: the
  /// first, if several. The activation is elementwise and nowhere decreasing; the bias may be null.
  template <class A>
  void forward(A const& activation, std::size_t rows, T const* x, T const* kernel, T const* bias, T* y,
               Tap* taps) const {
    std::size_t const rest = filters_ % lanes;
    if (rest > 0) fill_last(kernel, bias, rest);
    std::size_t const size = windows(w_) * filters_;
    for (std::size_t sample = 0; sample < rows; ++sample, x += w_.input_size(), y += size, taps += size) {
      T const* const image = rows_.pad(x);
      std::size_t const vectors = filters_ / lanes, panels = (vectors + Tile::widest - 1) / Tile::widest;
      for (std::size_t p = 0, j = 0; p < panels; ++p) {
        std::size_t const width = vectors / panels + (p < vectors % panels ? 1 : 0);
        panel_of<Tile::widest>(width, image, j, kernel + j, filters_, bias ? bias + j : nullptr, lanes, y, taps);
        j += width * lanes;
      }
      if (rest > 0)
        panel_of<1>(1, image, filters_ - rest, last_, lanes, last_ + w_.taps() * w_.channels * lanes, rest, y, taps);
      TRIREME_SIMD
      for (std::size_t i = 0; i < size; ++i) y[i] = activation(y[i]);
    }
  }

  /// dy is the gradient of the activation's input. kernel_gradient is overwritten; it and dx may be null.
  void backward(std::size_t rows, T const* x, T const* kernel, T const* dy, Tap const* taps, T* kernel_gradient,
                T* dx) const {
    if constexpr (sparse)
      sparse_backward(rows, x, kernel, dy, taps, kernel_gradient, dx);
    else
      dense_backward(rows, x, kernel, dy, taps, kernel_gradient, dx);
  }

 private:
  static constexpr std::size_t lines(Window2D const& w) { return w.height.out / H; }
  static constexpr std::size_t columns(Window2D const& w) { return w.width.out / W; }
  static constexpr std::size_t windows(Window2D const& w) { return lines(w) * columns(w); }
  std::size_t row_stride() const { return Dilation * rows_.row_size(); }

  /// A copy of the filters that do not fill a vector, and of their bias, with zeros beside them.
  void fill_last(T const* kernel, T const* bias, std::size_t rest) const {
    std::size_t const k = w_.taps() * w_.channels, j = filters_ - rest;
    for (std::size_t i = 0; i < k; ++i) Vector::store(last_ + i * lanes, Vector::load(kernel + i * filters_ + j, rest));
    Vector::store(last_ + k * lanes, bias ? Vector::load(bias + j, rest) : typename Vector::type{});
  }

  template <std::size_t NV>
  void panel_of(std::size_t width, T const* image, std::size_t j, T const* kernel, std::size_t ldk, T const* bias,
                std::size_t count, T* y, Tap* taps) const {
    if (width == NV) {
      std::size_t const line_size = columns(w_) * filters_;
      for (std::size_t line = 0; line < lines(w_); ++line)
        Tile::template run<NV>({.windows = columns(w_),
                                .x = image + line * H * rows_.row_size(),
                                .row_size = rows_.row_size(),
                                .channels = w_.channels,
                                .segments = KH,
                                .segment = rows_.taps_size(),
                                .segment_stride = row_stride(),
                                .filters = filters_,
                                .y = y + line * line_size,
                                .taps = taps + line * line_size},
                               j, kernel, ldk, bias, count);
    } else if constexpr (NV > 1) {
      panel_of<NV - 1>(width, image, j, kernel, ldk, bias, count, y, taps);
    }
  }

  void sparse_backward(std::size_t rows, T const* x, T const* kernel, T const* dy, Tap const* taps, T* kernel_gradient,
                       T* dx) const {
    if (dx) Sparse::pack(filters_, kernel, packed_kernel_);
    std::fill_n(packed_gradient_, Sparse::packed_size(filters_), T{0});
    Lists lists({lines(w_), columns(w_), filters_, rows_.row_size(), w_.channels}, Workspace(lists_));
    for (std::size_t sample = 0; sample < rows; ++sample) {
      if (kernel_gradient) {
        lists.by_filter(dy, taps);
        Sparse::add_kernel_gradient(filters_, lists.entries(), lists.counts(), windows(w_), rows_.pad(x), row_stride(),
                                    packed_gradient_);
      }
      if (dx) {
        lists.by_position(dy, taps, Sparse::packed_length);
        Sparse::add_input_gradient(filters_, windows(w_) * H * W, lists.offsets(), lists.counts(), lists.entries(),
                                   packed_kernel_, rows_.cleared(dx), row_stride());
        rows_.unpad(dx);
        dx += w_.input_size();
      }
      x += w_.input_size();
      dy += windows(w_) * filters_;
      taps += windows(w_) * filters_;
    }
    if (kernel_gradient) Sparse::unpack(filters_, packed_gradient_, kernel_gradient);
  }

  void dense_backward(std::size_t rows, T const* x, T const* kernel, T const* dy, Tap const* taps, T* kernel_gradient,
                      T* dx) const {
    if (dx) rows_.prepare_input_gradient(kernel);
    if (spread && kernel_gradient) std::fill_n(kernel_gradient, w_.taps() * w_.channels * filters_, T{0});
    bool const unpools = !spread || dx;
    if (unpools) std::fill_n(unpooled_, w_.positions() * filters_, T{0});
    for (std::size_t sample = 0; sample < rows; ++sample) {
      if (unpools) unpool(dy, taps);
      if (kernel_gradient) {
        T const* const image = rows_.pad(x);
        if constexpr (spread)
          Spread::add(lines(w_), columns(w_), filters_, image, rows_.row_size(), dy, taps, kernel_gradient);
        else
          rows_.add_kernel_gradient(image, unpooled_, kernel_gradient, sample > 0);
      }
      if (dx) {
        rows_.input_gradient(unpooled_, dx);
        dx += w_.input_size();
      }
      x += w_.input_size();
      dy += windows(w_) * filters_;
      taps += windows(w_) * filters_;
    }
  }

  /// One sample's gradient of the whole convolution. Positions that no window covers are zero from the start.
  void unpool(T const* dy, Tap const* taps) const {
    for (std::size_t line = 0; line < lines(w_); ++line)
      for (std::size_t column = 0; column < columns(w_); ++column, dy += filters_, taps += filters_)
        for (std::size_t p = 0; p < H * W; ++p) {
          T* const to = unpooled_ + ((line * H + p / W) * w_.width.out + column * W + p % W) * filters_;
          TRIREME_SIMD
          for (std::size_t o = 0; o < filters_; ++o) to[o] = taps[o] == p ? dy[o] : T{0};
        }
  }

  Window2D w_;
  std::size_t filters_;
  RowConvolution<T> rows_;
  T* last_;
  T* packed_kernel_ = nullptr;
  T* packed_gradient_ = nullptr;
  std::byte* lists_ = nullptr;
  T* unpooled_ = nullptr;
};

}  // namespace trireme::detail
