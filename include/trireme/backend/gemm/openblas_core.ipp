/// Definitions of trireme/backend/gemm/openblas_core.hpp.
#pragma once

#include "trireme/backend/gemm/openblas_core.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "trireme/core/linkage.hpp"

namespace trireme::detail {

TRIREME_INLINE std::optional<OpenblasClass> openblas_class(std::string_view core) {
  for (char const* name : {"SkylakeX", "Cooperlake", "SapphireRapids"})
    if (core == name) return OpenblasClass::avx512;
  for (char const* name : {"Haswell", "Zen"})
    if (core == name) return OpenblasClass::avx2;
  for (char const* name :
       {"Katmai",      "Coppermine", "Northwood", "Prescott",     "Banias",      "Atom",       "Core2",
        "Penryn",      "Dunnington", "Nehalem",   "Athlon",       "Opteron",     "Nano",       "Bobcat",
        "Sandybridge", "Barcelona",  "Bulldozer", "Opteron_SSE3", "Steamroller", "Piledriver", "Excavator"})
    if (core == name) return OpenblasClass::below_avx2;
  return {};
}

TRIREME_INLINE std::string openblas_core() {
#if defined(__ELF__) && defined(__GNUC__)
  if (openblas_get_corename && gotoblas_dynamic_init && gotoblas_dynamic_quit) return openblas_get_corename();
#endif
  return {};
}

TRIREME_INLINE std::string fitting_openblas_core() {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__)) && !defined(__HIP_DEVICE_COMPILE__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl"))
    return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return __builtin_cpu_is("amd") ? "Zen" : "Haswell";
#endif
  return {};
}

TRIREME_INLINE void choose_openblas_core(std::string const& core) {
#if defined(__ELF__) && defined(__GNUC__)
  constexpr char const* variable = "OPENBLAS_CORETYPE";
  if (openblas_core().empty()) return;
  // OpenBLAS reads this variable. Programs started from this one must find it as the user left it.
  char const* const set = std::getenv(variable);
  std::optional<std::string> const before = set ? std::optional<std::string>(set) : std::nullopt;
  core.empty() ? unsetenv(variable) : setenv(variable, core.c_str(), 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  before ? setenv(variable, before->c_str(), 1) : unsetenv(variable);
#endif
}

TRIREME_INLINE void raise_openblas_core(std::string const& core) {
  auto const used = openblas_class(openblas_core()), wanted = openblas_class(core);
  if (!used || !wanted || *used >= *wanted) return;
  choose_openblas_core(core);
  // A build without these kernels may have taken the lowest ones.
  auto const now = openblas_class(openblas_core());
  if (!now || *now < *used) choose_openblas_core({});
}

TRIREME_INLINE void correct_openblas_core() {
  if (std::getenv("OPENBLAS_CORETYPE") == nullptr) raise_openblas_core(fitting_openblas_core());
}

}  // namespace trireme::detail
