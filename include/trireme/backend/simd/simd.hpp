/// Pragmas for loops: TRIREME_SIMD says that the iterations are independent, TRIREME_UNROLL(n) that there are n at
/// most, TRIREME_UNROLL_BY(n) that n at a time pay.
#pragma once

#define TRIREME_PRAGMA(text) _Pragma(#text)

#if defined(_OPENMP)
#define TRIREME_SIMD _Pragma("omp simd")
#elif defined(__clang__)
#define TRIREME_SIMD _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TRIREME_SIMD _Pragma("GCC ivdep")
#else
#define TRIREME_SIMD
#endif

#if defined(__CUDACC__)  // nvcc's host pass knows neither
#define TRIREME_UNROLL(n)
#define TRIREME_UNROLL_BY(n)
#elif defined(__clang__)
#define TRIREME_UNROLL(n) _Pragma("clang loop unroll(full)")
#define TRIREME_UNROLL_BY(n) TRIREME_PRAGMA(clang loop unroll_count(n))
#elif defined(__GNUC__)
#define TRIREME_UNROLL(n) TRIREME_PRAGMA(GCC unroll n)
#define TRIREME_UNROLL_BY(n) TRIREME_PRAGMA(GCC unroll n)
#else
#define TRIREME_UNROLL(n)
#define TRIREME_UNROLL_BY(n)
#endif
