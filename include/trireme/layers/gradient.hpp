/// Gradient: a parameter's gradient, as a layer states it in backward.
#pragma once

#include <algorithm>
#include <cstddef>

#include "trireme/backend/execution/storing_context.hpp"
#include "trireme/backend/gemm/cache_gemm.hpp"
#include "trireme/backend/gemm/epilogue.hpp"
#include "trireme/backend/gemm/pack.hpp"
#include "trireme/backend/gemm/product.hpp"
#include "trireme/backend/gemm/split_gemm.hpp"
#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/backend/threads/host_context.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/gradient_sink.hpp"

namespace trireme {

/// Rows of a batch up to which blocks pay: beyond them the products cost more than the gradient's way through memory,
/// and a large product is faster as a whole. More of them where register tiles are as fast as a BLAS.
template <class T>
inline constexpr std::size_t gradient_block_rows = detail::SimdVector<T>::lanes * sizeof(T) == 64 ? 256 : 64;

namespace kernels {

/// Rows and columns of the blocks of a gradient that is used up at once: a block stays in a core's cache until then.
struct GradientBlock {
  std::size_t rows, columns;
};

/// For a gradient of n columns, summed over `depth` rows of a batch. Memory is read along rows, in pieces of some
/// kilobytes. Some hundred rows of a batch make blocks pay only if they are so high that copies of panels of these rows
/// do, and so narrow that these stay in the second cache.
template <class T>
constexpr GradientBlock gradient_block(std::size_t n, std::size_t depth) {
  constexpr std::size_t narrow = 2048 / sizeof(T), wide = 4096 / sizeof(T);
  if (n > narrow && depth > 64 && depth <= gradient_block_rows<T>) return {192, narrow};
  std::size_t const columns = std::clamp(n, std::size_t{1}, wide);
  return {12 * wide / columns, columns};
}

/// The blocks of a product whose result goes to a sink, as many for each thread, which takes the rows of the weights
/// that it owns, one column of blocks after the other.
template <class T>
struct GradientBlocks {
  Product<T> whole;
  GradientSink<T>* sink;
  std::size_t threads, columns, column_blocks, row_blocks;

  GradientBlocks(Product<T> const& product, GradientSink<T>* to, std::size_t of_threads)
      : GradientBlocks(product, to, of_threads, gradient_block<T>(product.n, product.k)) {}

  std::size_t count() const { return threads * row_blocks * column_blocks; }

  void operator()(std::size_t block) const {
    RowRange const own = detail::owned_range(whole.m, block / (row_blocks * column_blocks), threads);
    RowRange const part_rows = row_range(own.end - own.begin, block % row_blocks, row_blocks);
    std::size_t const i = own.begin + part_rows.begin, j = block / row_blocks % column_blocks * columns;
    Product<T> part = whole;
    part.m = part_rows.end - part_rows.begin;
    part.n = std::min(columns, whole.n - j);
    if (part.m == 0) return;
    part.skip_left_rows(i);
    part.b += whole.transpose_b ? j * whole.ldb : j;
    part.c = detail::pack_buffer<T, 2>(part.m * part.n);
    part.ldc = part.n;
    detail::cache_gemm(part);
    T const* const at = whole.c + i * whole.ldc + j;
    if (part.n == whole.ldc) return sink->take(at, part.c, part.m * part.n);
    for (std::size_t row = 0; row < part.m; ++row) sink->take(at + row * whole.ldc, part.c + row * part.n, part.n);
  }

 private:
  GradientBlocks(Product<T> const& product, GradientSink<T>* to, std::size_t of_threads, GradientBlock const& block)
      : whole(product),
        sink(to),
        threads(of_threads),
        columns(block.columns),
        column_blocks(blocks_of(product.n, block.columns)),
        row_blocks(blocks_of(most_rows(), block.rows)) {}

  static std::size_t blocks_of(std::size_t n, std::size_t block) { return (n + block - 1) / block; }
  /// Rows of the thread that owns most.
  std::size_t most_rows() const {
    std::size_t most = 0;
    for (std::size_t thread = 0; thread < threads; ++thread) {
      RowRange const own = detail::owned_range(whole.m, thread, threads);
      most = std::max(most, own.end - own.begin);
    }
    return most;
  }
};

}  // namespace kernels

/// True if a sink may defer products under a context: under the parallelism over samples, where a layer's input and
/// what it saved stay as they are until a step ends, unless outputs are stored in another type.
template <class Context>
inline constexpr bool defers_products = Context::owns_rows && !StoresOutputs<Context>;

/// True if the threads of a step compute a gradient (m, n) faster together, for `rows` rows over all threads: each then
/// reads all rows of n numbers, instead of storing and adding up gradients.
constexpr bool pays_to_defer(std::size_t m, std::size_t n, std::size_t rows) { return m * n >= 4096 && 2 * rows <= m; }

/// Matrix of rows of so many columns, in one block or scattered.
template <class T>
struct MatrixOperand {
  RowsView<T> rows;
  std::size_t columns;
};

/// Matrix of rows of so many columns in one block.
template <class T>
struct MatrixBlock {
  T const* values;
  std::size_t columns;
};

/// Lifetime of the operands of a product: they stay as they are until backward of the layer returns, or until the step
/// ends.
enum class Lifetime { call, step };

/// Gradient of one parameter, in its extents, summed over the rows of a slice. In backward a layer states once what it
/// is; the sink that the strategy chose stores it in the arena, hands it to the optimizer block by block, or has all
/// threads compute it later. All functions do nothing where the gradient is not wanted.
template <class T>
class Gradient {
 public:
  Gradient() = default;
  /// \param values  its place in the gradient arena, `size` elements.  \param sink  may be null: it is stored.
  Gradient(T* values, std::size_t size, GradientSink<T>* sink) : values_(values), size_(size), sink_(sink) {}

  /// False where the layer is frozen, or has no such parameter.
  explicit operator bool() const { return values_ != nullptr; }
  /// Memory for the gradient, which a kernel of the layer's own overwrites; null where it is not wanted.
  T* values() const { return values_; }

  /// The gradient of `count` elements of the parameter from `begin` on.
  Gradient range(std::size_t begin, std::size_t count) const {
    return values_ ? Gradient(values_ + begin, count, sink_) : Gradient();
  }

  /// x^T dy, for matrices x (k, m) and dy (k, n) whose product has as many elements as the parameter. To be called when
  /// the layer has finished reading the parameter. With Lifetime::step the sink may compute it later.
  template <class Context>
  void product(Context& context, std::size_t k, MatrixOperand<T> const& x, MatrixBlock<T> const& dy,
               Lifetime operands = Lifetime::call) const {
    if (!values_) return;
    if (operands == Lifetime::step && defers(context, k, x.columns, dy.columns))
      return sink_->defer({x.columns, dy.columns, k, x.rows, dy.values, values_});
    Product<T> const whole = whole_product(k, x, dy);
    if constexpr (is_host_context<Context>) {
      if (detail::has_simd && sink_ && k > 0 && k <= gradient_block_rows<T> && sink_->takes(values_, size_)) {
        kernels::GradientBlocks<T> const blocks(whole, sink_, detail::threads_for_product(context.threads(), whole));
        return context.for_rows("trireme::gradient_blocks", blocks.count(), blocks);
      }
    }
    context.gemm(whole);
  }

  /// As `product`, and the sums of dy's columns as the gradient of the bias.
  template <class Context>
  void product_and_column_sums(Context& context, char const* sums_label, std::size_t k, MatrixOperand<T> const& x,
                               MatrixBlock<T> const& dy, Gradient const& bias,
                               Lifetime operands = Lifetime::call) const {
    bias.column_sums(context, sums_label, k, dy.values);
    product(context, k, x, dy, operands);
  }

  /// True if `product` of these sizes will be deferred when its operands stay until the step ends. A layer that has to
  /// copy an operand to let it stay asks first.
  template <class Context>
  bool defers([[maybe_unused]] Context const& context, std::size_t k, std::size_t m, std::size_t n) const {
    if constexpr (defers_products<Context>)
      return values_ && sink_ && sink_->defers(m, n, k);
    else
      return false;
  }

  /// The sum of the `rows` rows of dy, each of as many elements as the parameter.
  template <class Context>
  void column_sums(Context& context, char const* label, std::size_t rows, T const* dy) const {
    if (values_) context.column_sums(label, rows, size_, dy, values_);
  }
  /// The sum of term(row, j) over `rows` rows, for each element j of the parameter. Terms may store: each is called
  /// once.
  template <class Context, class Term>
  void sum_columns(Context& context, char const* label, std::size_t rows, Term const& term) const {
    if (values_) context.sum_columns(label, rows, size_, term, values_);
  }

  /// For a table whose gradient is zero except in the rows that the `count` indices name: memory to add them to,
  /// cleared; null where the gradient is not wanted. Indices stay as they are until the step ends.
  template <class Context>
  T* table(Context& context, T const* indices, std::size_t count) const {
    if (values_ && !(sink_ && sink_->only_rows(values_, indices, count)))
      context.for_each("trireme::clear_table", size_, kernels::Clear<T>{values_});
    return values_;
  }

 private:
  Product<T> whole_product(std::size_t k, MatrixOperand<T> const& x, MatrixBlock<T> const& dy) const {
    return {.m = x.columns,
            .n = dy.columns,
            .k = k,
            .a = x.rows,
            .lda = x.columns,
            .b = dy.values,
            .ldb = dy.columns,
            .c = values_,
            .ldc = dy.columns,
            .transpose_a = true};
  }

  T* values_ = nullptr;
  std::size_t size_ = 0;
  GradientSink<T>* sink_ = nullptr;
};

}  // namespace trireme
