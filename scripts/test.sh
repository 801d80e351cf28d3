#!/usr/bin/env bash
# Builds and runs the tests; ends with the line `N passed, N failed`.
#
#   scripts/test.sh [ctest arguments]     for example -L law, -L unit, -R layers, --rerun-failed
#
# Labels: unit mpi law parity compile_fail consumer fault fuzz. TRIREME_PRESET chooses the preset (default dev; those of
# aarch64 cross-compile and run tests under qemu-user), and TRIREME_TEST_ROOMS the folders of tests/ that are built
# (default: all). TRIREME_TEST_TARGETS names single programs instead, as a pattern ('^unit_(layers|strategies)_'); give
# ctest the same choice with -R.
source "$(dirname "$0")/dependencies.sh"

preset=${TRIREME_PRESET:-dev}
build="$project/build/$preset"
require_packages "${core_packages[@]}"
configure=()
case $preset in
  clang19 | v3 | asan | tsan) require_packages "${clang_packages[@]}" ;;
esac
case $preset in
  # As a shared library a sanitizer's runtime lets tests have an operator new of their own.
  asan | tsan) export LDFLAGS="-Wl,-rpath,$(dirname "$(clang++-19 -print-file-name=libclang_rt.asan-x86_64.so)") ${LDFLAGS:-}" ;;
esac
case $preset in
  tsan) require_kokkos serial ;;
  aarch64 | sve256 | sve512)
    bash "$project/scripts/aarch64.sh"
    export Kokkos_ROOT
    Kokkos_ROOT=$(kokkos_cache openmp aarch64)
    ;;
  clang19 | v3 | asan)
    CXX=clang++-19 bash "$project/scripts/kokkos.sh" openmp "$(kokkos_cache openmp clang19)"
    export Kokkos_ROOT
    Kokkos_ROOT=$(kokkos_cache openmp clang19)
    ;;
  *) require_kokkos openmp ;;
esac
[ -z "${TRIREME_TEST_ROOMS:-}" ] || configure+=("-DTRIREME_TEST_ROOMS=$TRIREME_TEST_ROOMS")
[ -z "${CI:-}" ] || configure+=(-DTRIREME_WARNINGS_AS_ERRORS=ON)
# GCC takes a fifth longer for line numbers, which nobody looks at there.
[ -z "${CI:-}" ] || [ "$preset" != dev ] || configure+=(-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1)

say "building the tests in build/$preset"
cd "$project"
logged "configuring" cmake --preset "$preset" "${configure[@]}" ${Kokkos_ROOT:+"-DKokkos_ROOT=$Kokkos_ROOT"}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
broken=0
targets=() absent=()
if [ -n "${TRIREME_TEST_TARGETS:-}" ]; then
  mapfile -t targets < <(ninja -C "$build" -t targets all | sed -n 's/: phony$//p' | grep -E "$TRIREME_TEST_TARGETS")
  [ ${#targets[@]} -gt 0 ] || die "no target matches '$TRIREME_TEST_TARGETS'"
  targets=(--target "${targets[@]}")
fi
# One more than cores, which other work may have too: compilers wait for files and linkers.
jobs=$(($(nproc) + 1))
if ! cmake --build "$build" "${targets[@]}" -j "$jobs" -- -k 0 >"$log" 2>&1; then
  broken=1
  grep -E -A 3 '(error|warning): |undefined reference|ninja: error' "$log" | head -n 80 >&2 || tail -n 30 "$log" >&2
  echo "test.sh: the build failed, the errors are above; what was built is tested nevertheless" >&2
  # Programs of an earlier build would pass, though what they are made of no longer compiles: a source of their own, or
  # something that all of them have, as the headers that are compiled once.
  mapfile -t programs < <(ninja -C "$build" -t targets all | sed -n 's/: CXX_EXECUTABLE_LINKER__.*//p')
  while read -r output; do
    [[ ! $output =~ ^(.*)/CMakeFiles/([^/]+)\.dir/ ]] || output=${BASH_REMATCH[1]}/${BASH_REMATCH[2]}
    if [[ " ${programs[*]} " == *" $output "* ]]; then absent+=("$output"); else absent=("${programs[@]}") && break; fi
  done < <(sed -nE 's/^FAILED: (\[[^]]*\] )?([^ ]+).*/\2/p' "$log")
  (cd "$build" && rm -f "${absent[@]}")
fi

say "testing"
status=0
# Tests of several ranks count as two, and wait for each other much of their time.
ctest --test-dir "$build" --output-on-failure --no-tests=error -j "$jobs" "$@" 2>&1 | tee "$log" || status=1
summary=$(grep -E '^[0-9]+% tests passed, [0-9]+ tests? failed out of [0-9]+' "$log" || echo "0% tests passed, 0 tests failed out of 0")
failed=$(sed -E 's/.*passed, ([0-9]+) tests? failed.*/\1/' <<<"$summary")
total=$(sed -E 's/.*out of ([0-9]+).*/\1/' <<<"$summary")
[ ${#absent[@]} -eq 0 ] || echo "test.sh: not built: ${absent[*]}" >&2
echo "$((total - failed)) passed, $((failed + broken)) failed"
[ "$status" -eq 0 ] && [ "$broken" -eq 0 ] && [ "$total" -gt 0 ]
