// expect: trireme: a value of one process is not Uniform
#include "trireme/mpi/communicator.hpp"

trireme::Uniform<bool> decide(trireme::Communicator const& world, bool wish) {
#ifdef TRIREME_MUST_FAIL
  static_cast<void>(world);
  trireme::Uniform<bool> u = wish;
#else
  trireme::Uniform<bool> u = world.any(wish);
#endif
  return u;
}
