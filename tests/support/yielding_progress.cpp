// Blocking calls of MPICH over UCX poll without a pause, so that of more ranks than cores the one that the others wait
// for gets no core for a time slice, again and again. Here they yield while nothing comes. MPI_Test, by which the
// library waits and backs off on its own, is left as it is.
#include <dlfcn.h>
#include <mpi.h>
#include <sched.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned polls_before_yield = 100;
thread_local unsigned idle_polls = 0;

}  // namespace

extern "C" {

unsigned ucp_worker_progress(void* worker) {
  static auto const progress = reinterpret_cast<unsigned (*)(void*)>(dlsym(RTLD_NEXT, "ucp_worker_progress"));
  if (!progress) {
    std::fputs("tests: ucp_worker_progress is called, and no library has it\n", stderr);
    std::abort();
  }
  unsigned const events = progress(worker);
  if (events != 0) {
    idle_polls = 0;
  } else if (++idle_polls >= polls_before_yield) {
    sched_yield();
    idle_polls = 0;
  }
  return events;
}

int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
  idle_polls = 0;
  return PMPI_Test(request, done, status);
}
}
