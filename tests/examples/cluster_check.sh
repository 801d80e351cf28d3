#!/usr/bin/env bash
# cluster_check.sh LAUNCHER… PROGRAM: the program names what is wrong where that is provoked, and says ok where nothing is.
set -eu
program=${!#}
export KOKKOS_DISABLE_WARNINGS=1
unset OPENBLAS_CORETYPE  # which the check would find wrong
core=$(taskset -pc $$ | sed 's/.*: *\([0-9]*\).*/\1/')

# expect CODE REGEX COMMAND…
expect() {
  local code=$1 text=$2 result=0 output
  shift 2
  output=$("$@" 2>&1) || result=$?
  printf '%s\n' "$output"
  [ "$result" -eq "$code" ] && [[ $output =~ $text ]] || {
    echo "ended with $result and not with $code, or has not said: $text" >&2
    exit 1
  }
}

expect 0 "1 processes on 1 nodes.*reads memory of CUDA devices: (yes|no|it does not say); of HIP" "$program"
expect 1 "wrong: rank 0: /nowhere cannot be written to" "$program" /nowhere
expect 1 "process 0 of $(hostname) has 2 threads and may use 1 processors" \
  taskset -c "$core" env OMP_NUM_THREADS=2 "$program"
expect 1 "2 processes of $(hostname) have 2 threads together, and 1 processors" taskset -c "$core" "$@"
# Some OpenMP runtimes bind a process before it can ask what it might use.
expect 1 "threads of several processes of $(hostname) are bound to the same|have 2 threads together, and 1 processors" \
  env OMP_PROC_BIND=true "$@"
if grep -qw avx2 /proc/cpuinfo; then
  expect 1 "kernels of OpenBLAS for Prescott on a processor that runs those for" \
    env OPENBLAS_CORETYPE=Prescott "$program"
fi
