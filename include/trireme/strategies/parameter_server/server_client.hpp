/// The parameter servers as seen by workers: the range of the weights that each holds, and its calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"

namespace trireme {

/// Calls return once they are sent, those with an answer once it arrives. None is collective.
class ServerClient {
  using Kind = ServerCall::Kind;

 public:
  /// Calls to the servers of a group, which hold these ranges.
  ServerClient(std::shared_ptr<Communicator const> group, ServerRoles const& roles, std::vector<ElementRange> ranges)
      : group_(std::move(group)), roles_(roles), ranges_(std::move(ranges)) {}

  Communicator const& group() const { return *group_; }
  /// Number of servers.
  std::size_t count() const { return ranges_.size(); }
  /// Rank of a server.
  std::size_t rank(std::size_t server) const { return roles_.server_rank(server); }
  /// The elements of the arena that each server holds.
  std::vector<ElementRange> const& ranges() const { return ranges_; }
  /// Elements of the arena that a server holds.
  ElementRange range(std::size_t server) const { return ranges_[server]; }

  // Of the first server, which schedules batches.

  /// The next batch of the epoch, `next` or later.
  AcquireAnswer acquire(std::size_t next) const;
  /// Reports that the acquired batch does not exist.
  void release() const { call(0, {.kind = Kind::release}); }
  /// The number of the update from the acquired batch's gradient, once it is that update's turn.
  std::uint64_t number_update() const;
  /// Ends the epoch's batches for all workers.
  void close() const { call(0, {.kind = Kind::close}); }

  // Of one server.

  /// Requests its weights after so many updates or more.
  void pull(std::size_t server, std::uint64_t version) const { call(server, {.kind = Kind::pull, .number = version}); }
  /// Announces a gradient: update `number`, from a batch of so many rows.
  void push(std::size_t server, std::uint64_t number, std::size_t rows) const {
    call(server, {.kind = Kind::push, .number = number, .rows = rows});
  }

  // Of all.

  /// Makes the servers send their complete states to the chief.
  void fetch() const { call_all({.kind = Kind::fetch}); }
  /// Ends this worker's calls in the epoch.
  void leave() const { call_all({.kind = Kind::leave}); }

 private:
  void call(std::size_t server, ServerCall const& message) const;
  void call_all(ServerCall const& message) const;
  template <class Answer>
  Answer ask(ServerCall const& message) const;

  std::shared_ptr<Communicator const> group_;
  ServerRoles roles_;
  std::vector<ElementRange> ranges_;
};

}  // namespace trireme

#ifndef TRIREME_COMPILED
#include "trireme/strategies/parameter_server/server_client.ipp"
#endif
