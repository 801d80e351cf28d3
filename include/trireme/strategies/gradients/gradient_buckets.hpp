/// The gradient arena cut into buckets, whose reductions start as soon as backward has finished them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Kokkos_Core.hpp>

#include "trireme/backend/execution/pinned_space.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/text.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/models/description.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/gpu_awareness.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/strategies/gradients/bucket_range.hpp"
#include "trireme/strategies/gradients/exchange_times.hpp"
#include "trireme/strategies/gradients/shared_gradients.hpp"
#include "trireme/strategies/gradients/sparse_gradients.hpp"

namespace trireme {

/// Ranges of at least `bucket_bytes` (except the last), in the order in which backward finishes them: from the end of
/// the arena to its beginning, cut between parameters; without tables with sparse gradients.
template <class T>
std::vector<BucketRange> bucket_ranges(ModelDescription const& model, std::size_t bucket_bytes) {
  std::vector<BucketRange> ranges;
  std::size_t end = model.reduced_elements();  // the states lie at the end, and are final before backward begins
  for (auto parameter = model.parameters.rbegin(); parameter != model.parameters.rend(); ++parameter)
    if (parameter->by_rows) {
      std::size_t const behind = parameter->offset + aligned_count<T>(parameter->size);
      if (behind < end) ranges.push_back({behind, end});
      end = parameter->offset;
    } else if ((end - parameter->offset) * sizeof(T) >= bucket_bytes || parameter->offset == 0) {
      ranges.push_back({parameter->offset, end});
      end = parameter->offset;
    }
  if (end > 0) ranges.push_back({0, end});  // states, where no parameter trains
  return ranges;
}

/// The size of buckets for the size of all gradients: an eighth of it, so that little remains to be reduced after
/// backward; but at least a megabyte, beside which the latency of a message is negligible.
constexpr std::size_t automatic_bucket_bytes(std::size_t gradient_bytes) {
  return std::max(gradient_bytes / 8, std::size_t{1} << 20);
}

/// The exchange of gradients: ranks that share memory read those of the others there, unless messages are requested.
enum class Exchange { automatic, messages };

/// For a single process: there is nothing to reduce. `Tables`: SparseGradients, or NoSparseGradients.
template <class T, class Space, class Group, class Tables = SparseGradients<T, Space, Group>>
class GradientBuckets {
  static_assert(!Group::distributed);

 public:
  /// Exchange of a process that is alone.
  template <class... Options>
  GradientBuckets(Group const& group, Space const& space, ModelDescription const& model, Options const&...)
      : tables_(group, space, model) {}
  SharedGradients<T, Space>* shared() { return nullptr; }
  std::string placement() const { return "not at all"; }
  void begin(T* gradients) { tables_.begin(gradients); }
  GradientSink<T>* sink() { return tables_.sink(); }
  /// Gradients of lookup tables.
  Tables& tables() { return tables_; }
  void finish() { tables_.sum(); }

 private:
  Tables tables_;
};

/// Sums the gradients of all processes of a communicator. Device memory goes through pinned memory of the host unless
/// the MPI reads it itself.
template <class T, class Space, class Tables>
class GradientBuckets<T, Space, Communicator, Tables> final : public GradientSink<T> {
  using Host = Kokkos::View<T*, detail::PinnedSpace>;

 public:
  /// Exchange among the ranks of a communicator. Collective. `bucket_bytes` 0: depends on the model's size.
  GradientBuckets(Communicator const& communicator, Space const& space, ModelDescription const& model,
                  std::size_t bucket_bytes, Exchange exchange = Exchange::messages)
      : communicator_(&communicator),
        space_(space),
        bucket_bytes_(bucket_bytes > 0 ? bucket_bytes : automatic_bucket_bytes(model.elements * sizeof(T))),
        ranges_(bucket_ranges<T>(model, bucket_bytes_)),
        staged_(!mpi_reduces<Space>()),
        tables_(communicator, space, model) {
    if (communicator.size() > 1 && exchange == Exchange::automatic)
      shared_ = SharedGradients<T, Space>::make(communicator, space, model.reduced_elements(),
                                                bucket_ranges<T>(model, std::numeric_limits<std::size_t>::max()));
    if (staged_) stage_ = uninitialized_view<Host>("trireme::gradient_stage", model.reduced_elements());
  }

  /// The ranks' shared gradients, or null.
  SharedGradients<T, Space>* shared() { return shared_.get(); }

  /// Begins a step with sums at `gradients`, which is the shared arena if there is one.
  void begin(T* gradients) {
    if (shared_) shared_->begin();
    tables_.begin(gradients);
    gradients_ = gradients;
    started_ = 0;
    requests_.wait_all();  // of a step that an exception has ended
  }

  /// The sink for backward, or null if notifications would gain nothing.
  GradientSink<T>* sink() { return (communicator_->size() > 1 && !shared_) || !tables_.empty() ? this : nullptr; }

  /// A readable description of what the order of summands depends on.
  std::string placement() const {
    if (shared_) return "in shared memory";
    if (communicator_->size() == 1) return "not at all";
    return formatted("in buckets of {} bytes{}", bucket_bytes_, message_path());
  }
  /// The path of messages from a device's memory; empty on hosts.
  std::string message_path() const {
    return communicator_->size() == 1 ? std::string() : trireme::message_path<Space>(!staged_);
  }

  /// Bytes of gradients that are reduced at once.
  std::size_t bucket_bytes() const { return bucket_bytes_; }
  /// Number of buckets.
  std::size_t count() const { return ranges_.size(); }
  /// Sums that this process has begun; between steps the same on all.
  std::uint64_t begun() const { return begun_; }
  /// Adds the time of exchanges to `times`; null: not measured. Reads of others' memory are never measured.
  void measure(ExchangeTimes* times) { clock_.measure(times); }

  bool only_rows(T const* gradients, T const* indices, std::size_t count) override {
    return tables_.only_rows(gradients, indices, count);
  }
  void no_rows() override { tables_.no_rows(); }
  /// Gradients of lookup tables.
  Tables& tables() { return tables_; }

  void ready(T const* from) override {
    if (communicator_->size() == 1 || shared_) return;
    ExchangeClock::Call call(clock_);
    start_until(from);
    call.pending = !requests_.progress();
  }

  /// Waits until the sums of all buckets are in the arena.
  void finish() {
    if (communicator_->size() == 1) return tables_.sum();
    if (shared_) {
      shared_->sum();
      return tables_.sum();
    }
    ExchangeClock::Call const call(clock_);
    start_until(gradients_);
    tables_.sum();
    requests_.wait_all();
    clock_.end_step();
    if (staged_) take_staged();
  }

 private:
  void start_until(void const* from) {
    while (started_ < ranges_.size() && gradients_ + ranges_[started_].begin >= from) start(ranges_[started_++]);
  }

  auto stage_part(std::size_t begin, std::size_t count) const {
    return Kokkos::View<T*, detail::PinnedSpace, Kokkos::MemoryUnmanaged>(stage_.data() + begin, count);
  }

  /// Copies the sums to the arena, without the tables between them, whose sums are there already.
  void take_staged() {
    for (std::size_t i = 0; i < ranges_.size();) {
      std::size_t begin = ranges_[i].begin;
      std::size_t const end = ranges_[i].end;
      for (++i; i < ranges_.size() && ranges_[i].end == begin; ++i) begin = ranges_[i].begin;
      copy_view(space_, space_view<Space>(gradients_ + begin, end - begin), stage_part(begin, end - begin));
    }
  }

  void start(BucketRange const& range) {
    ProfilingRegion const region("trireme::GradientBuckets::start");
    std::size_t const count = range.end - range.begin;
    T* data = gradients_ + range.begin;
    if (staged_) {
      auto const part = stage_part(range.begin, count);
      copy_view(space_, part, space_view<Space>(data, count));
      data = part.data();
    }
    space_.fence(tool_label("trireme: bucket complete before its allreduce"));
    requests_.push(communicator_->iallreduce_sum(data, count));
    ++begun_;
  }

  Communicator const* communicator_;
  Space space_;
  std::size_t bucket_bytes_;
  std::vector<BucketRange> ranges_;
  bool staged_;
  Host stage_;
  Tables tables_;
  std::unique_ptr<SharedGradients<T, Space>> shared_;
  T* gradients_ = nullptr;
  std::size_t started_ = 0;
  std::uint64_t begun_ = 0;
  Requests requests_;
  ExchangeClock clock_;
};

}  // namespace trireme
