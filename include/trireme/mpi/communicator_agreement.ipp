/// Definitions of trireme/mpi/communicator_agreement.hpp.
#pragma once

#include "trireme/mpi/communicator_agreement.hpp"

#include "trireme/core/linkage.hpp"
#include "trireme/core/text.hpp"
#include "trireme/mpi/communicator.hpp"
#include "trireme/mpi/shared_error.hpp"

namespace trireme {

TRIREME_INLINE void Communicator::agree_no_error(std::exception_ptr const& error) const {
  // Lowest rank that failed, and whether all did, in one reduction.
  std::array<std::size_t, 2> failure{error ? rank_ : size_, error ? std::size_t{1} : std::size_t{0}};
  allreduce_min(failure);
  auto const [lowest, all_failed] = failure;
  if (lowest == size_) return;
  detail::SharedError shared = lowest == rank_ ? detail::SharedError::from(error) : detail::SharedError{};
  shared.kind = broadcast(shared.kind, lowest);
  broadcast(shared.message, lowest);
  broadcast(shared.path, lowest);
  shared.raise(all_failed != 0 ? std::string() : formatted("on rank {}: ", lowest));
}

}  // namespace trireme
