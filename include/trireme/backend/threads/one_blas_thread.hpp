/// The number of threads that OpenBLAS starts, held at one where the caller is a thread of many.
#pragma once

#include <cstddef>
#include <mutex>

#ifdef _OPENMP
#include <omp.h>
#endif

#if defined(__ELF__) && defined(__GNUC__)
#define TRIREME_WEAK_BLAS_THREADS
extern "C" {
__attribute__((weak)) int openblas_get_parallel();
__attribute__((weak)) int openblas_get_num_threads();
__attribute__((weak)) void openblas_set_num_threads(int);
}
#endif

namespace trireme::detail {

/// While one of them lives, OpenBLAS computes a product on its caller's thread alone: for all callers in its pthread
/// build, which has one setting, and for this thread in its OpenMP build, which follows OpenMP. Objects of several
/// threads may overlap; the last one restores the pthread build's setting.
class OneBlasThread {
 public:
  OneBlasThread(OneBlasThread const&) = delete;
  OneBlasThread& operator=(OneBlasThread const&) = delete;

#ifdef TRIREME_WEAK_BLAS_THREADS
  OneBlasThread() {
#ifdef _OPENMP
    own_before_ = omp_get_max_threads();
    if (own_before_ > 1) omp_set_num_threads(1);
#endif
    constexpr int pthreads = 1;
    if (!openblas_get_parallel || !openblas_get_num_threads || !openblas_set_num_threads) return;
    if (openblas_get_parallel() != pthreads) return;
    shares_ = true;
    std::scoped_lock const lock(shared().mutex);
    if (shared().count++ > 0) return;
    shared().before = openblas_get_num_threads();
    if (shared().before > 1) openblas_set_num_threads(1);
  }
  ~OneBlasThread() {
#ifdef _OPENMP
    if (own_before_ > 1) omp_set_num_threads(own_before_);
#endif
    if (!shares_) return;
    std::scoped_lock const lock(shared().mutex);
    if (--shared().count == 0 && shared().before > 1) openblas_set_num_threads(shared().before);
  }

 private:
  struct Shared {
    std::mutex mutex;
    std::size_t count = 0;
    int before = 1;
  };
  static Shared& shared() {
    static Shared one;
    return one;
  }

  int own_before_ = 1;
  bool shares_ = false;
#else
  OneBlasThread() {}
#endif
};

}  // namespace trireme::detail

#undef TRIREME_WEAK_BLAS_THREADS
