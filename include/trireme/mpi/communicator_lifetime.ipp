/// Definitions of trireme/mpi/communicator_lifetime.hpp.
#pragma once

#include "trireme/mpi/communicator_lifetime.hpp"

#include "trireme/core/forked_child.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/core/outside_environment.hpp"
#include "trireme/mpi/communicator.hpp"

namespace trireme::detail {

TRIREME_INLINE MPI_Comm duplicated(MPI_Comm parent) {
  if (!mpi_is_initialized() || mpi_is_finalized())
    raise_outside_environment(
        CommunicationError("a Communicator was made while MPI is not running; make an Environment first"));
  if (parent == MPI_COMM_NULL) throw CommunicationError("a Communicator was made from MPI_COMM_NULL");
  MPI_Comm comm = MPI_COMM_NULL;
  meet_before("MPI_Comm_dup", parent);
  DeadlineWait const waiting("MPI_Comm_dup");
  check_made(MPI_Comm_dup(parent, &comm), "MPI_Comm_dup", parent);
  return comm;
}

}  // namespace trireme::detail

namespace trireme {

TRIREME_INLINE Communicator::Communicator(MPI_Comm parent, std::size_t largest_count)
    : Communicator(detail::duplicated(parent), largest_count, nullptr) {}

TRIREME_INLINE Communicator::Communicator(MPI_Comm owned, std::size_t largest_count, std::nullptr_t)
    : comm_(owned), largest_count_(largest_count) {
  int rank = 0;
  int size = 0;
  check(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler", comm_);
  check(MPI_Comm_rank(comm_, &rank), "MPI_Comm_rank", comm_);
  check(MPI_Comm_size(comm_, &size), "MPI_Comm_size", comm_);
  rank_ = static_cast<std::size_t>(rank);
  size_ = static_cast<std::size_t>(size);
}

TRIREME_INLINE Communicator& Communicator::operator=(Communicator&& other) noexcept {
  if (this != &other) {
    free();
    comm_ = std::exchange(other.comm_, MPI_COMM_NULL);
    rank_ = other.rank_;
    size_ = other.size_;
    largest_count_ = other.largest_count_;
    common_ = std::move(other.common_);
    numbers_ = other.numbers_;
  }
  return *this;
}

TRIREME_INLINE std::shared_ptr<Communicator const> Communicator::common_duplicate() const {
  if (!common_) common_ = std::make_shared<Communicator const>(comm_, largest_count_);
  return common_;
}

TRIREME_INLINE Communicator Communicator::split(std::size_t color, std::size_t key) const {
  MPI_Comm part = MPI_COMM_NULL;
  detail::meet_before("MPI_Comm_split", comm_);
  DeadlineWait const waiting("MPI_Comm_split");
  detail::check_made(MPI_Comm_split(comm_, detail::to_mpi_int(color), detail::to_mpi_int(key), &part), "MPI_Comm_split",
                     comm_);
  return Communicator(part, largest_count_, nullptr);
}

TRIREME_INLINE Communicator Communicator::split_by_node() const {
  MPI_Comm part = MPI_COMM_NULL;
  detail::meet_before("MPI_Comm_split_type", comm_);
  DeadlineWait const waiting("MPI_Comm_split_type");
  detail::check_made(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part), "MPI_Comm_split_type",
                     comm_);
  return Communicator(part, largest_count_, nullptr);
}

TRIREME_INLINE void Communicator::free() noexcept {
  if (comm_ != MPI_COMM_NULL && !detail::is_forked_child() && !detail::mpi_is_finalized()) MPI_Comm_free(&comm_);
  comm_ = MPI_COMM_NULL;
}

}  // namespace trireme
