// expect: trireme: a value of one process is not Uniform
#include "trireme/mpi/communicator.hpp"

trireme::Uniform<bool> resolve(trireme::Communicator const& world, bool request) {
#ifdef TRIREME_MUST_FAIL
  static_cast<void>(world);
  trireme::Uniform<bool> u = request;
#else
  trireme::Uniform<bool> u = world.allreduce_or(request);
#endif
  return u;
}
