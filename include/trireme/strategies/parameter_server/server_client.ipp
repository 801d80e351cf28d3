/// Definitions of trireme/strategies/parameter_server/server_client.hpp.
#pragma once

#include "trireme/strategies/parameter_server/server_client.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "trireme/core/linkage.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/strategies/parameter_server/server_messages.hpp"
#include "trireme/strategies/parameter_server/server_roles.hpp"

namespace trireme {

TRIREME_INLINE void ServerClient::call(std::size_t server, ServerCall const& message) const {
  group_->send(std::span(&message, 1), rank(server), server_tags::call);
}

TRIREME_INLINE void ServerClient::call_all(ServerCall const& message) const {
  for (std::size_t server = 0; server < count(); ++server) call(server, message);
}

template <class Answer>
Answer ServerClient::ask(ServerCall const& message) const {
  Answer answer{};
  auto request = group_->ireceive(std::span(&answer, 1), rank(0), server_tags::answer);
  call(0, message);
  request.wait();
  return answer;
}

TRIREME_INLINE AcquireAnswer ServerClient::acquire(std::size_t next) const {
  return ask<AcquireAnswer>({.kind = Kind::acquire, .number = next});
}

TRIREME_INLINE std::uint64_t ServerClient::number_update() const { return ask<std::uint64_t>({.kind = Kind::update}); }

}  // namespace trireme
