#!/usr/bin/env bash
# Packages trireme with Conan, trains with the package on two ranks, and builds a project that uses it.
#
#   scripts/conan.sh [--profile gcc|clang|nvcc|hip] [--requirements auto|center|system] [OPTION=VALUE …]
#
# --profile              the compiler: gcc is the default, nvcc goes with cuda=True, hip with rocm=True
# --requirements center  what trireme needs comes from Conan Center; packaging/conan/recipes adds what it lacks
#                system  all of it is what the system has, packaged by packaging/conan/system
#                auto    center where it can be reached, else system (the default)
# OPTION=VALUE           an option of the package: hdf5, zlib, protozero, pjrt, cuda or rocm, True or False
#
# With cuda=True or rocm=True requirements are the system's; scripts/kokkos.sh builds Kokkos unless Kokkos_ROOT names one,
# and programs run where there is a GPU.
# The client is PyPI's. It and the packages stay below ~/.cache/trireme, apart from a Conan of yours.
source "$(dirname "$0")/dependencies.sh"
cd "$project"

profile="" requirements=auto options=() backend=openmp
while [ $# -gt 0 ]; do
  case $1 in
    --profile) profile=${2:-} && shift 2 ;;
    --requirements) requirements=${2:-} && shift 2 ;;
    hdf5=* | zlib=* | protozero=* | pjrt=* | cuda=* | rocm=*)
      [[ $1 =~ =(True|False)$ ]] || die "an option is True or False, not '${1#*=}' (${1%%=*})"
      case $1 in cuda=True) backend=cuda ;; rocm=True) backend=hip ;; esac
      options+=(-o "trireme/*:$1") && shift
      ;;
    *) die "unknown argument '$1' (--profile gcc|clang|nvcc|hip, --requirements auto|center|system, hdf5|zlib|protozero|pjrt|cuda|rocm=True|False)" ;;
  esac
done
if [[ " ${options[*]} " == *:cuda=True* && " ${options[*]} " == *:rocm=True* ]]; then
  die "one Kokkos has CUDA or ROCm: choose one of the options cuda and rocm"
fi
case $backend in
  openmp) pattern='gcc|clang' needed="" ;;
  cuda) pattern=nvcc needed=" with cuda=True" ;;
  hip) pattern=hip needed=" with rocm=True" ;;
esac
profile=${profile:-${pattern%%|*}}
[[ $profile =~ ^($pattern)$ ]] || die "the profile is ${pattern/|/ or }$needed, not '$profile'"
[[ $requirements =~ ^(auto|center|system)$ ]] || die "requirements are auto, center or system, not '$requirements'"
if [ "$backend" != openmp ]; then
  [ "$requirements" != center ] || die "requirements are those of the system$needed, since the Kokkos of a GPU brings the compiler"
  requirements=system
fi

recipes=$project/packaging/conan/recipes work=$project/build/conan/$profile
require_packages "${core_packages[@]}"
case $profile in
  clang) require_packages "${clang_packages[@]}" ;;
  hip) require_packages "${hip_packages[@]}" ;;
esac

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

# export_system NAME…: packages of the system, and PJRT's header, which is nowhere else.
export_system() {
  local name names=("$@") log=$work/export.log
  if [[ " ${options[*]} " == *:pjrt=True* ]]; then names+=(pjrt-c-api); fi
  for name in "${names[@]}"; do
    if ! conan export packaging/conan/system --name "$name" >"$log" 2>&1; then
      sed -n 's/^.*ConanException: //p' "$log" | grep . >&2 || cat "$log" >&2  # what is missing, in a sentence
      die "$name could not be packaged; why is above"
    fi
  done
}

# Debug compiles in half the time of Release, and headers are the same.
profiles=(-pr:a "$project/packaging/conan/profiles/$profile" -s build_type=Debug)
rm -rf "$work"
mkdir -p "$work"
if [ "$backend" = cuda ]; then
  command -v nvcc >/dev/null || die "nvcc is not on the PATH, and cuda=True needs it"
fi
if [ "$requirements" = system ]; then
  if [ -n "${Kokkos_ROOT:-}" ]; then
    say "Kokkos is that of Kokkos_ROOT, $Kokkos_ROOT"
  elif [ "$profile" = clang ]; then
    CXX=clang++-19 scripts/kokkos.sh openmp "$(kokkos_cache openmp clang19)"
    export Kokkos_ROOT=$(kokkos_cache openmp clang19)
  else
    require_kokkos "$backend"
  fi
  export_system fmt hdf5 kokkos mpi openblas protozero xtensor xtensor-blas zlib
  remote=(--no-remote)
  logged "locking versions" conan lock create "$recipes/trireme/all" --no-remote "${profiles[@]}" "${options[@]}" \
    --lockfile= --lockfile-out "$work/conan.lock" --build=missing
  lock=$work/conan.lock
else
  logged "exporting kokkos" conan export "$recipes/kokkos/all" --version 4.7.01
  logged "exporting xtensor-blas" conan export "$recipes/xtensor-blas/all" --version 0.20.0
  export_system mpi
  remote=(-r conancenter)
  lock=$project/packaging/conan/conan.lock
fi

export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OMP_PROC_BIND=${OMP_PROC_BIND:-false}
runs=True  # a program for a GPU where there is one
case $backend in
  cuda) [ -e /dev/nvidiactl ] || runs=False ;;
  hip) [ -e /dev/kfd ] || runs=False ;;
esac
if [ $runs = True ]; then
  say "creating the package and training with it on two ranks"
else
  say "creating the package and compiling a program with it, which does not run: there is no GPU"
fi
conan create "$recipes/trireme/all" "${remote[@]}" "${profiles[@]}" "${options[@]}" --build=missing \
  --lockfile "$lock" --lockfile-partial -c "tools.cmake.cmake_layout:test_folder=$work/test" \
  -c "tools.build.cross_building:can_run=$runs" -c tools.cmake.cmaketoolchain:user_presets= >"$work/create.log" 2>&1 || {
  refused=$(sed -n 's/^[^ ]*: Invalid: //p' "$work/create.log")  # by a recipe, in a sentence
  [ -z "$refused" ] || die "$refused"
  tail -n 40 "$work/create.log" >&2
  die "conan create failed; above are the last lines of $work/create.log"
}
if [ $runs = True ]; then
  grep '^trireme .* on 2 ranks' "$work/create.log" || die "the test of the package did not train (see $work/create.log)"
fi

say "building a project that uses the package"
version=$(conan inspect "$recipes/trireme/all" | sed -n 's/^version: //p')
cd "$work"  # where there is no CMakeLists.txt beside which Conan would put presets
logged "conan install" conan install --requires "trireme/$version" "${remote[@]}" "${profiles[@]}" "${options[@]}" \
  -g CMakeDeps -g CMakeToolchain --output-folder "$work/packages" --lockfile "$lock" --lockfile-partial
cd "$project"
logged "configuring" cmake -S tests/consumer/project -B "$work/consumer" -DCONSUMER_WAY=conan \
  -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_TOOLCHAIN_FILE=$work/packages/conan_toolchain.cmake"
logged "compiling" cmake --build "$work/consumer"
if [ $runs = True ]; then "$work/consumer/consumer" || die "the project that uses the package ends with $?"; fi
done=works
[ $runs = True ] || done="compiles and links"
say "trireme/$version $done with $profile and requirements of the kind '$requirements'"
say "for a project of yours, beside its conanfile.txt:"
for variable in CONAN_HOME Kokkos_ROOT CXX; do  # the profiles read the last two
  [ -z "${!variable:-}" ] || echo "export $variable=${!variable}"
done
cat <<COMMANDS
$client/bin/conan install . -pr:a $project/packaging/conan/profiles/$profile ${options[*]@Q} ${remote[*]} --build=missing \\
  --lockfile $lock --lockfile-partial --output-folder build
cmake -S . -B build -DCMAKE_TOOLCHAIN_FILE=conan_toolchain.cmake -DCMAKE_BUILD_TYPE=Release && cmake --build build
COMMANDS
