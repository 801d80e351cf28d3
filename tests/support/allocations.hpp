/// Counts what a test program allocates: with operator new, with malloc, and Kokkos Views through Kokkos' tool hooks.
/// Include it in one source file of the program: it replaces the global operators.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <Kokkos_Core.hpp>

// The C library's allocation functions can be replaced too, unless a sanitizer has done so already; Clang's OpenMP
// runtime calls them in each region.
#if defined(__GLIBC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TRIREME_TEST_COUNTS_MALLOC 1
#endif

namespace trireme::test {

/// Allocations of all threads since the program began.
struct Allocations {
  std::size_t news = 0;
  std::size_t mallocs = 0;  ///< those behind operator new included
  std::size_t views = 0;    ///< Kokkos allocations; 0 unless ViewHooks are set

  friend Allocations operator-(Allocations const& a, Allocations const& b) {
    return {a.news - b.news, a.mallocs - b.mallocs, a.views - b.views};
  }
  Allocations& operator+=(Allocations const& other) {
    news += other.news, mallocs += other.mallocs, views += other.views;
    return *this;
  }
};

namespace detail {
inline std::atomic<std::size_t> news{0}, mallocs{0}, views{0};

inline void* counted_new(std::size_t size, std::size_t alignment) {
  news.fetch_add(1, std::memory_order_relaxed);
  std::size_t const rounded = (size + alignment - 1) / alignment * alignment;
  if (void* const p = std::aligned_alloc(alignment, rounded == 0 ? alignment : rounded)) return p;
  throw std::bad_alloc();
}
}  // namespace detail

inline Allocations allocations() { return {detail::news.load(), detail::mallocs.load(), detail::views.load()}; }

/// While one lives, Kokkos tells of its allocations. To Kokkos this is a loaded tool, for which it (and trireme) make
/// strings of labels with operator new: count one kind or the other.
struct ViewHooks {
  ViewHooks() {
    Kokkos::Tools::Experimental::set_allocate_data_callback(
        [](Kokkos_Profiling_SpaceHandle, char const*, void const*, std::uint64_t) { ++detail::views; });
  }
  ViewHooks(ViewHooks const&) = delete;
  ViewHooks& operator=(ViewHooks const&) = delete;
  ~ViewHooks() { Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr); }
};

}  // namespace trireme::test

[[gnu::noinline]] void* operator new(std::size_t size) {
  return trireme::test::detail::counted_new(size, alignof(std::max_align_t));
}
[[gnu::noinline]] void* operator new(std::size_t size, std::align_val_t alignment) {
  return trireme::test::detail::counted_new(size, static_cast<std::size_t>(alignment));
}
[[gnu::noinline]] void operator delete(void* p) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
[[gnu::noinline]] void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

#ifdef TRIREME_TEST_COUNTS_MALLOC
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

void* malloc(std::size_t size) noexcept {
  ++trireme::test::detail::mallocs;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) noexcept {
  ++trireme::test::detail::mallocs;
  return __libc_calloc(count, size);
}
void* realloc(void* p, std::size_t size) noexcept {
  ++trireme::test::detail::mallocs;
  return __libc_realloc(p, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  ++trireme::test::detail::mallocs;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** p, std::size_t alignment, std::size_t size) noexcept {
  ++trireme::test::detail::mallocs;
  *p = __libc_memalign(alignment, size);
  return *p ? 0 : 12;
}
}
#endif
