/// Convolution of any window by products over patches that are gathered where they are used: a block stays in its
/// core's cache, and no matrix of all patches is written or read.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/convolution/patch_gather.hpp"
#include "trireme/backend/convolution/window.hpp"
#include "trireme/backend/convolution/winograd_layout.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/tile_gemm.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme::detail {

/// Sums depend on the sizes alone, not on the number of threads.
template <class T>
class PatchConvolution {
 public:
  static constexpr std::size_t workspace(Window2D const& w, std::size_t filters) {
    return aligned_bytes(std::max({panels_elements(patch(w), filters), panels_elements(w.taps() * filters, w.channels),
                                   sums_elements(w, filters)}) *
                         sizeof(T));
  }

  PatchConvolution(Window2D const& w, std::size_t filters, Workspace workspace)
      : w_(w), filters_(filters), memory_(workspace.take<T>(PatchConvolution::workspace(w, filters) / sizeof(T))) {}

  template <class Context>
  void forward(Context& context, std::size_t rows, T const* x, T const* kernel, T* y) const {
    PatchGrid const grid = outputs(rows);
    Panels<T> const panels{filters_};
    context.for_rows("trireme::pack_kernel", panels.count() * w_.taps(), [&](std::size_t i) {
      std::size_t const panel = i / w_.taps(), tap = i % w_.taps(), width = panels.width(panel);
      pack_rows(w_.channels, panels.columns(panel), width,
                kernel + tap * w_.channels * filters_ + panel * Panels<T>::most, filters_,
                memory_ + panel * grid.patch_size() * Panels<T>::most + tap * w_.channels * width);
    });
    multiply(context, grid, x, filters_, memory_, y);
  }

  template <class Context>
  void input_gradient(Context& context, std::size_t rows, T const* kernel, T const* dy, T* dx) const {
    Panels<T> const panels{w_.channels};
    T* packed = memory_;
    for (std::size_t i = 0; i < w_.height.stride; ++i)
      for (std::size_t j = 0; j < w_.width.stride; ++j) {
        PatchGrid const grid{input_taps(w_.height, i), input_taps(w_.width, j), filters_, rows};
        context.for_rows("trireme::pack_kernel", panels.count() * grid.taps(), [&](std::size_t e) {
          std::size_t const panel = e / grid.taps(), t = e % grid.taps(), width = panels.width(panel);
          std::size_t const u = grid.height.tap_first + t / grid.width.taps * grid.height.tap_step,
                            v = grid.width.tap_first + t % grid.width.taps * grid.width.tap_step;
          pack_transposed(filters_, panels.columns(panel), width,
                          kernel + ((u * w_.width.window + v) * w_.channels + panel * Panels<T>::most) * filters_,
                          filters_, packed + panel * grid.patch_size() * Panels<T>::most + t * filters_ * width);
        });
        multiply(context, grid, dy, w_.channels, packed, dx);
        packed += grid.patch_size() * panels.count() * Panels<T>::most;
      }
  }

  template <class Context>
  void kernel_gradient(Context& context, std::size_t rows, T const* x, T const* dy, T* gradient) const {
    PatchGrid const grid = outputs(rows);
    std::size_t const blocks = column_blocks(w_), groups = position_groups(w_), size = patch(w_) * filters_;
    T* const sums = groups > 1 ? memory_ : gradient;
    context.for_rows("trireme::kernel_gradient", blocks * groups, [&](std::size_t i) {
      std::size_t const group = i / blocks;
      add_products(grid, i % blocks, grid.positions() * group / groups, grid.positions() * (group + 1) / groups, x, dy,
                   sums + group * size);
    });
    if (groups == 1) return;
    context.for_rows("trireme::kernel_gradient", patch(w_), [&](std::size_t row) {
      T* const total = gradient + row * filters_;
      std::copy_n(sums + row * filters_, filters_, total);
      for (std::size_t group = 1; group < groups; ++group)
        for (std::size_t k = 0; k < filters_; ++k) total[k] += sums[group * size + row * filters_ + k];
    });
  }

 private:
  /// Bytes of a block of patches: a part of the second cache.
  static constexpr std::size_t block_bytes = std::size_t{512} << 10;
  static constexpr std::size_t most_positions = 96;
  /// Numbers of a patch that a block of the kernel's gradient has; windows with few have them all in one.
  static constexpr std::size_t most_columns = 96, few_columns = 192;
  /// Blocks of the kernel's gradient that are there for threads, at least.
  static constexpr std::size_t wanted_tasks = 8;
  enum Buffer : int { patches_buffer = 4, sums_buffer = 6 };

  static constexpr std::size_t patch(Window2D const& w) { return w.taps() * w.channels; }
  static constexpr std::size_t panels_elements(std::size_t depth, std::size_t columns) {
    return depth * Panels<T>{columns}.count() * Panels<T>::most;
  }
  static constexpr std::size_t channel_blocks(Window2D const& w) {
    return (w.channels + most_columns - 1) / most_columns;
  }
  static constexpr std::size_t column_blocks(Window2D const& w) {
    return patch(w) <= few_columns ? 1 : w.taps() * channel_blocks(w);
  }
  static constexpr std::size_t position_groups(Window2D const& w) {
    return (wanted_tasks + column_blocks(w) - 1) / column_blocks(w);
  }
  static constexpr std::size_t sums_elements(Window2D const& w, std::size_t filters) {
    return position_groups(w) > 1 ? position_groups(w) * patch(w) * filters : 0;
  }

  PatchGrid outputs(std::size_t rows) const {
    return {output_taps(w_.height), output_taps(w_.width), w_.channels, rows};
  }

  /// Each position's outputs are its patch times the packed kernel, panel after panel; zeros where it has no taps.
  template <class Context>
  void multiply(Context& context, PatchGrid const& grid, T const* x, std::size_t columns, T const* kernel, T* y) const {
    std::size_t const positions = grid.positions(), depth = grid.patch_size();
    std::size_t const fitting = block_bytes / sizeof(T) / std::max<std::size_t>(1, depth) / 12 * 12;
    std::size_t const block = std::clamp<std::size_t>(fitting, 24, most_positions);
    std::size_t const few = (positions + block - 1) / block;
    std::size_t const blocks = few <= 4 ? few : (few + 3) / 4 * 4;
    Panels<T> const panels{columns};
    // Few blocks leave threads idle: then several take a block, each with a part of the panels.
    std::size_t const parts =
        blocks == 0 ? 1 : std::min(panels.count(), std::max<std::size_t>(1, wanted_tasks / blocks));
    context.for_rows("trireme::patch_products", blocks * parts, [&](std::size_t i) {
      std::size_t const begin = positions * (i / parts) / blocks, end = positions * (i / parts + 1) / blocks,
                        part = i % parts;
      T* const patches = pack_buffer<T, patches_buffer>((end - begin) * depth);
      if (depth > 0) gather_patches(grid, x, begin, end - begin, patches);
      for (std::size_t panel = panels.count() * part / parts; panel < panels.count() * (part + 1) / parts; ++panel)
        multiply_panel(grid, begin, end, patches, panels, panel, columns, kernel + panel * depth * Panels<T>::most, y);
    });
  }

  void multiply_panel(PatchGrid const& grid, std::size_t begin, std::size_t end, T const* patches,
                      Panels<T> const& panels, std::size_t panel, std::size_t columns, T const* kernel, T* y) const {
    bool const adjacent = grid.height.out_step == 1 && grid.width.out_step == 1;
    std::size_t const count = panels.columns(panel), depth = grid.patch_size();
    T* const sums = adjacent ? y + begin * columns + panel * Panels<T>::most
                             : pack_buffer<T, sums_buffer>((end - begin) * Panels<T>::most);
    std::size_t const ld = adjacent ? columns : Panels<T>::most;
    if (depth > 0)
      TileGemm<T>::run({.m = end - begin,
                        .n = count,
                        .a = {.first = patches, .row_stride = depth, .step = 1, .segment = depth},
                        .b = kernel,
                        .ldb = panels.width(panel),
                        .c = sums,
                        .ldc = ld});
    else
      for (std::size_t i = 0; i < end - begin; ++i) std::fill_n(sums + i * ld, count, T{0});
    if (adjacent) return;
    for (std::size_t i = 0; i < end - begin; ++i) {
      PatchPlace const at(grid, begin + i);
      std::size_t const line = grid.height.out_first + at.line * grid.height.out_step,
                        column = grid.width.out_first + at.column * grid.width.out_step;
      std::copy_n(sums + i * ld, count,
                  y + ((at.sample * w_.height.in + line) * w_.width.in + column) * columns + panel * Panels<T>::most);
    }
  }

  /// The sums of one block of the kernel's gradient over positions [begin, end).
  void add_products(PatchGrid const& grid, std::size_t block, std::size_t begin, std::size_t end, T const* x,
                    T const* dy, T* gradient) const {
    bool const whole = column_blocks(w_) == 1;
    std::size_t const parts = channel_blocks(w_), tap = whole ? 0 : block / parts, part = block % parts,
                      from = whole ? 0 : w_.channels * part / parts,
                      to = whole ? patch(w_) : w_.channels * (part + 1) / parts, columns = to - from;
    T* const patches = pack_buffer<T, patches_buffer>(most_positions * columns);
    for (std::size_t i = begin; i < end || i == begin; i += most_positions) {
      std::size_t const count = std::min(most_positions, end - i);
      if (whole)
        gather_patches(grid, x, i, count, patches);
      else
        gather_taps(grid, x, tap, from, to, i, count, patches, columns);
      TileGemm<T>::run({.m = columns,
                        .n = filters_,
                        .a = {.first = patches, .row_stride = 1, .step = columns, .segment = count},
                        .b = dy + i * filters_,
                        .ldb = filters_,
                        .c = gradient + (tap * w_.channels + from) * filters_,
                        .ldc = filters_,
                        .accumulate = i > begin});
    }
  }

  Window2D w_;
  std::size_t filters_;
  T* memory_;
};

}  // namespace trireme::detail
