#!/usr/bin/env bash
# Packages trireme with Conan, trains with the package on two ranks, and builds a project that uses it.
#
#   scripts/conan.sh [--profile gcc|clang] [--requirements auto|center|system] [OPTION=VALUE …]
#
# --requirements center  what trireme needs comes from Conan Center; packaging/conan/recipes adds what it lacks
#                system  all of it is what the system has, packaged by packaging/conan/system
#                auto    center where it can be reached, else system (the default)
# OPTION=VALUE           an option of the package: hdf5, zlib, protozero, pjrt, cuda or rocm, True or False
#
# The client is PyPI's. It and the packages stay below ~/.cache/trireme, apart from a Conan of yours.
source "$(dirname "$0")/dependencies.sh"
cd "$project"

profile=gcc requirements=auto options=()
while [ $# -gt 0 ]; do
  case $1 in
    --profile) profile=${2:-} && shift 2 ;;
    --requirements) requirements=${2:-} && shift 2 ;;
    hdf5=* | zlib=* | protozero=* | pjrt=* | cuda=* | rocm=*) options+=(-o "trireme/*:$1") && shift ;;
    *) die "unknown argument '$1' (--profile gcc|clang, --requirements auto|center|system, hdf5|zlib|protozero|pjrt|cuda|rocm=True|False)" ;;
  esac
done
[[ $profile =~ ^(gcc|clang)$ ]] || die "there is no profile '$profile' (gcc or clang)"
[[ $requirements =~ ^(auto|center|system)$ ]] || die "requirements are auto, center or system, not '$requirements'"

recipes=$project/packaging/conan/recipes work=$project/build/conan/$profile
require_packages "${core_packages[@]}"
if [ "$profile" = clang ]; then require_packages "${clang_packages[@]}"; fi

client=$cache/conan-2.34.0
if [ ! -e "$client/.trireme-complete" ]; then
  say "installing the Conan client"
  rm -rf "$client"
  python3 -m venv "$client" || die "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)"
  logged "installing Conan" "$client/bin/pip" install -q --disable-pip-version-check conan==2.34.0
  touch "$client/.trireme-complete"
fi
conan() { "$client/bin/conan" "$@"; }

# A home for each kind of requirements: a package of the system and one of Conan Center may have the same name.
home() {
  export CONAN_HOME=$cache/conan-home-$1
  mkdir -p "$CONAN_HOME"
}
reaches_center() {
  home center
  timeout 60 "$client/bin/conan" list 'fmt/9.1.0' -r conancenter -cc core.net.http:max_retries=0 \
    -cc core.net.http:timeout=10 2>&1 | grep -q 'fmt/9.1.0$'
}
if [ "$requirements" = auto ]; then
  if reaches_center; then requirements=center; else requirements=system; fi
fi
home "$requirements"
say "requirements: $requirements"

# Debug compiles in half the time of Release, and headers are the same.
profiles=(-pr:a "$project/packaging/conan/profiles/$profile" -s build_type=Debug)
rm -rf "$work"
mkdir -p "$work"
if [ "$requirements" = system ]; then
  if [ "$profile" = clang ]; then
    CXX=clang++-19 scripts/kokkos.sh openmp "$(kokkos_cache openmp clang19)"
    export Kokkos_ROOT=${Kokkos_ROOT:-$(kokkos_cache openmp clang19)}
  else
    require_kokkos openmp
  fi
  names=(fmt hdf5 kokkos mpi openblas protozero xtensor xtensor-blas zlib)
  if [[ " ${options[*]} " == *pjrt=True* ]]; then names+=(pjrt-c-api); fi
  for name in "${names[@]}"; do
    logged "exporting $name" conan export packaging/conan/system --name "$name"
  done
  remote=(--no-remote)
  logged "locking versions" conan lock create "$recipes/trireme/all" --no-remote "${profiles[@]}" "${options[@]}" \
    --lockfile= --lockfile-out "$work/conan.lock" --build=missing
  lock=$work/conan.lock
else
  logged "exporting kokkos" conan export "$recipes/kokkos/all" --version 4.7.01
  logged "exporting xtensor-blas" conan export "$recipes/xtensor-blas/all" --version 0.20.0
  logged "exporting mpi" conan export packaging/conan/system --name mpi
  remote=(-r conancenter)
  lock=$project/packaging/conan/conan.lock
fi

export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_PROC_BIND=${OMP_PROC_BIND:-false}
say "creating the package and training with it on two ranks"
conan create "$recipes/trireme/all" "${remote[@]}" "${profiles[@]}" "${options[@]}" --build=missing \
  --lockfile "$lock" --lockfile-partial -c "tools.cmake.cmake_layout:test_folder=$work/test" \
  -c tools.cmake.cmaketoolchain:user_presets= >"$work/create.log" 2>&1 ||
  { tail -n 40 "$work/create.log" >&2; die "conan create failed; above are the last lines of $work/create.log"; }
grep '^trireme .* on 2 ranks' "$work/create.log" || die "the test of the package did not train (see $work/create.log)"

say "building a project that uses the package"
version=$(conan inspect "$recipes/trireme/all" | sed -n 's/^version: //p')
cd "$work"  # where there is no CMakeLists.txt beside which Conan would put presets
logged "conan install" conan install --requires "trireme/$version" "${remote[@]}" "${profiles[@]}" "${options[@]}" \
  -g CMakeDeps -g CMakeToolchain --output-folder "$work/packages" --lockfile "$lock" --lockfile-partial
cd "$project"
logged "configuring" cmake -S tests/consumer/project -B "$work/consumer" -DCONSUMER_WAY=conan \
  -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_TOOLCHAIN_FILE=$work/packages/conan_toolchain.cmake"
logged "compiling" cmake --build "$work/consumer"
"$work/consumer/consumer" || die "the project that uses the package ends with $?"
say "trireme/$version works with $profile and requirements of the kind '$requirements'"
