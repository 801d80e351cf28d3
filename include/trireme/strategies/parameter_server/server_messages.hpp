/// Messages between workers and parameter servers while an epoch runs.
#pragma once

#include <cstdint>

namespace trireme {

/// A worker's call to a server. Those for the schedule go to the first server, the others to each.
struct ServerCall {
  enum class Kind : std::uint64_t {
    acquire,  ///< number: the lowest batch allowed; answered by AcquireAnswer
    release,  ///< the batch acquired does not exist
    update,   ///< the gradient is complete; answered by the number of its update
    close,    ///< no more batches in this epoch
    pull,     ///< number: updates that the weights must have seen; answered by the server's range of the weights
    push,     ///< number: of the update; the gradient follows
    fetch,    ///< answered by all that the server holds; from the chief
    leave     ///< nothing more in this epoch
  };
  Kind kind = Kind::leave;
  std::uint64_t number = 0;
  std::uint64_t rows = 0;  ///< push: of the batch
};

/// A server's answer to a worker that acquires a batch.
struct AcquireAnswer {
  std::uint64_t some = 0;  ///< 0: there is no batch left
  std::uint64_t batch = 0, version = 0, number = 0;
};

namespace server_tags {
inline constexpr int call = 101, answer = 102, gradients = 103, weights = 104, state = 105;
}  // namespace server_tags

}  // namespace trireme
