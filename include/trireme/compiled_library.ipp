/// Definitions of trireme/compiled_library.hpp.
#pragma once

#include "trireme/compiled_library.hpp"

#include <cstddef>

#include "trireme/backend/simd/simd_vector.hpp"
#include "trireme/io/file_format.hpp"

#ifdef TRIREME_COMPILED
namespace trireme::detail {

template <bool Hdf5, bool Zlib, bool Protozero, std::size_t SimdBytes>
void CompiledLibrary<Hdf5, Zlib, Protozero, SimdBytes>::is_compiled_alike() {}
template struct CompiledLibrary<have_hdf5, have_zlib, have_protozero, simd_bytes>;

}  // namespace trireme::detail
#endif
