/// Archive: reads and writes a run's state in checkpoints.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/callbacks/placement.hpp"
#include "trireme/callbacks/snapshot.hpp"
#include "trireme/callbacks/stored_values.hpp"
#include "trireme/core/hash.hpp"
#include "trireme/core/text.hpp"
#include "trireme/io/stored_tensor.hpp"
#include "trireme/mpi/same_config.hpp"
#include "trireme/mpi/text_of_ranks.hpp"

namespace trireme {

/// Argument of `state(archive)`, which names each value once, `archive("wait", wait)`. The archive saves the value or
/// sets it, depending on its constructor. Values are numbers, enumerations, strings, snapshots of the weights, structs
/// with a `state` of their own, and optionals, pairs and vectors of these.
///
/// Every process names its values, snapshots in the same order. Of callbacks each process has its own values again, or
/// the chief's where another number of processes goes on; all else is the chief's.
template <class Engine>
class Archive : public StoredValues {
  using T = typename Engine::T;

 public:
  using holds_communicator = void;

  /// An archive that saves.
  Archive(Engine& engine, std::string path) : StoredValues(std::move(path)), engine_(&engine) {}
  /// An archive that sets the values of a checkpoint.
  Archive(Engine& engine, std::string path, StoredTensors tensors, Placement allowed = Placement::same)
      : StoredValues(std::move(path), std::move(tensors)), engine_(&engine), allowed_(allowed) {}
  /// An archive that sets the values of `saved`, the state of before, which are each process's own. Collective.
  static Archive undo(Archive const& saved) {
    StoredTensors tensors = saved.tensors();
    broadcast_tensors(saved.engine_->group(), tensors);
    for (auto const& [name, tensor] : saved.tensors())
      if (!name.ends_with(of_chief)) tensors[name] = tensor;
    Archive archive(*saved.engine_, saved.path(), std::move(tensors));
    archive.undoes_ = true;
    return archive;
  }

  /// \throws FileError if the checkpoint has no such value.
  template <class V>
  void operator()(std::string_view name, V& value) {
    if constexpr (std::is_same_v<V, Snapshot>) {
      snapshot(name, value);
    } else if constexpr (requires { value.state(*this); }) {
      in_folder(name, [&] { value.state(*this); });
    } else if constexpr (detail::is_tuple<V>) {
      in_folder(name, [&] { elements(value, std::make_index_sequence<std::tuple_size_v<V>>{}); });
    } else if constexpr (detail::is_pair<V>) {
      in_folder(name, [&] { (*this)("first", value.first), (*this)("second", value.second); });
    } else if constexpr (detail::is_optional<V>) {
      optional(name, value);
    } else if constexpr (std::is_same_v<V, std::string>) {
      array<std::uint8_t>(name, value);
    } else if constexpr (detail::is_vector<V>) {
      using Element = typename V::value_type;
      if constexpr (std::is_arithmetic_v<Element>)
        array<detail::StoredNumber<Element>>(name, value);
      else
        sequence(name, value);
    } else {
      static_assert(std::is_arithmetic_v<V> || std::is_enum_v<V>,
                    "trireme: a state(archive) names numbers, strings, snapshots, structs with a state(archive) of "
                    "their own, and optionals, pairs and vectors of these");
      number(name, value);
    }
  }

  /// Saves or sets numbers of the chief alone, such as all weights of a model; empty elsewhere.
  template <class V>
  void on_chief(std::string_view name, std::vector<V>& values) {
    in_folder(name, [&] { array<detail::StoredNumber<V>>(of_chief, values); });
  }

  /// Saves a value, or checks that it is the same in the resumed run as in the saved one.
  /// \throws FileError "<path>: holds a run that <difference>" if it is not.
  template <class V>
  void same(std::string_view difference, std::string_view name, V const& value) {
    V other = value;
    (*this)(name, other);
    if (other == value) return;
    if constexpr (std::is_same_v<V, std::string>)
      fail(formatted("holds a run that {}: {} there, and {} here", difference, printable(other, 200), value));
    else
      fail(formatted("holds a run that {}", difference));
  }

  /// Saves the text of a model's config, or checks that the resumed run's is the same.
  /// \throws FileError that names the first difference
  void same_model(std::string const& here) {
    std::string there = here;
    (*this)("model", there);
    if (there == here) return;
    auto const difference = detail::config_difference(there, here);
    fail(formatted("holds a run of another model: {} there, and {} here", printable(difference.first, 200),
                   difference.second));
  }

  /// Saves or compares the placement, as text of the group's processes, which may differ: besides the program and its
  /// data, the bits of a result depend on it. `moved()` is true on all if it differs on any. Collective.
  template <class Group>
  void placed(std::string_view difference, std::string_view name, Group const& group, std::string const& own) {
    std::string const here = detail::text_of_ranks(group, own);
    std::string there = here;
    (*this)(name, there);
    if (there == here) return;
    if (!moved_) difference_ = difference, there_ = there, here_ = here;
    moved_ = true;
  }
  /// Checks that a run may go on here, when all of its values have been set: where they do not fit, another placement
  /// is no remedy. \throws FileError "<path>: holds a run that <difference>" if it has moved and may not
  void require_placement() const {
    if (moved_ && allowed_ == Placement::same)
      fail(
          formatted("holds a run that {}: {} there, and {} here; BackupAndRestore{{.placement = Placement::any}} goes "
                    "on here, where results no longer agree to the bit",
                    difference_, there_, here_));
  }
  /// Sets a flag to true in a run that goes on. It is saved, so that an undo sets it back.
  void resumed(std::string_view name, bool& flag) {
    (*this)(name, flag);
    if (resumes()) flag = true;
  }
  /// Calls f(), in which a process may throw alone. Then all throw: each its own error, or that of the lowest rank that
  /// has one. Collective.
  template <class F>
  void together(F const& f) {
    std::exception_ptr error;
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    agree_no_error(error);
  }
  /// True if `together` has thrown, on all processes.
  bool failed() const { return error_ != nullptr; }
  /// True if the run goes on from the values that are set; false if they are saved, or those of before.
  bool resumes() const { return loads() && !undoes_; }
  /// True if the run was saved under another placement.
  bool moved() const { return moved_; }
  /// Placement of the saved run, in the first difference.
  std::string const& there() const { return there_; }
  /// Placement of this run, in the first difference.
  std::string const& here() const { return here_; }

  /// Saves or sets summands of `width` sums, any number of them in each process of the group: (summands, width),
  /// possibly none. In a run that has moved, the first summand gets the sums and all others zeros, since only the sums
  /// matter. Collective.
  template <class Group, class V>
  void summands(std::string_view name, Group const& group, std::vector<V>& own, std::size_t width) {
    auto const gathered = group.allgatherv(own);
    std::vector<V> all = gathered.values();
    (*this)(name, all);
    if (!loads()) return;
    std::size_t const begin = gathered.offset(group.rank());
    if (all.size() % width != 0 || (!moved_ && all.size() != gathered.values().size()))
      fail(formatted("has {} values '{}' in place of {}", all.size(), name, gathered.values().size()));
    if (!moved_) {
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(begin), own.size(), own.begin());
      return;
    }
    std::fill(own.begin(), own.end(), V{0});
    if (begin == 0 && !own.empty())
      for (std::size_t i = 0; i < all.size(); ++i) own[i % width] += all[i];
  }

 private:
  /// Throws on all processes if one has an error, at whichever of these calls the others are. A process that has thrown
  /// throws again, also if a `state` has caught it. Collective.
  void agree_no_error(std::exception_ptr const& error) {
    if constexpr (requires { engine_->group().agree_no_error(error); }) try {
        if (!error_) engine_->group().agree_no_error(error);
      } catch (...) {
        error_ = std::current_exception();
      }
    if (error || error_) std::rethrow_exception(error ? error : error_);
  }

  /// Saves or sets the elements of a tuple that have a state; they alone are numbered.
  template <class Tuple, std::size_t... I>
  void elements(Tuple& tuple, std::index_sequence<I...>) {
    std::size_t index = 0;
    (element(index, std::get<I>(tuple)), ...);
  }
  template <class V>
  void element(std::size_t& index, V& value) {
    if constexpr (requires { value.state(*this); }) (*this)(formatted("{}", index++), value);
  }

  template <class V>
  void optional(std::string_view name, std::optional<V>& value) {
    in_folder(name, [&] {
      bool present = value.has_value();
      (*this)("present", present);
      if (!present) return value.reset();
      if (!value) value.emplace();
      (*this)("value", *value);
    });
  }

  template <class V>
  void sequence(std::string_view name, std::vector<V>& values) {
    in_folder(name, [&] {
      std::size_t size = values.size();
      length("size", size);
      values.resize(size);
      for (std::size_t i = 0; i < size; ++i) (*this)(formatted("{}", i), values[i]);
    });
  }

  /// Saves or sets a snapshot: gathers its weights from all processes, or scatters them to all.
  void snapshot(std::string_view name, Snapshot& snapshot) {
    using Handle = typename Engine::Snapshot;
    in_folder(name, [&] {
      bool present = static_cast<bool>(snapshot);
      (*this)("present", present);
      agree_no_error(nullptr);  // a process whose `state` has thrown takes no part in what follows
      if constexpr (requires { engine_->group().allreduce_sum(std::size_t{}); }) {
        std::size_t const all = engine_->group().size(),
                          having = engine_->group().allreduce_sum(static_cast<std::size_t>(present)).value();
        if (having % all != 0) fail(formatted("has the snapshot '{}' on {} of {} processes", name, having, all));
      }
      if (!present) return snapshot.reset();
      std::vector<T> weights;
      if (!loads()) weights = engine_->weights().gather(snapshot.template get<Handle>());
      if constexpr (requires { engine_->model().description().arena_elements(); })
        in_folder("weights", [&] {
          if constexpr (requires { engine_->weights().snapshot_size(); })
            require_elements(of_chief, engine_->weights().snapshot_size(), true);
          else
            require_elements(of_chief, engine_->model().description().arena_elements());
        });
      on_chief("weights", weights);
      if (loads())
        snapshot.set(SnapshotHandle<Handle>{.weights = engine_->weights().scatter(weights),
                                            .moment = {.history = data::hash_bytes(folder().data(), folder().size())}});
    });
  }

  Engine* engine_;
  Placement allowed_ = Placement::same;
  bool moved_ = false, undoes_ = false;
  std::string difference_{}, there_{}, here_{};
  std::exception_ptr error_{};  ///< of a process, known to all
};

/// Engine that can be saved to a checkpoint and restored from it.
template <class Engine>
concept ResumableEngine = requires(Engine& engine, Archive<Engine>& archive, typename Engine::Snapshot const& snapshot,
                                   std::vector<typename Engine::T>& weights) {
  engine.state(archive);
  engine.weights().gather(snapshot);
  engine.weights().scatter(weights);
};

/// Compile-time check that checkpoints can hold the engine's state.
template <class Engine>
consteval bool require_resumable_engine() {
  static_assert(
      ResumableEngine<Engine>,
      "trireme: a strategy whose runs can be resumed has an engine with state(archive), which names its running "
      "sums, and weights() with gather(snapshot) and scatter(values), which bring a snapshot's weights to the chief "
      "and back");
  return true;
}

}  // namespace trireme
