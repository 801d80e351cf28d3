/// DividedUpdate: a step's update where the ranks of a node divide the weights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "trireme/backend/threads/host_loop.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/row_range.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/gradient.hpp"
#include "trireme/models/description.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/fault/abort_message.hpp"
#include "trireme/mpi/shared_arrays.hpp"
#include "trireme/strategies/data_parallel/operand_copies.hpp"
#include "trireme/strategies/data_parallel/product_list.hpp"
#include "trireme/strategies/gradients/shared_gradients.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// First element of a rank's range. Ranges are equal, except for a row of a matrix, or a cache line elsewhere.
template <class T>
std::size_t first_of_range(ModelDescription const& model, std::size_t rank, std::size_t ranks) {
  if (rank == ranks) return model.elements;
  std::size_t const even = model.elements * rank / ranks;
  for (ParameterInfo const& p : model.parameters) {
    if (even < p.offset || even >= p.offset + p.size) continue;
    std::size_t const row = p.shape.rank > 1 ? p.shape.extents[p.shape.rank - 1] : arena_alignment / sizeof(T);
    return p.offset + std::min(p.size, (even - p.offset) / row * row);
  }
  return even;
}

/// The matrices of a model whose products may be deferred.
struct DeferrableMatrices {
  struct Matrix {
    std::size_t m, n;
  };
  std::vector<Matrix> matrices;

  /// Matrices of a model.
  explicit DeferrableMatrices(ModelDescription const& model);
  /// Columns of all operands of a sample, in batches of so many rows of all ranks.
  std::size_t columns(std::size_t global_rows) const;
};

/// Each rank of a node sums the gradients of its range of the weights over all ranks and updates this range, which the
/// others then copy. Gradients of matrices with few samples are not even stored: from their operands each rank computes
/// those of its range for the samples of all ranks. Each rank's time and memory traffic for gradients and update so
/// fall with the number of ranks. All calls are collective, in the same order on all ranks.
template <class T, class Space>
class DividedUpdate {
 public:
  /// Update of `gradients` by ranks with so many partitions each. Null if memory cannot be shared.
  template <class Weights>
  static std::unique_ptr<DividedUpdate> make(Communicator const& communicator, Space const& space,
                                             SharedGradients<T, Space>& gradients, ModelDescription const& model,
                                             Weights& weights, std::size_t partitions) {
    DeferrableMatrices matrices(model);
    OperandRoom const room{.partitions = partitions, .products = matrices.matrices.size(), .columns = 0};
    auto arrays = SharedArrays<T>::make(communicator, weights.size());
    if (!arrays) return nullptr;
    auto lists = SharedArrays<std::uint64_t>::make(communicator, room.list_words());
    if (!lists) return nullptr;
    std::unique_ptr<DividedUpdate> update(new DividedUpdate(communicator, space, gradients, model, std::move(matrices),
                                                            std::move(arrays), std::move(lists), room));
    weights.place(update->weights_->own());
    return update;
  }

  /// The elements that this rank updates.
  RowRange own() const { return ranges_[weights_->rank()]; }
  /// Bytes of a rank for operands in batches of so many rows of all ranks.
  std::size_t operand_bytes(std::size_t global_rows) const { return operands_of(global_rows) * sizeof(T); }

  /// Begins a step of so many rows of this rank, and of all. \param copied  false if layers store all gradients
  OperandCopies<T>* begin(std::size_t rows, std::size_t global_rows, bool copied) {
    std::size_t const needed = operands_of(global_rows);
    if (needed > requested_) request(needed);
    bool const fits = needed > 0 && needed <= room_for_ && rows <= most_rows(global_rows);
    room_.columns = matrices_.columns(global_rows);
    copies_ = {room_, lists_->own(), operands_ ? operands_->own() : nullptr};
    copies_.begin(rows, global_rows, products_.size(), copied && fits);
    return &copies_;
  }
  /// The same for a step whose gradients are all stored, also those of ranks without rows.
  void begin_stored() {
    copies_ = {room_, lists_->own(), nullptr};
    copies_.begin(1, 0, products_.size(), false);
  }

  /// Waits until the gradients and operands of all ranks are complete.
  void meet() {
    gradients_->meet();
    ProductList<T>* lists = products_.data();
    for (std::size_t rank = 0; rank < ranges_.size(); ++rank) {
      T const* const operands = operands_ ? operands_->all()[rank] : nullptr;
      read_products(room_.products, lists_->all()[rank], operands, gradients_->arena(rank), {lists, partitions_[rank]});
      lists += partitions_[rank];
    }
  }
  /// Deferred products of all partitions of all ranks.
  std::vector<ProductList<T>> const& products() const { return products_; }
  /// See SharedGradients.
  template <class F>
  void for_each_sum(std::size_t begin, std::size_t end, F const& f) const {
    gradients_->for_each_sum(begin, end, f);
  }

  /// Brings the ranges that the ranks have updated to all of them. Then no rank reads the weights of another.
  void exchange() {
    ProfilingRegion const region("trireme::DividedUpdate::exchange");
    gradients_->meet();
    for (std::size_t rank = 0; rank < ranges_.size(); ++rank) {
      if (rank == weights_->rank()) continue;
      kernels::CopyRange<T> const copy{weights_->all()[rank], weights_->own(), ranges_[rank].begin, ranges_[rank].end};
      detail::host_loop(space_, threads_, "trireme::copy_weights", copy.blocks(), copy);
    }
    gradients_->meet();
  }

 private:
  DividedUpdate(Communicator const& communicator, Space const& space, SharedGradients<T, Space>& gradients,
                ModelDescription const& model, DeferrableMatrices matrices, std::unique_ptr<SharedArrays<T>> weights,
                std::unique_ptr<SharedArrays<std::uint64_t>> lists, OperandRoom const& room)
      : communicator_(&communicator),
        space_(space),
        gradients_(&gradients),
        matrices_(std::move(matrices)),
        weights_(std::move(weights)),
        lists_(std::move(lists)),
        room_(room),
        partitions_(communicator.allgatherv(std::vector<std::size_t>{room.partitions}).values()),
        products_(std::accumulate(partitions_.begin(), partitions_.end(), std::size_t{0})) {
    for (std::size_t rank = 0; rank < communicator.size(); ++rank)
      ranges_.push_back({first_of_range<T>(model, rank, communicator.size()),
                         first_of_range<T>(model, rank + 1, communicator.size())});
  }

  /// Rows of a rank, of so many of all, whose operands are copied. One that has many more rows than others stores its
  /// gradients, since room for them would be needed on all ranks. Depends on the step alone, so that a run that was
  /// resumed copies in the same steps.
  std::size_t most_rows(std::size_t global_rows) const {
    return (global_rows + ranges_.size() - 1) / ranges_.size() + 1;
  }
  std::size_t operands_of(std::size_t global_rows) const {
    return most_rows(global_rows) * matrices_.columns(global_rows);
  }
  void request(std::size_t needed) {
    requested_ = needed;
    auto larger = SharedArrays<T>::make(*communicator_, needed);
    if (!larger) return warn_of_stored(needed);
    operands_ = std::move(larger);
    room_for_ = needed;
  }
  /// Says once that steps have other rounding than in runs with enough memory.
  void warn_of_stored(std::size_t needed) {
    if (std::exchange(has_warned_, true) || !communicator_->is_chief()) return;
    detail::report(
        formatted("trireme: warning: the ranks of a node have no {} bytes more to share in /dev/shm, so layers store "
                  "the gradients of larger batches: results differ by rounding, and steps take longer",
                  needed * sizeof(T) * communicator_->size()));
  }

  Communicator const* communicator_;
  Space space_;
  std::size_t threads_ = static_cast<std::size_t>(space_.concurrency());  // asking allocates
  SharedGradients<T, Space>* gradients_;
  DeferrableMatrices matrices_;
  std::unique_ptr<SharedArrays<T>> weights_;
  std::unique_ptr<SharedArrays<T>> operands_;  ///< null before the first step that defers, or without memory for it
  std::unique_ptr<SharedArrays<std::uint64_t>> lists_;
  std::size_t requested_ = 0, room_for_ = 0;  ///< numbers in `operands_`
  bool has_warned_ = false;
  OperandRoom room_;
  OperandCopies<T> copies_;
  std::vector<std::size_t> partitions_;   ///< of each rank
  std::vector<ProductList<T>> products_;  ///< of all partitions of all ranks
  std::vector<RowRange> ranges_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/data_parallel/divided_update.ipp"
#endif
