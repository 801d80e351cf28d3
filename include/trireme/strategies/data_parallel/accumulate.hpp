/// Accumulate: each process computes gradients of its rows piece by piece, and takes one optimizer step on their sum.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "trireme/backend/execution/parallelism.hpp"
#include "trireme/backend/execution/views.hpp"
#include "trireme/backend/threads/profiling.hpp"
#include "trireme/core/text.hpp"
#include "trireme/data/batch.hpp"
#include "trireme/layers/copy.hpp"
#include "trireme/layers/gradient_sink.hpp"
#include "trireme/models/cost.hpp"
#include "trireme/strategies/data_parallel/adaptor.hpp"
#include "trireme/strategies/engine/step.hpp"
#include "trireme/strategies/gradients/no_sparse_gradients.hpp"
#include "trireme/tensor/arena.hpp"

namespace trireme {

/// The engine of Accumulate around a `Base` that sums gradients over processes (DataParallel).
template <class Base, std::size_t Pieces>
class AccumulatingEngine : public Base {
 public:
  using Model = typename Base::Model;
  using Space = typename Base::Space;
  using T = typename Base::T;
  using L = typename Base::L;

  /// Engine that takes the place of `engine`, with an arena for the sums of earlier pieces.
  explicit AccumulatingEngine(Base&& engine)
      : Base(std::move(engine)),
        earlier_(make_view<Arena<T, Space>>(parts_.weights().space(), "trireme::earlier_gradients",
                                            parts_.model().description().reduced_elements())) {
    parts_.recorder().stop("Accumulate takes them in pieces");
  }

  /// Same as DataParallel's, with workspaces for one piece. Collective.
  void train_step(Batch<T, L> const& batch) {
    ProfilingRegion const region("trireme::train_step");
    this->before_step();
    auto const step = parts_.begin_step(batch);
    this->begin_gradients();
    // Pieces before the last only note the rows of tables that they touch: their gradients are not final yet.
    GradientSink<T>* const touched = parts_.partitions().plan().by_samples ? nullptr : tables().sink();
    kept_ = false;
    for (std::size_t piece = 0; piece + 1 < Pieces; ++piece) {
      auto const part = piece_of(step, piece);
      if (part.slice.rows == 0 && !parts_.differentiates_no_rows()) continue;
      parts_.differentiate(part, touched);
      keep();
    }
    // Gradients become final with the last piece only, after the kept ones are added; then sinks are notified.
    AddEarlier sums(*this, this->sink());
    parts_.differentiate(piece_of(step, Pieces - 1), sums.next() ? &sums : nullptr);
    sums.add_from(0);
    tables().add_kept(earlier_.data());
    this->reduce_and_update(step);
  }

  /// Memory for batches of up to `rows` rows, of which a piece at a time is computed.
  MemoryUse memory_use(std::size_t rows) const {
    MemoryUse use = Base::memory_use((rows + Pieces - 1) / Pieces);
    use.rows = rows;
    use.workspace_bytes += earlier_.extent(0) * sizeof(T);
    return use;
  }

  /// See DataParallel; in a run that goes on with another number of pieces, sums are taken in another order.
  template <class Archive>
  void state(Archive& archive) {
    Base::state(archive, formatted(", batches in {} pieces", Pieces));
  }

 protected:
  using Base::parts_;
  using Base::synchronization_;

 private:
  using Step = trireme::Step<Model>;

  T* gradients() { return parts_.partitions().gradients(); }

  /// The tables with sparse gradients: a step touches only some of their rows.
  decltype(auto) tables() {
    if constexpr (requires { synchronization_.tables(); })
      return (synchronization_.tables());
    else
      return NoSparseGradients();
  }

  class AddEarlier final : public GradientSink<T> {
   public:
    AddEarlier(AccumulatingEngine& engine, GradientSink<T>* next)
        : engine_(engine), next_(next), end_(engine.earlier_.extent(0)) {}
    GradientSink<T>* next() const { return next_; }
    void ready(T const* from) override {
      add_from(static_cast<std::size_t>(from - engine_.gradients()));
      next_->ready(from);
    }
    bool only_rows(T const* gradients, T const* indices, std::size_t count) override {
      return next_->only_rows(gradients, indices, count);
    }
    void no_rows() override { next_->no_rows(); }
    /// Adds the kept gradients up to the previous call's `begin`; tables follow when all of their rows are known.
    void add_from(std::size_t begin) {
      if (engine_.kept_)
        engine_.tables().for_each_other(begin, end_, [this](std::size_t first, std::size_t last) {
          engine_.parts_.context().for_each(
              "trireme::add_earlier_gradients", last - first,
              kernels::AddTo<T>{engine_.earlier_.data() + first, engine_.gradients() + first});
        });
      end_ = begin;
    }

   private:
    AccumulatingEngine& engine_;
    GradientSink<T>* next_;
    std::size_t end_;
  };

  /// Rows keep their indices in the global batch, on which all random numbers depend.
  Step piece_of(Step const& whole, std::size_t piece) const {
    RowRange const rows = row_range(whole.slice.rows, piece, Pieces);
    Step step = whole;
    step.slice = rows_of(parts_.model(), whole.slice, rows);
    step.keys.first_row += rows.begin;
    return step;
  }

  /// Adds the piece's gradients to those of the earlier ones; the first piece stores its own.
  void keep() {
    auto& context = parts_.context();
    tables().for_each_other(0, earlier_.extent(0), [&](std::size_t begin, std::size_t end) {
      T const* const from = gradients() + begin;
      T* const to = earlier_.data() + begin;
      if (kept_)
        context.for_each("trireme::keep_gradients", end - begin, kernels::AddTo<T>{from, to});
      else
        kernels::copy(context, end - begin, from, to);
    });
    tables().keep(earlier_.data());
    kept_ = true;
  }

  Arena<T, Space> earlier_;
  bool kept_ = false;  ///< true if earlier_ has gradients of this step
};

namespace detail {

/// Type of the engine with `Adapt` around it. Where there is none, one sentence says so, and the engine itself stands
/// in.
template <class Engine, template <class> class Adapt>
consteval auto engine_in_pieces() {
  static_assert(has_synchronization<Engine>,
                "trireme: Accumulate goes around a strategy that sums the gradients of a step over processes, such as "
                "MultiWorkerMirroredStrategy");
  if constexpr (has_synchronization<Engine>)
    return AdaptedEngine<Engine, Adapt>();
  else
    return std::type_identity<Engine>();
}

}  // namespace detail

/// `Accumulate<MultiWorkerMirroredStrategy<>, 4>(world)`: batches of four times the rows that fit memory.
///
/// Sums and counts are those of the whole global batch, with one reduction and one optimizer step, so that weights and
/// metrics are the strategy's own. Layers that add up rows see those of a piece: BatchNormalization's statistics are
/// over a piece of a replica, SyncBatchNormalization's over that piece of all processes.
template <class Strategy, std::size_t Pieces>
class Accumulate : public Adaptor<Strategy> {
  static_assert(Pieces > 0, "trireme: Accumulate cuts a batch into 1 piece at least");

 public:
  using typename Adaptor<Strategy>::Space;
  template <class Base>
  using InPieces = AccumulatingEngine<Base, Pieces>;
  template <class Model>
  using Engine =
      typename decltype(detail::engine_in_pieces<typename Strategy::template Engine<Model>, InPieces>())::type;

  using Adaptor<Strategy>::Adaptor;

  template <class Model>
  Engine<Model> build(Model model, Parallelism plan = Parallelism::automatic) const {
    return Engine<Model>(this->strategy().build(std::move(model), plan));
  }
};

}  // namespace trireme
