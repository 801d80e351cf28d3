#!/usr/bin/env bash
# Runs the tests of a folder that scripts/gpu-bundle.sh has made, on a machine with a GPU, and counts them.
#
#   ./gpu-test.sh [--log FOLDER] [--seconds N] [REGEX]
#
# --log      for what each test wrote; a new folder below $TMPDIR
# --seconds  at most for each test (120)
# REGEX      of the tests' names, as in device_kernels
#
# The last line is `N passed, N failed`; the exit code is 1 if any failed.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
seconds=120 log="" only='.*'
while [ $# -gt 0 ]; do
  case $1 in
    --log) log=$2 && shift 2 ;;
    --seconds) seconds=$2 && shift 2 ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 0 ;;
    -*) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 2 ;;
    *) only=$1 && shift ;;
  esac
done
[ -e "$here/tests.tsv" ] || { echo "gpu-test.sh: $here is not a folder of scripts/gpu-bundle.sh" >&2; exit 2; }
log=${log:-$(mktemp -d)}
mkdir -p "$log"
export PATH="$here/bin:$PATH" LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export TRIREME_REFERENCE_DIR="$here/data" OMP_NUM_THREADS=1 OMP_PROC_BIND=false OPENBLAS_NUM_THREADS=1 KOKKOS_DISABLE_WARNINGS=1
passed=0 failed=0
while IFS=$'\t' read -r -u 3 program ranks code says; do
  [[ $program =~ $only ]] || continue
  output=$log/$program.$ranks begin=$SECONDS result=""
  timeout -k 10 "$seconds" mpiexec.hydra -n "$ranks" "$here/bin/$program" >"$output" 2>&1 </dev/null
  ended=$?
  case $code in
    error) [ "$ended" -ne 0 ] || result="ended with 0" ;;
    *) [ "$ended" -eq "$code" ] || result="ended with $ended" ;;
  esac
  if [ -z "$result" ] && [ -n "$says" ]; then grep -qF -- "$says" "$output" || result="did not say: $says"; fi
  if [ -z "$result" ]; then
    passed=$((passed + 1))
    echo "passed  $program on $ranks, $((SECONDS - begin)) s"
  else
    failed=$((failed + 1))
    echo "FAILED  $program on $ranks, $((SECONDS - begin)) s: $result"
    tail -n 15 "$output" | sed 's/^/    /'
  fi
done 3<"$here/tests.tsv"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
