/// The batches of a dataset for one process's engine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/core/error.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/phase.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/data/batch_iterator_options.hpp"
#include "trireme/data/batches_of_epoch.hpp"
#include "trireme/data/drawn_samples.hpp"
#include "trireme/data/iterator_stream.hpp"
#include "trireme/data/lineage.hpp"
#include "trireme/data/stream_options.hpp"
#include "trireme/data/validation.hpp"

namespace trireme {

/// Batches of an epoch in the scalars of an engine's model, (rows, extents...) of this process. The data have to
/// outlive it. Opening it is collective.
/// \throws ShapeError on all processes if the data do not fit the model; ValueError on all processes if a label or an
/// index that lies in memory is outside of its range, if data that should be the same differ between processes, or are
/// known to have no sample, too few batches or no end.
template <class Engine, class Data>
class BatchIterator {
  using T = typename Engine::T;
  using L = typename Engine::L;
  using Stream = decltype(std::declval<Data const&>().template stream<T, L>(DataShard{}, 0));

 public:
  /// Batches of the data as the engine draws them. Collective.
  BatchIterator(Engine& engine, Data const& data, BatchIteratorOptions const& options = {})
      : engine_(&engine),
        data_(&data),
        options_(options),
        stream_(engine.group().together([&] { return open(engine, data, options); })),
        limit_(options.steps) {
    auto const& group = engine.group();
    if (group.size() > 1)
      data::require_same_lineage(group, group.together([&] { return data.lineage(); }), data.called(options.data()));
    batches_ = group.together([&] { return detail::batches_of_epoch(data, shard(), options_, called()); });
    // Of a cached generator they are what this process has read.
    std::optional<std::size_t> const samples = group.together([&] { return data.size(); });
    if (batches_) require_same(*batches_, "batches");
    if (samples) require_same(*samples, "samples");
    sized_ = samples.has_value();
    bool const may_differ = group.size() > 1 && data.may_run_out(shard());
    compares_ = may_differ && !acquires_batches();
    counts_ = may_differ && acquires_batches();
    count_ = limit_.value_or(batches_.value_or(0));
    if (batches_ && limit_) parts_ = (*batches_ + *limit_ - 1) / *limit_;
  }

  /// The pass over the data that epoch 0 has, or would have.
  std::size_t first_pass() const { return options_.first_pass; }
  /// The pass over the data that the epoch is part of.
  std::size_t pass() const { return pass_; }
  /// Batches of the epoch that was started, or of the first; 0 if that is not known.
  std::size_t count() const { return count_; }

  /// True for a resumed run, of which this finds the first pass. Arguments are those of the next `start`.
  bool find_first_pass(std::size_t epoch, std::size_t next) {
    std::size_t const begun = next > 0 || epoch == 0 ? epoch : epoch - 1;
    if (restored_) options_.first_pass = pass_ - (has_passes() ? begun / parts_ : 0);
    return restored_;
  }

  /// An epoch of some of the batches goes on where the one before stopped; the last of a pass over the data has those
  /// that are left, as in Keras. Others start anew, in the order of this pass. `next`: number of batches of the epoch
  /// that a resumed run has drawn before.
  void start(std::size_t epoch, std::size_t next = 0) {
    bool const acquires = this->acquires_batches();  // then the processes stopped at different batches
    find_first_pass(epoch, next);
    if (has_passes()) {
      std::size_t const pass = first_pass() + epoch / parts_, first = epoch % parts_ * limit_.value_or(0);
      bool const is_there = first > 0 && first == position_ && pass == pass_ && !restored_;
      if (!is_there) rewind(pass, first);  // otherwise the stream goes on with what it has read ahead
      first_ = first;
      if (parts_ > 1) count_ = std::min(*limit_, *batches_ - first_);
    } else if (restored_ && !acquires) {
      rewind(pass_, position_, next);
    } else if (acquires || epoch != next_epoch_ || pass_ != first_pass()) {
      rewind(first_pass(), epoch * *limit_);
    } else {
      first_ = position_;
    }
    restored_ = false;
    samples_ = 0;
    drawn_.clear();
    ended_ = no_end;
    next_epoch_ = epoch + 1;
    next_ = next;
  }

  /// The next batch of the epoch: the same on every process, unless they acquire them. Collective for data that
  /// may run out.
  /// \throws ValueError on all processes if such data differ in length between them
  bool next() {
    auto const index = options_.trains() ? engine_->acquire(next_) : std::optional(next_);
    if (!index) return false;
    if (!limit_ || *index < count_) {
      bool const fetched = fetch(*index);
      if (compares_) require_same_rows(fetched ? batch_.global_rows : 0);
      if (fetched) return true;
    }
    if (options_.trains()) engine_->release();
    return false;
  }

  /// After the last batch of an epoch. Collective where processes acquire batches, or the data's length is not known.
  /// \throws ValueError on all processes if the data turn out to have no sample where targets are read, to end before
  /// the requested steps, or to differ in length between processes
  void finish() {
    std::size_t const ended = acquires_batches() ? engine_->group().allreduce_min(ended_).value() : ended_;
    if (counts_) require_same_draws(ended);
    if (!(batches_ && sized_) && !acquires_batches() && !compares_) require_same(samples_, "samples");
    if (ended == 0 && options_.targets()) raise_uniform(detail::no_sample(called()));
    if (limit_ && ended < first_ + count_)
      raise_uniform(ValueError(formatted("{} ended after {} batches, but {} = {} needs {}: repeat() makes them go on",
                                         called(), ended, options_.steps_option(), *limit_, first_ + count_)));
  }

  /// Current batch. What it points to stays until the next call of `next` at least.
  Batch<T, L> const& batch() const { return batch_; }
  /// Index of the current batch, from 0.
  std::size_t index() const { return next_ - 1; }

  /// Position in the data, for a run that goes on later with the same data; of validation the fingerprint alone, since
  /// each test begins anew. Reads all data that lie in memory, once. Collective.
  template <class Archive>
  void state(Archive& archive) {
    if (!fingerprint_) fingerprint_ = fingerprint();
    if (!options_.trains()) return archive.same("was validated on other data", "fingerprint", *fingerprint_);
    archive.same("was trained on other data, or with other class weights or steps per epoch", "fingerprint",
                 *fingerprint_);
    archive.same("took other global batches, whose size per replica was given", "global_batch",
                 formatted("{} samples", data_->global_batch(shard())));
    archive("pass", pass_);
    archive("position", position_);
    archive.resumed("resumed", restored_);
  }

 private:
  bool has_passes() const { return batches_ || !limit_; }
  bool acquires_batches() const { return options_.trains() && engine_->acquires_batches(); }

  std::string called() const { return data_->called(options_.data()); }

  void require_same(std::size_t drawn, char const* units) const {
    data::require_same_count(engine_->group(), drawn, units, called());
  }

  /// Compares what the processes that acquire batches have read, which end at different batches: each reads on to the
  /// last batch that was trained on or, past that, to where another's data have ended.
  void require_same_draws(std::size_t ended) {
    auto const& group = engine_->group();
    std::size_t const trained = group.allreduce_max(position_).value();
    bool const draws = engine_->data_shard(Phase::train).draws();
    if (draws) read_on(ended == no_end ? trained : ended + 1);
    data::require_same_draws(group, drawn_, draws, called());
  }

  /// Compares the rows of a batch that was drawn; 0 past the end. Otherwise one process would wait in a step for others
  /// whose data have ended.
  void require_same_rows(std::size_t rows) const {
    auto const most = static_cast<std::int64_t>(rows);
    std::array<std::int64_t, 2> extremes{most, -most};
    if constexpr (std::remove_cvref_t<decltype(engine_->group())>::distributed)
      engine_->group().allreduce_max(extremes);
    if (extremes[0] != -extremes[1]) require_same(samples_, "samples");
  }

  /// Hash of the data of all processes, and of what is done with them. Collective if each process owns some.
  std::uint64_t fingerprint() const {
    std::uint64_t samples = data_->checksum().hash;
    if (data_->is_local())
      for (std::uint64_t const own : engine_->group().allgather(data_->own_hash()))
        samples = data::hash_combine(samples, own);
    auto const& class_weight = options_.class_weight;
    std::uint64_t const weights = data::hash_bytes(class_weight.data(), class_weight.size() * sizeof(double));
    std::uint64_t const steps = parts_ > 1 ? data::hash_combine(*limit_, parts_) : limit_.value_or(0);
    return data::hash_combine(data::hash_combine(samples, steps), weights);
  }

  static Stream open(Engine const& engine, Data const& data, BatchIteratorOptions const& options) {
    data::StreamOptions wanted{.in_order = !(options.trains() && engine.acquires_batches())};
    wanted.scattered = options.targets() && scattered(engine);
    if (options.repeats()) wanted.kept = input_copies(engine);
    return detail::open_stream<T, L>(data, engine.model().sample_requirements(), options, data_shard(engine, options),
                                     std::move(wanted));
  }

  DataShard shard() const { return data_shard(*engine_, options_); }

  /// The whole batch for a process that acquires batches, otherwise its data shard.
  static DataShard data_shard(Engine const& engine, BatchIteratorOptions const& options) {
    if (options.trains() && engine.acquires_batches()) return {};
    return engine.data_shard(options.trains() ? Phase::train : Phase::test);
  }

  /// \param before  batches of the epoch that lie before the position
  void rewind(std::size_t pass, std::size_t position, std::size_t before = 0) {
    stream_.rewind(pass, position);
    pass_ = pass;
    position_ = position;
    first_ = position - before;
  }

  /// Reads a batch of the epoch; false if there is none.
  bool fetch(std::size_t index) {
    if (counts_ && !read_on(first_ + index)) return false;
    if (first_ + index != position_) stream_.seek(first_ + index);
    bool const read = note(first_ + index, stream_.next(batch_) ? batch_.global_rows : 0);
    if (read) next_ = index + 1;
    return read;
  }
  /// Reads the batches before `position` without handing them out; false if the stream ends before.
  bool read_on(std::size_t position) {
    while (position_ < position && ended_ == no_end) note(position_, stream_.drop());
    return ended_ == no_end;
  }
  /// Notes the rows of the batch that was read, over all processes; false if there are none, past the end.
  bool note(std::size_t position, std::size_t rows) {
    if (rows == 0) {
      ended_ = position;
      return false;
    }
    position_ = position + 1;
    samples_ += rows;
    if (counts_) drawn_.push_back(samples_);
    return true;
  }

  /// True if the engine takes rows of a batch that lie apart.
  static bool scattered(Engine const& engine) {
    if constexpr (requires { engine.takes_scattered_rows(); }) return engine.takes_scattered_rows();
    return false;
  }
  /// Devices of the engine that may keep a copy of the memory of inputs.
  static std::size_t input_copies(Engine const& engine) {
    if constexpr (requires { engine.input_copies(); }) return engine.input_copies();
    return 0;
  }

  static constexpr std::size_t no_end = std::numeric_limits<std::size_t>::max();

  Engine* engine_;
  Data const* data_;
  BatchIteratorOptions options_;
  Stream stream_;
  std::optional<std::size_t> limit_;
  std::optional<std::uint64_t> fingerprint_{};
  std::optional<std::size_t> batches_{};  ///< of a pass over the data, if that is known
  bool sized_ = false, restored_ = false;
  bool compares_ = false;                               ///< the rows of each batch between processes
  bool counts_ = false;                                 ///< the samples of all batches, to compare after an epoch
  std::size_t count_ = 0, next_epoch_ = 0, parts_ = 1;  ///< parts_: epochs of a pass
  std::size_t pass_ = 0;                                ///< what the stream was rewound to
  std::size_t first_ = 0, position_ = 0;  ///< in the stream: the epoch's first batch, and the one that comes next
  std::size_t next_ = 0;                  ///< of the epoch, after the current one
  std::size_t samples_ = 0;               ///< of all processes, in the batches read since the epoch was started
  std::vector<std::size_t> drawn_{};      ///< samples_ after each batch, where they are counted
  std::size_t ended_ = no_end;            ///< the first batch past the end of the stream, once it is known
  Batch<T, L> batch_;
};

/// The iterator where there are no data.
template <class Engine>
class BatchIterator<Engine, NoData> {
 public:
  /// Nothing to iterate over.
  BatchIterator(Engine&, NoData const&, BatchIteratorOptions const& = {}) {}
};

template <class Engine, class Data>
BatchIterator(Engine&, Data const&) -> BatchIterator<Engine, Data>;
template <class Engine, class Data>
BatchIterator(Engine&, Data const&, BatchIteratorOptions) -> BatchIterator<Engine, Data>;

}  // namespace trireme
