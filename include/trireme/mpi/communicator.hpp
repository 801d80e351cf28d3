/// Communicator: a group of processes and their collectives. Only this directory calls MPI.
#pragma once

#include <mpi.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "trireme/mpi/chief_scope.hpp"
#include "trireme/mpi/extremum.hpp"
#include "trireme/mpi/fault/deadline_wait.hpp"
#include "trireme/mpi/fault/mpi_check.hpp"
#include "trireme/mpi/gathered.hpp"
#include "trireme/mpi/rank_parts.hpp"
#include "trireme/mpi/request.hpp"
#include "trireme/mpi/uniform.hpp"
#include "trireme/mpi/wire_type.hpp"

namespace trireme {

/// Owner of a duplicate of an MPI communicator, so that the library's messages never match the caller's.
///
/// Every member is collective, to be called by all processes of the group in the same order, unless it says "local".
/// All throw CommunicationError with rank, call and MPI's text. Ranges may lie in device memory if the MPI is
/// GPU-aware, except for those of `allreduce_min` and `allreduce_max`. To be used on the thread that started MPI.
///
/// Calls that wait for other processes do so until the Environment's deadline, and then end all processes with a
/// message that names the rank that did not come.
class Communicator {
 public:
  static constexpr bool distributed = true;

  using holds_communicator = void;

  /// Duplicates `parent`, which stays the caller's.
  /// \param largest_count  most elements in one MPI call; longer arrays take several calls.
  explicit Communicator(MPI_Comm parent, std::size_t largest_count = largest_mpi_count);
  Communicator(Communicator&& other) noexcept
      : comm_(std::exchange(other.comm_, MPI_COMM_NULL)),
        rank_(other.rank_),
        size_(other.size_),
        largest_count_(other.largest_count_),
        common_(std::move(other.common_)),
        numbers_(other.numbers_) {}
  Communicator& operator=(Communicator&& other) noexcept;
  ~Communicator() { free(); }

  std::size_t rank() const { return rank_; }    ///< Local.
  std::size_t size() const { return size_; }    ///< Local.
  bool is_chief() const { return rank_ == 0; }  ///< Local.
  MPI_Comm get() const { return comm_; }        ///< Local. For libraries that take a communicator; still owned here.

  /// Communicator of the same processes, whose messages are separate.
  Communicator duplicate() const { return Communicator(comm_, largest_count_); }
  /// The duplicate that all have in common who call this: an MPI has only some thousand communicators.
  std::shared_ptr<Communicator const> common_duplicate() const;
  /// A number that no earlier call has returned, the same on all processes if all have called it as often. Local.
  std::uint64_t next_number() const { return ++numbers_; }
  /// The part of the group that gives the same color; ranks there follow `key`, then the rank here.
  Communicator split(std::size_t color, std::size_t key = 0) const;
  /// The processes that share this one's memory.
  Communicator split_by_node() const;

  /// Waits until every process of the group calls it.
  void barrier() const { detail::meet_before("MPI_Ibarrier", comm_); }

  // Reductions of one value, with a result that all may branch on, or of a range in place.
  /// Sum of every process's value.
  template <Reducible T>
  Uniform<T> allreduce_sum(T value) const {
    allreduce_sum(std::span<T>(&value, 1));
    return detail::UniformAccess::make(value);
  }
  /// Largest of every process's values; NaN if one is NaN.
  template <Reducible T>
  Uniform<T> allreduce_max(T value) const {
    allreduce_max(std::span<T>(&value, 1));
    return detail::UniformAccess::make(value);
  }
  /// Smallest of every process's values; NaN if one is NaN.
  template <Reducible T>
  Uniform<T> allreduce_min(T value) const {
    allreduce_min(std::span<T>(&value, 1));
    return detail::UniformAccess::make(value);
  }
  /// Adds the ranges of all processes element by element, in place.
  template <ReducibleRange R>
  void allreduce_sum(R&& values) const {
    allreduce(values, MPI_SUM);
  }
  /// A NaN anywhere gives NaN everywhere.
  template <ReducibleRange R>
  void allreduce_max(R&& values) const {
    extremum<detail::Extremum::largest>(values);
  }
  /// The smallest element of all processes at each place, in place. A NaN anywhere gives NaN everywhere.
  template <ReducibleRange R>
  void allreduce_min(R&& values) const {
    extremum<detail::Extremum::smallest>(values);
  }

  /// True if the value is true on any process.
  Uniform<bool> allreduce_or(bool value) const {
    return allreduce_max(value ? 1 : 0).map([](int v) { return v != 0; });
  }
  /// True if the value is true on every process.
  Uniform<bool> allreduce_and(bool value) const {
    return allreduce_min(value ? 1 : 0).map([](int v) { return v != 0; });
  }

  /// Starts adding the n values at `data` over the ranks; they belong to MPI until the request is complete.
  template <Reducible T>
  Request iallreduce_sum(T* data, std::size_t n) const;

  /// The same, with the sums at `data` on the root alone.
  template <Reducible T>
  Request ireduce_sum(T* data, std::size_t n, std::size_t root) const;
  /// Starts adding `all` over the ranks; each rank gets the sums of its part at `own`, which does not overlap `all`.
  template <Reducible T>
  Request ireduce_scatter_sum(T const* all, T* own, RankParts const& parts) const;
  /// Starts gathering the parts of all ranks at `all`; `own` is this rank's part, which may lie in its place there.
  template <Reducible T>
  Request iallgather_parts(T const* own, T* all, RankParts const& parts) const;

  /// Adds `all` (consecutive parts of `counts` elements) over the processes; each gets its own part's sum.
  template <Reducible T>
  void reduce_scatter_sum(std::span<T const> all, std::span<T> part, std::span<std::size_t const> counts) const;

  /// Copies the root's values to all processes.
  template <TransferableRange R>
  void broadcast(R&& values, std::size_t root = 0) const;
  /// Copies the root's text to all processes, whatever its length.
  void broadcast(std::string& text, std::size_t root = 0) const;
  /// The root's value, on every process.
  template <Transferable T>
  Uniform<T> broadcast(T value, std::size_t root = 0) const;

  /// Every process's value, by rank.
  template <Transferable T>
  std::vector<T> allgather(T const& value) const;
  /// Every process's values, by rank; the parts may differ in length, and be empty.
  template <TransferableRange R>
  Gathered<std::ranges::range_value_t<R>> allgatherv(R const& values) const;
  /// Every process's value into `values`, which keeps its memory from call to call.
  template <Transferable T>
  void allgather_into(T const& value, std::vector<T>& values) const;
  /// Every process's values, `counts[rank]` of each rank, into `values`, which has room for all of them. Only for what
  /// `fits_one_call`. \throws ShapeError if `counts`, `own` and `values` do not fit each other
  template <Transferable T>
  void allgatherv_into(std::span<T const> own, std::vector<std::size_t> const& counts, std::vector<T>& values) const;
  /// True if MPI takes `count` elements in one call.
  bool fits_one_call(std::size_t count) const { return count <= largest_count_; }
  /// Every process's values, by rank, on the root; empty elsewhere.
  template <TransferableRange R>
  Gathered<std::ranges::range_value_t<R>> gatherv(R const& values, std::size_t root = 0) const;

  // Messages between two processes: local to them. Both sides pass ranges of the same length.
  /// Sends values to the process of rank `to`; returns when the range may be reused.
  template <TransferableRange R>
  void send(R const& values, std::size_t to, int tag = 0) const;
  /// Waits for the values that the process of rank `from` sends with this tag.
  template <TransferableRange R>
  void receive(R&& values, std::size_t from, int tag = 0) const;
  /// Starts to send; the range belongs to MPI until the request is complete.
  template <TransferableRange R>
  Request isend(R const& values, std::size_t to, int tag = 0) const;
  /// Starts to receive; the range belongs to MPI until the request is complete.
  template <TransferableRange R>
  Request ireceive(R&& values, std::size_t from, int tag = 0) const;
  /// Source of a message with this tag that has arrived and is not received yet, if there is one. Returns at once, and
  /// lets MPI progress.
  std::optional<std::size_t> probe(int tag) const;
  /// Waits until there is one; the deadline counts from the last progress seen of another process of the node.
  std::size_t await(int tag) const;
  /// Receives and drops all messages of T with this tag that processes of the group have sent before this call and not
  /// received, as after an error. None may be empty. Collective.
  template <Transferable T>
  void discard_messages(int tag = 0) const;

  /// Runs f on every process and returns its result. If it throws anywhere, all processes throw the error of the lowest
  /// rank that failed, marked uniform, and of its class where that is one of the library's.
  template <class F>
  std::invoke_result_t<F> together(F&& f) const;
  /// Throws on all processes if any has an error; `error` is this process's, or null.
  void agree_no_error(std::exception_ptr const& error) const;

  /// Runs f(ChiefScope const&, arguments...) on rank 0 alone. All processes throw its exception, or return its result
  /// (a value that can be sent, or a string).
  template <class F, class... Arguments>
  auto on_chief(F&& f, Arguments&&... arguments) const;

 private:
  Communicator(MPI_Comm owned, std::size_t largest_count, std::nullptr_t);
  void free() noexcept;

  template <class R>
  void allreduce(R& values, MPI_Op operation) const;
  template <detail::Extremum which, class R>
  void extremum(R& values) const {
    allreduce(values, detail::ExtremumOperation<which, std::ranges::range_value_t<R>>(comm_).get());
  }
  /// Calls part(pointer, count, type) with counts that MPI can take.
  template <class T, class Part>
  void in_chunks(T* data, std::size_t n, Part&& part) const;
  template <class T>
  bool fits_one_call(Gathered<T> const& gathered) const;
  template <class T>
  Gathered<T> allgatherv_of(std::span<T const> values) const;
  template <class T>
  Gathered<T> gatherv_of(std::span<T const> values, std::size_t root) const;

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::size_t rank_ = 0;
  std::size_t size_ = 1;
  std::size_t largest_count_;
  mutable std::shared_ptr<Communicator const> common_{};  ///< null until it is asked for
  mutable std::uint64_t numbers_ = 0;
};

}  // namespace trireme

// Definitions, by kind.
#include "trireme/mpi/communicator_agreement.hpp"
#include "trireme/mpi/communicator_gather.hpp"
#include "trireme/mpi/communicator_lifetime.hpp"
#include "trireme/mpi/communicator_messages.hpp"
#include "trireme/mpi/communicator_probe.hpp"
#include "trireme/mpi/communicator_reduce.hpp"
#include "trireme/mpi/communicator_scatter.hpp"
