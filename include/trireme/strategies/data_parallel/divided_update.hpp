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
#include "trireme/models/description.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/shared_arrays.hpp"
#include "trireme/strategies/data_parallel/operand_copies.hpp"
#include "trireme/strategies/data_parallel/product_list.hpp"
#include "trireme/strategies/gradients/shared_gradients.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// First element of a rank's range: ranges are equal but for a row of a matrix, or a cache line elsewhere.
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

/// Room for the operands of the products of a model's matrices.
inline OperandRoom operand_room(ModelDescription const& model, std::size_t partitions, std::size_t rows) {
  OperandRoom room{.partitions = partitions, .products = 0, .columns = 0, .rows = rows};
  for (ParameterInfo const& p : model.parameters) {
    if (p.shape.rank < 2) continue;
    std::size_t const n = p.shape.extents[p.shape.rank - 1];
    ++room.products;
    room.columns += n + p.size / n;
  }
  return room;
}

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
    auto arrays = SharedArrays<T>::make(communicator, weights.size());
    if (!arrays) return nullptr;
    auto lists = SharedArrays<std::uint64_t>::make(communicator, operand_room(model, partitions, 0).list_words());
    if (!lists) return nullptr;
    std::unique_ptr<DividedUpdate> update(
        new DividedUpdate(communicator, space, gradients, model, std::move(arrays), std::move(lists), partitions));
    weights.place(update->weights_->own(), [arrays = update->weights_.get()] { arrays->wait(); });
    return update;
  }

  /// The elements that this rank updates.
  RowRange own() const { return ranges_[weights_->rank()]; }

  /// Begins a step of so many rows of this rank, and of all. \param copied  false if layers store all gradients
  OperandCopies<T>* begin(std::size_t rows, std::size_t global_rows, bool copied) {
    if (global_rows > reserved_rows_) reserve(global_rows);
    // Depends on this step alone: a run that was resumed copies in the same steps.
    bool const fits = operands_ != nullptr && rows <= most_rows(global_rows);
    copies_.begin(rows, global_rows, products_.size(), copied && fits);
    return &copies_;
  }
  /// The same for a step whose gradients are all stored, also those of ranks without rows.
  void begin_stored() { copies_.begin(1, 0, products_.size(), false); }

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

  /// Brings the ranges that the ranks have updated to all of them.
  void exchange() {
    ProfilingRegion const region("trireme::DividedUpdate::exchange");
    gradients_->meet();
    for (std::size_t rank = 0; rank < ranges_.size(); ++rank) {
      if (rank == weights_->rank()) continue;
      kernels::CopyRange<T> const copy{weights_->all()[rank], weights_->own(), ranges_[rank].begin, ranges_[rank].end};
      detail::host_loop(space_, threads_, "trireme::copy_weights", copy.blocks(), copy);
    }
    weights_->arrive();
  }

 private:
  DividedUpdate(Communicator const& communicator, Space const& space, SharedGradients<T, Space>& gradients,
                ModelDescription const& model, std::unique_ptr<SharedArrays<T>> weights,
                std::unique_ptr<SharedArrays<std::uint64_t>> lists, std::size_t partitions)
      : communicator_(&communicator),
        space_(space),
        gradients_(&gradients),
        weights_(std::move(weights)),
        lists_(std::move(lists)),
        room_(operand_room(model, partitions, 0)),
        partitions_(communicator.allgatherv(std::vector<std::size_t>{partitions}).values()),
        products_(std::accumulate(partitions_.begin(), partitions_.end(), std::size_t{0})) {
    for (std::size_t rank = 0; rank < communicator.size(); ++rank)
      ranges_.push_back({first_of_range<T>(model, rank, communicator.size()),
                         first_of_range<T>(model, rank + 1, communicator.size())});
    copies_ = {room_, lists_->own(), nullptr};
  }

  /// Rows of a rank, of so many of all, whose operands are copied: those of one that has many more than others would
  /// take memory on all.
  std::size_t most_rows(std::size_t global_rows) const { return global_rows / ranges_.size() + room_.partitions + 1; }

  /// Makes room for batches of so many rows of all ranks.
  void reserve(std::size_t global_rows) {
    reserved_rows_ = global_rows;
    room_.rows = most_rows(global_rows);
    operands_.reset();
    operands_ = SharedArrays<T>::make(*communicator_, room_.values());
    copies_ = {room_, lists_->own(), operands_ ? operands_->own() : nullptr};
  }

  Communicator const* communicator_;
  Space space_;
  std::size_t threads_ = static_cast<std::size_t>(space_.concurrency());  // asking allocates
  SharedGradients<T, Space>* gradients_;
  std::unique_ptr<SharedArrays<T>> weights_;
  std::unique_ptr<SharedArrays<T>> operands_;  ///< null before the first step, or if there is no more memory
  std::unique_ptr<SharedArrays<std::uint64_t>> lists_;
  std::size_t reserved_rows_ = 0;
  OperandRoom room_;
  OperandCopies<T> copies_;
  std::vector<std::size_t> partitions_;   ///< of each rank
  std::vector<ProductList<T>> products_;  ///< of all partitions of all ranks
  std::vector<RowRange> ranges_;
};

}  // namespace trireme
