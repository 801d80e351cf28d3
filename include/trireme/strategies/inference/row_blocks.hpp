/// Inference of a host space: blocks of rows, each computed by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/thread_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/object_pool.hpp"
#include "trireme/backend/threads/one_blas_thread.hpp"
#include "trireme/models/flops.hpp"

namespace trireme {

namespace detail {

/// Operations of forward for one row, estimated.
template <class Model>
std::size_t row_operations(Model const& model) {
  if constexpr (requires { model.architecture().input(); })
    return layer_flops(model.architecture(), model.architecture().input());
  else
    return 2 * model.cost().parameters;
}

}  // namespace detail

/// Computes a model's outputs for any number of threads at once. The blocks depend on the model alone, so the result
/// does not depend on the number of threads or on their other work.
///
/// A call computes its blocks on its own thread if they are few, or if another call has the space's threads already.
/// Otherwise all threads of the space share them.
template <class Model, class Space>
class RowBlocks {
  using T = typename Model::scalar;
  using Workspace = Kokkos::View<std::byte*, Kokkos::HostSpace>;

 public:
  /// Blocks of as many rows as the model's operations suggest, for the threads of the space.
  RowBlocks(Model const& model, Space const& space)
      : space_(space),
        threads_(static_cast<std::size_t>(space.concurrency())),
        row_operations_(std::max<std::size_t>(1, detail::row_operations(model))),
        block_(std::clamp(block_operations / row_operations_, least_rows, most_rows)),
        workspace_bytes_(model.template workspace_bytes<ThreadContext>(block_)) {}

  /// y (rows, output) for x (rows, input). Allocates a workspace the first time that so many threads call at once.
  void predict(Model const& model, std::size_t rows, T const* x, T* y, T const* parameters) const {
    std::size_t const blocks = (rows + block_ - 1) / block_;
    auto const compute = [&](Workspace const& workspace, std::size_t first, std::size_t step) {
      ThreadContext context;
      detail::OneBlasThread const one;  // its threads would divide products, and so sums, in another way
      for (std::size_t block = first; block < blocks; block += step) {
        std::size_t const row = block * block_;
        model.predict(context, std::min(block_, rows - row), x + row * model.input_size(),
                      y + row * model.output_size(), parameters, workspace.data());
      }
    };
    std::size_t const threads = std::min(threads_, blocks);
    if (threads > 1 && rows >= region_operations / row_operations_) {
      std::unique_lock const region(region_, std::try_to_lock);
      if (region.owns_lock()) {
        while (region_workspaces_.size() < threads) region_workspaces_.push_back(new_workspace());
        detail::host_loop(space_, threads, "trireme::predictor", threads,
                          [&](std::size_t thread) { compute(region_workspaces_[thread], thread, threads); });
        return;
      }
    }
    auto const own = pool_.borrow([this] { return std::make_unique<Workspace>(new_workspace()); });
    compute(*own, 0, 1);
  }

  /// Bytes that each thread takes.
  std::size_t workspace_bytes() const { return workspace_bytes_; }
  /// Rows of a block.
  std::size_t rows_of_block() const { return block_; }

 private:
  /// A block is some tenths of a millisecond of work, with enough rows for products to use their tiles.
  static constexpr std::size_t block_operations = 4'000'000, least_rows = 4, most_rows = 64;
  /// Threads that sleep take up to some tens of microseconds until all of them work: waking them pays from about ten
  /// times as much work on.
  static constexpr std::size_t region_operations = 2 * block_operations;

  Workspace new_workspace() const { return uninitialized_view<Workspace>("trireme::predictor", workspace_bytes_); }

  Space space_;
  std::size_t threads_, row_operations_, block_, workspace_bytes_;
  mutable ObjectPool<Workspace> pool_;
  mutable std::mutex region_;
  mutable std::vector<Workspace> region_workspaces_;  ///< of the call that has the region
};

}  // namespace trireme
