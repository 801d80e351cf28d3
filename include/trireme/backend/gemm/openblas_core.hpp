/// The choice of OpenBLAS's kernels, corrected where it does not know a processor that is newer than itself.
///
/// OpenBLAS 0.3.21 mistakes some processors with AVX-512 for ones without, and then runs at half their speed. Where
/// another BLAS is linked, or an OpenBLAS that was built for one processor, its functions below are absent and nothing
/// happens.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#if defined(__ELF__) && defined(__GNUC__)
#define TRIREME_WEAK __attribute__((weak))
extern "C" {
TRIREME_WEAK char* openblas_get_corename();
TRIREME_WEAK void gotoblas_dynamic_init();
TRIREME_WEAK void gotoblas_dynamic_quit();
}
#undef TRIREME_WEAK
#endif

namespace trireme::detail {

/// The vectors that kernels of OpenBLAS use, in the order of their speed.
enum class OpenblasClass { below_avx2, avx2, avx512 };

/// The class of OpenBLAS's kernels with this name; nothing for names that are not of x86-64, or newer than this list.
std::optional<OpenblasClass> openblas_class(std::string_view core);

/// The name of the kernels in use; empty if it is not an OpenBLAS that can change them.
std::string openblas_core();

/// The kernels of the highest class that this processor and the operating system run; empty if unknown.
std::string fitting_openblas_core();

/// Makes OpenBLAS choose its kernels again: those of this name, or those for the detected processor if it is empty. No
/// product may be under way.
void choose_openblas_core(std::string const& core);

/// Makes OpenBLAS use these kernels if its own are known to be of a lower class.
void raise_openblas_core(std::string const& core);

/// At the start of a program, before its first product: kernels that suit the processor, unless the user has chosen.
void correct_openblas_core();

}  // namespace trireme::detail

#ifndef TRIREME_COMPILED
#include "trireme/backend/gemm/openblas_core.ipp"
#endif
