#!/usr/bin/env bash
# Builds Kokkos 4.7 from the sources in a PyPI package and installs it; does nothing where PREFIX already has it.
#
#   scripts/kokkos.sh openmp PREFIX         OpenMP and Serial, for this processor
#   scripts/kokkos.sh serial PREFIX         Serial only (thread sanitizer)
#   scripts/kokkos.sh cuda   PREFIX [ARCH]  CUDA and Serial with nvcc (ARCH as in Kokkos_ARCH_…, default HOPPER90)
#   scripts/kokkos.sh hip    PREFIX [ARCH]  HIP and Serial with clang++-19 (default AMD_GFX90A)
#   KOKKOS_SOURCE=FOLDER scripts/kokkos.sh …      the same from sources of yours, of any version
#
# The CUDA and HIP builds need the toolkits, not a GPU. Compile programs with the compiler that built Kokkos.
# CMAKE_TOOLCHAIN_FILE in the environment names a toolchain for another processor, as in scripts/aarch64.sh.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;; esac

die() { echo "kokkos.sh: $*" >&2; exit 1; }
[ $# -ge 2 ] || die "usage: kokkos.sh openmp|serial|cuda|hip PREFIX [ARCH]"
backend=$1 prefix=$2 arch=${3:-}
project=$(cd "$(dirname "$0")/.." && pwd)

# Of an older script's build for CUDA the layout of Views is not right, as is said below.
stamp=$prefix/.trireme-complete
if [ "$backend" = cuda ]; then stamp+=-2; fi
if [ -e "$stamp" ]; then
  echo "Kokkos ($backend) is already in $prefix"
  exit 0
fi

for tool in cmake:cmake "${CXX:-c++}:g++"; do
  command -v "${tool%:*}" >/dev/null || die "${tool%:*} is not on the PATH (Debian: apt-get install ${tool##*:})"
done

options=(-DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_STANDARD=20 -DKokkos_ENABLE_SERIAL=ON)
case $backend in
  openmp) options+=(-DKokkos_ENABLE_OPENMP=ON) ;;
  serial) ;;
  cuda) command -v nvcc >/dev/null || die "nvcc is not on the PATH, and the CUDA backend needs it" ;;
  hip)
    command -v clang++-19 >/dev/null || die "clang++-19 is not on the PATH, and the HIP backend needs it"
    [ -x "$(dirname "$(readlink -f "$(command -v clang++-19)")")/clang-offload-bundler" ] ||
      die "clang-offload-bundler is not beside clang++-19 (Debian: apt-get install clang-tools-19)"
    [ -e "$(clang++-19 -print-libgcc-file-name --rtlib=compiler-rt)" ] ||
      die "the runtime library of clang++-19 is missing (Debian: apt-get install libclang-rt-19-dev)" ;;
  *) die "unknown backend '$backend' (openmp, serial, cuda or hip)" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "Building Kokkos ($backend) for $prefix: a few minutes"
source="$work/pygenten-0.1.5/tpls/kokkos"
if [ -n "${KOKKOS_SOURCE:-}" ]; then
  mkdir -p "$(dirname "$source")"
  cp -r "$KOKKOS_SOURCE" "$source"
else
  archive=pygenten-0.1.5.tar.gz
  kept=${XDG_CACHE_HOME:-$HOME/.cache}/trireme/$archive  # of the first build, for the other backends
  if [ ! -e "$kept" ]; then
    python3 -m venv "$work/venv" || die "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)"
    pip="$work/venv/bin/pip"
    "$pip" install -q --upgrade pip setuptools wheel scikit-build-core pybind11 numpy
    PATH="$work/venv/bin:$PATH" "$pip" download -q --no-deps --no-build-isolation --no-binary :all: \
      -d "$work" pygenten==0.1.5 || die "the source package that holds Kokkos could not be downloaded from PyPI"
    mkdir -p "$(dirname "$kept")"
    cp "$work/$archive" "$kept.$$"
    mv "$kept.$$" "$kept"
  fi
  tar xzf "$kept" -C "$work"
fi

case $backend in
  cuda)
    arch=${arch:-HOPPER90}
    # CMake's compiler check passes no -arch, and CUDA 13 no longer knows the wrapper's default.
    sed -i "s/^default_arch=.*/default_arch=\"sm_${arch//[^0-9]/}\"/" "$source/bin/nvcc_wrapper"
    # From CUDA 12.9 on [[no_unique_address]] gives a View other places in a kernel's argument than on the host, so that
    # `Kokkos::deep_copy(view, number)` writes elsewhere. Kokkos 5 does without it, too (github.com/kokkos/mdspan, 434).
    layout=$source/tpls/mdspan/include/experimental/__p0009_bits/config.hpp
    if [ -e "$layout" ]; then
      sed -i 's/(!defined(__NVCC__) || MDSPAN_HAS_CXX_20) &&/!defined(__NVCC__) \&\&/' "$layout"
      ! grep -qF '(!defined(__NVCC__) || MDSPAN_HAS_CXX_20)' "$layout" || die "$layout cannot be mended"
    fi
    options+=(-DKokkos_ENABLE_CUDA=ON "-DKokkos_ARCH_$arch=ON" "-DCMAKE_CXX_COMPILER=$source/bin/nvcc_wrapper"
              "-DCMAKE_CXX_FLAGS=-include $project/cmake/cuda13_kokkos.hpp") ;;
  hip)
    bitcode=$(find /usr/lib /opt/rocm -name ockl.bc 2>/dev/null | head -n 1 || true)  # /opt/rocm may be absent
    [ -n "$bitcode" ] || die "ROCm's device libraries are missing (Debian: apt-get install rocm-device-libs)"
    # Debian's HIP 5.2 makes atomicInc of an intrinsic that LLVM dropped; clang has had this builtin since.
    sed -i 's/atomicInc(global_flags, block_count - 1)/__builtin_amdgcn_atomic_inc32(global_flags, block_count - 1, __ATOMIC_RELAXED, "agent")/' \
      "$source/core/src/HIP/Kokkos_HIP_ReduceScan.hpp"
    options+=(-DKokkos_ENABLE_HIP=ON -DKokkos_ENABLE_ROCTHRUST=OFF "-DKokkos_ARCH_${arch:-AMD_GFX90A}=ON"
              -DCMAKE_CXX_COMPILER=clang++-19
              "-DCMAKE_CXX_FLAGS=--rocm-path=/usr --rocm-device-lib-path=$(dirname "$bitcode")") ;;
esac

# A few files that include a dozen of the package's take a third of the time, as each source has Kokkos's headers to read.
if [ -z "${KOKKOS_SOURCE:-}" ]; then options+=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12); fi
generator=()
command -v ninja >/dev/null && generator=(-G Ninja)
{
  cmake -S "$source" -B "$work/build" "${generator[@]}" "${options[@]}" "-DCMAKE_INSTALL_PREFIX=$prefix" &&
  cmake --build "$work/build" -j "$(nproc)" &&
  cmake --install "$work/build"
} >"$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; die "building Kokkos ($backend) failed; the last lines are above"; }
if [ "$backend" = cuda ]; then  # whoever includes this Kokkos needs the overloads too
  cp "$project/cmake/cuda13_kokkos.hpp" "$prefix/include/"
  echo '#include "cuda13_kokkos.hpp"' >>"$prefix/include/KokkosCore_config.h"
fi
touch "$stamp"
echo "Kokkos ($backend) is in $prefix"
