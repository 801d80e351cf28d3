/// Sparse gradients of lookup tables: only the rows whose indices occurred are written, sent and cleared again.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/space_context.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/embedding_kernels.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/models/description.hpp"
#include "trireme/mpi/gpu_awareness.hpp"

namespace trireme {

/// Between steps all rows are zero except those that the last step touched; backward clears them before it adds its
/// own. Processes exchange records of an index and its row, added rank after rank, or the whole table if that is less
/// or if some process does not know the rows that it touched.
template <class T, class Space, class Group>
class SparseGradients final : public GradientSink<T> {
  using Memory = typename Space::memory_space;
  using View = Kokkos::View<T*, Memory>;
  static constexpr bool host_visible = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;
  static constexpr std::size_t unknown = std::numeric_limits<std::size_t>::max();

  struct Table {
    std::size_t offset, rows, columns;
    View dirty{};  ///< indices of the rows that are not zero, some perhaps several times
    std::size_t dirty_count = 0;
    bool all_dirty = true;
    bool named = false;  ///< true if backward has named the rows that it touches: the dirty ones
    // For a step in pieces: the rows that `keep` has added up elsewhere, each once, in ascending order.
    std::vector<T> kept{};
    bool kept_all = false, keeps_zeros = true;  ///< true if all rows are kept; true if all others are zero
  };

 public:
  /// Tables of the model, whose gradients the group sums.
  SparseGradients(Group const& group, Space const& space, ModelDescription const& model)
      : group_(&group), context_(space) {
    for (ParameterInfo const& p : model.parameters)
      if (p.by_rows) tables_.push_back({p.offset, p.shape.extents[0], p.shape.extents[1]});
  }

  /// True if the model has no table.
  bool empty() const { return tables_.empty(); }
  /// The sink that notes the rows which backward touches; null without tables.
  GradientSink<T>* sink() { return empty() ? nullptr : this; }

  /// Begins a step. Nothing stays of one that an exception has ended before its `sum`.
  void begin(T* gradients) {
    gradients_ = gradients;
    for (Table& table : tables_) {
      table.named = false;
      if (in_step_) table.all_dirty = true, table.kept.clear(), table.kept_all = table.keeps_zeros = false;
    }
    in_step_ = true;
  }

  void ready(T const*) override {}
  bool only_rows(T const* gradients, T const* indices, std::size_t count) override {
    for (Table& table : tables_) {
      if (gradients_ + table.offset != gradients || table.named) continue;
      clear(table);
      table.named = true;
      set_dirty(table, indices, count);
      return true;
    }
    return false;
  }

  void no_rows() override {
    for (Table& table : tables_) {
      table.named = true;
      table.all_dirty = false;
      table.dirty_count = 0;
    }
  }

  /// f(begin, end) for the ranges of the arena's elements [begin, end) that are outside of all tables.
  template <class F>
  void for_each_other(std::size_t begin, std::size_t end, F const& f) const {
    for (Table const& table : tables_) {
      if (table.offset >= end) break;
      if (table.offset > begin) f(begin, table.offset);
      begin = std::max(begin, table.offset + table.rows * table.columns);
    }
    if (begin < end) f(begin, end);
  }

  /// Between the pieces of a step: adds the tables' gradients of one piece to `earlier`, an arena of the same layout
  /// that is zero before its first use, and does not access rows that no piece touched.
  void keep(T* earlier) {
    for (Table& table : tables_) keep(table, earlier + table.offset);
  }
  /// After the last piece: adds the kept gradients, so that the tables have those of all pieces.
  void add_kept(T* earlier) {
    for (Table& table : tables_) add_kept(table, earlier + table.offset);
  }

  /// Adds up the tables' gradients over the processes, and notes which rows to clear. Collective.
  void sum() {
    for (Table& table : tables_) {
      table.all_dirty = !table.named;
      if constexpr (Group::distributed)
        if (group_->size() > 1) sum(table);
    }
    in_step_ = false;
  }
  /// All rows may have changed since the sum: a norm that is NaN makes all of a gradient NaN.
  void set_all_dirty() {
    for (Table& table : tables_) table.all_dirty = true;
  }

 private:
  T* rows_of(Table const& table) { return gradients_ + table.offset; }

  void clear(Table& table) {
    if (table.all_dirty)
      context_.for_each("trireme::clear_table", table.rows * table.columns, kernels::Clear<T>{rows_of(table)});
    else
      clear_rows(table, table.dirty.data(), table.dirty_count);
    table.all_dirty = false;
    table.dirty_count = 0;
  }
  void clear_rows(Table const& table, T const* indices, std::size_t count) {
    context_.for_each("trireme::clear_rows", count, table.columns,
                      kernels::ClearRows<T>{indices, rows_of(table), table.rows, table.columns});
  }

  void keep(Table& table, T* earlier) {
    std::size_t const size = table.rows * table.columns;
    T* const gradients = rows_of(table);
    bool const first = table.kept.empty() && !table.kept_all;
    if (!table.named && first) {
      kernels::copy(context_, size, static_cast<T const*>(gradients), earlier);
    } else if (!table.named) {
      context_.for_each("trireme::keep_table", size, kernels::AddTo<T>{gradients, earlier});
    } else {
      if (first && !table.keeps_zeros) context_.for_each("trireme::clear_table", size, kernels::Clear<T>{earlier});
      if (first) table.keeps_zeros = true;
      find_own_rows(table);
      add_rows(own_, gradients, earlier, table.columns);
      merge_own_rows(table.kept);
    }
    if (!table.named) table.kept_all = true, table.keeps_zeros = false;
    table.all_dirty = !table.named;
    table.named = false;
  }

  void add_kept(Table& table, T* earlier) {
    T* const gradients = rows_of(table);
    if (table.kept_all) {
      context_.for_each("trireme::add_table", table.rows * table.columns, kernels::AddTo<T>{earlier, gradients});
      table.named = false;
    } else if (!table.kept.empty()) {
      add_rows(table.kept, earlier, gradients, table.columns);
      context_.for_each("trireme::clear_rows", table.kept.size(), table.columns,
                        kernels::ClearRows<T>{indices_.data(), earlier, table.rows, table.columns});
      if (table.named) {
        find_own_rows(table);
        merge_own_rows(table.kept);
        reserve(table.dirty, table.kept.size());
        copy_from_host(table.dirty.data(), table.kept.data(), table.kept.size());
        table.dirty_count = table.kept.size();
      }
    }
    table.kept.clear();
    table.kept_all = false;
  }

  /// to += from in the rows of the indices, each named once; leaves these in `indices_`.
  void add_rows(std::vector<T> const& rows, T const* from, T* to, std::size_t columns) {
    reserve(indices_, rows.size());
    copy_from_host(indices_.data(), rows.data(), rows.size());
    context_.for_each("trireme::add_rows", rows.size(), columns,
                      kernels::AddTableRows<T>{indices_.data(), from, to, columns});
  }
  void merge_own_rows(std::vector<T>& rows) {
    merged_.resize(rows.size() + own_.size());
    merged_.erase(std::set_union(rows.begin(), rows.end(), own_.begin(), own_.end(), merged_.begin()), merged_.end());
    rows.swap(merged_);
  }

  /// \param indices  in the space's memory, copied since their memory may serve another purpose later in the step.
  void set_dirty(Table& table, T const* indices, std::size_t count) {
    reserve(table.dirty, count);
    context_.for_each("trireme::copy", count, kernels::Copy<T>{indices, table.dirty.data()});
    table.dirty_count = count;
  }

  void sum(Table& table) {
    find_own_rows(table);
    group_->allgather_into(table.named ? own_.size() : unknown, counts_);
    std::size_t total = 0;
    bool known = true;
    for (std::size_t const count : counts_) {
      known = known && count != unknown;
      total += known ? count : 0;
    }
    std::size_t const record = table.columns + 1;
    if (known && total * record < table.rows * table.columns && group_->fits_one_call(total * record))
      exchange_rows(table, total, record);
    else
      sum_all(table);
  }

  /// Finds the rows that this process has touched, each once.
  void find_own_rows(Table const& table) {
    own_.resize(table.named ? table.dirty_count : 0);
    if (own_.empty()) return;
    copy_to_host(own_.data(), table.dirty.data(), own_.size());
    std::erase_if(own_, [&](T index) { return kernels::table_row(index, table.rows) == table.rows; });
    std::sort(own_.begin(), own_.end());
    own_.erase(std::unique(own_.begin(), own_.end()), own_.end());
  }

  void exchange_rows(Table& table, std::size_t total, std::size_t record) {
    std::size_t const own = own_.size();
    reserve(packed_, std::max(own, std::size_t{1}) * record);
    reserve(indices_, own);
    copy_from_host(indices_.data(), own_.data(), own);
    context_.for_each("trireme::pack_rows", own, record,
                      kernels::PackRows<T>{indices_.data(), rows_of(table), packed_.data(), table.columns});
    clear_rows(table, indices_.data(), own);
    context_.fence("trireme: rows packed before they are sent");
    sent_.resize(own * record);
    copy_to_host(sent_.data(), packed_.data(), sent_.size());
    for (std::size_t& count : counts_) count *= record;
    received_.resize(total * record);
    group_->allgatherv_into(std::span<T const>(sent_), counts_, received_);
    reserve(all_, total * record);
    copy_from_host(all_.data(), received_.data(), received_.size());
    reserve(table.dirty, total);
    std::size_t first = 0;
    // A rank's records name different rows; the ranks' sums are taken one after the other, the same everywhere.
    for (std::size_t const count : counts_) {
      context_.for_each("trireme::add_rows", count / record, table.columns,
                        kernels::AddRows<T>{all_.data() + first, rows_of(table), table.columns});
      first += count;
    }
    context_.for_each("trireme::keep_indices", total, kernels::KeepIndices<T>{all_.data(), table.dirty.data(), record});
    table.dirty_count = total;
    table.all_dirty = false;
  }

  void sum_all(Table& table) {
    std::size_t const size = table.rows * table.columns;
    context_.fence("trireme: table complete before its allreduce");
    if (in_place_) {
      group_->allreduce_sum(std::span<T>(rows_of(table), size));
    } else {
      sent_.resize(size);
      copy_to_host(sent_.data(), rows_of(table), size);
      group_->allreduce_sum(sent_);
      copy_from_host(rows_of(table), sent_.data(), size);
    }
    table.all_dirty = true;
  }

  void copy_to_host(T* to, T const* from, std::size_t count) {
    context_.fence("trireme: rows complete before they are copied");
    copy_view(host_view(to, count), space_view<Space>(from, count));
  }
  void copy_from_host(T* to, T const* from, std::size_t count) {
    copy_view(space_view<Space>(to, count), host_view(from, count));
  }
  /// Grows memory to the required size; it never shrinks.
  void reserve(View& view, std::size_t count) const {
    if (view.extent(0) < count) view = uninitialized_view<View>(context_.space(), "trireme::rows", count);
  }

  /// True if the group's sums take memory of the space as it is.
  static bool sums_in_place() {
    if constexpr (requires { typename Group::holds_communicator; })
      return mpi_reduces<Space>();
    else
      return host_visible;
  }

  Group const* group_;
  SpaceContext<Space> context_;
  bool in_place_ = sums_in_place();
  std::vector<Table> tables_;
  T* gradients_ = nullptr;
  bool in_step_ = false;  ///< true from `begin` to the end of `sum`
  std::vector<T> own_, merged_, sent_, received_;
  std::vector<std::size_t> counts_;
  View indices_{}, packed_{}, all_{};
};

}  // namespace trireme
