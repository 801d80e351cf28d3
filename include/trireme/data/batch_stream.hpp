/// The batches of one process, one after another: what a training loop pulls from.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "trireme/core/forked_child.hpp"
#include "trireme/data/batch_sampler.hpp"
#include "trireme/data/prefetcher.hpp"

namespace trireme::data {

/// Stream of batches (rows, extents...) of one process in the scalars of the model:
/// `while (stream.next(batch)) ...; stream.rewind(epoch + 1);`.
///
/// A batch stays valid until the second `next` after the one that handed it out, so that a step may still be in flight
/// while the next batch is fetched. Memory is allocated once and reused over all epochs. With
/// prefetching, a thread of the stream's own gathers ahead; what it throws is thrown by `next`.
template <class X, class Y, class T, class L>
class BatchStream {
 public:
  using Gather = BatchSampler<X, Y, T, L>;
  using Slot = BatchBuffer<T, L>;

  /// \param prefetch  batches to gather ahead on a thread; 0, or nothing to gather: none.
  BatchStream(Gather gather, std::size_t prefetch, std::uint64_t epoch, std::size_t first_batch);

  /// The next batch of the epoch; false after the last one.
  /// \throws ValueError if a label or an index that does not lie in memory is outside of its range; what the source of
  /// the samples throws.
  bool next(Batch<T, L>& batch);

  /// Reads the next batch without handing it out, and returns its rows over all processes; 0 after the last one. Leaves
  /// the batches handed out before as they are, unless the stream prefetches: then it counts as `next`.
  std::size_t drop();

  /// Goes to another batch of the epoch that it is in.
  void seek(std::size_t batch);

  /// Goes to a batch of an epoch; the order of the samples depends on the epoch's number alone.
  void rewind(std::uint64_t epoch, std::size_t first_batch = 0);

 private:
  struct Direct {
    Gather gather;
    std::array<Slot, 2> slots;
    std::size_t turn = 0;
  };

  std::uint64_t epoch_;
  std::unique_ptr<Direct> direct_;
  trireme::detail::ThreadOwner<Prefetcher<Gather, Slot>> prefetcher_;
};

template <class X, class Y, class T, class L>
BatchStream<X, Y, T, L>::BatchStream(Gather gather, std::size_t prefetch, std::uint64_t epoch, std::size_t first_batch)
    : epoch_(epoch) {
  if (prefetch == 0 || gather.in_place()) {
    direct_ = std::make_unique<Direct>(Direct{std::move(gather), {}, 0});
    direct_->gather.start(epoch, first_batch);
  } else {
    prefetcher_.reset(new Prefetcher<Gather, Slot>(std::move(gather), prefetch, epoch, first_batch));
  }
}

template <class X, class Y, class T, class L>
bool BatchStream<X, Y, T, L>::next(Batch<T, L>& batch) {
  Slot const* slot = nullptr;
  if (prefetcher_) {
    slot = prefetcher_->next();
  } else {
    Slot& candidate = direct_->slots[direct_->turn];
    if (direct_->gather.fill(candidate)) {
      direct_->turn = 1 - direct_->turn;
      slot = &candidate;
    }
  }
  if (slot) batch = slot->batch;
  return slot != nullptr;
}

template <class X, class Y, class T, class L>
std::size_t BatchStream<X, Y, T, L>::drop() {
  if (prefetcher_) {
    Slot const* const slot = prefetcher_->next();
    return slot ? slot->batch.global_rows : 0;
  }
  Slot& unused = direct_->slots[direct_->turn];
  return direct_->gather.fill(unused) ? unused.batch.global_rows : 0;
}

template <class X, class Y, class T, class L>
void BatchStream<X, Y, T, L>::seek(std::size_t batch) {
  if (prefetcher_)
    prefetcher_->start(epoch_, batch);
  else
    direct_->gather.seek(batch);
}

template <class X, class Y, class T, class L>
void BatchStream<X, Y, T, L>::rewind(std::uint64_t epoch, std::size_t first_batch) {
  epoch_ = epoch;
  if (prefetcher_)
    prefetcher_->start(epoch, first_batch);
  else
    direct_->gather.start(epoch, first_batch);
}

}  // namespace trireme::data
