/// The check that a program and the library trireme::compiled that it links were compiled alike.
#pragma once

#include <cstddef>

#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/core/linkage.hpp"
#include "trireme/io/file_format.hpp"

#ifdef TRIREME_COMPILED

namespace trireme::detail {

#ifdef TRIREME_HAVE_ZLIB
inline constexpr bool have_zlib = true;
#else
inline constexpr bool have_zlib = false;
#endif
#ifdef TRIREME_HAVE_PROTOZERO
inline constexpr bool have_protozero = true;
#else
inline constexpr bool have_protozero = false;
#endif

/// Defined in the library for its own parameters alone, so that a program with other ones does not link: the linker's
/// message shows the program's.
template <bool Hdf5, bool Zlib, bool Protozero, std::size_t SimdBytes>
struct CompiledLibrary {
  static void is_compiled_alike();
};

[[gnu::used]] inline void (*const compiled_library)() =
    &CompiledLibrary<have_hdf5, have_zlib, have_protozero, simd_bytes>::is_compiled_alike;

}  // namespace trireme::detail

#endif
