#!/usr/bin/env bash
# Installs what is missing, builds examples/digits and trains it: the first thing to try.
#
#   scripts/quickstart.sh [--strategy one-device|mirrored|multi-worker-mirrored] [--ranks 2] [--threads N]
#                         [--epochs N] [--data DIR]
#
# --ranks    MPI ranks of multi-worker-mirrored (the other strategies are one process)
# --threads  threads of each process; by default the processors are shared out over the ranks
# --epochs   passes over the training data
# --data     folder with MNIST-like IDX files or with optdigits.tra/.tes instead of the digits in examples/data
source "$(dirname "$0")/dependencies.sh"

strategy=multi-worker-mirrored ranks=2 threads="" arguments=()
while [ $# -gt 0 ]; do
  option=$1 value=${2:-}
  case $option in
    -h | --help)
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --strategy | --ranks | --threads | --epochs | --data) [ $# -ge 2 ] || die "$option needs a value" ;;
    *) die "unknown option '$option' (see --help)" ;;
  esac
  case $option in
    --strategy)
      case $value in
        one-device | mirrored | multi-worker-mirrored) strategy=$value ;;
        *) die "unknown strategy '$value' (one-device, mirrored or multi-worker-mirrored)" ;;
      esac
      ;;
    --ranks | --threads | --epochs)
      [[ $value =~ ^[1-9][0-9]*$ ]] || die "$option needs a positive number, not '$value'"
      case $option in
        --ranks) ranks=$value ;;
        --threads) threads=$value ;;
        --epochs) arguments+=(--epochs "$value") ;;
      esac
      ;;
    --data)
      [ -d "$value" ] || die "--data: there is no folder '$value'"
      arguments+=(--data "$(cd "$value" && pwd)")
      ;;
  esac
  shift 2
done
[ "$strategy" = multi-worker-mirrored ] || ranks=1

require_packages "${core_packages[@]}"
require_kokkos openmp
build="$project/build/quickstart"
say "building examples/digits in build/quickstart"
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
logged "configuring" cmake -S "$project" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
  -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_BENCHMARKS=OFF -DTRIREME_BUILD_EXAMPLES=ON -DTRIREME_EXAMPLES_NATIVE=ON
logged "building" cmake --build "$build" --target digits -j "$(nproc)"

[ -n "$threads" ] || threads=$(($(nproc) / ranks))
[ "$threads" -ge 1 ] || threads=1
export OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads OMP_PROC_BIND=${OMP_PROC_BIND:-false}
command=("$build/examples/digits/digits" --strategy "$strategy" "${arguments[@]}")
if [ "$strategy" = multi-worker-mirrored ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
  mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
  command=("$mpiexec" -n "$ranks" "${command[@]}")
fi
say "training with $strategy on $ranks rank(s) of $threads thread(s)"
exec "${command[@]}"
