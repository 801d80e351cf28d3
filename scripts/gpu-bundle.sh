#!/usr/bin/env bash
# Builds tests and benchmarks for CUDA, here where no GPU is needed, and puts them into one folder for a machine with a GPU
# that has no network and none of trireme's packages: CUDA 13 and its cuBLAS are all that the programs expect there, and
# cuDNN if you say so.
#
#   scripts/gpu-bundle.sh [--tests REGEX] [--benchmarks REGEX] [--cudnn] [--one-architecture] [--host] [FOLDER]
#
# --tests       programs of tests/device (all of them)
# --benchmarks  programs of benchmarks/: training_(mlp|cnn|wide|surrogate|sequences|deep|mixed|pjrt), where pjrt is there if CMake
#               finds PJRT's header (scripts/pjrt.sh), and kernels_device_products
# --cudnn       convolutions are cuDNN's, which has to be on that machine as on this one
# --one-architecture  Kokkos's own alone (9.0), without code for an A100, which takes half of the time
# --host        for threads instead of CUDA, with the device in software, to try the folder and its scripts without a GPU
# FOLDER        build/gpu-bundle
#
# There, in the folder: ./gpu-test.sh and ./gpu-bench.sh, which need bash and for the peers Python.
source "$(dirname "$0")/dependencies.sh"
cd "$project"

tests='.*' benchmarks='training_(mlp|cnn|wide|surrogate|sequences|deep|mixed|pjrt)|kernels_device_products' backend=cuda cudnn=OFF second=yes folder=build/gpu-bundle
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 0 ;;
    --tests) tests=${2:-} && shift 2 ;;
    --benchmarks) benchmarks=${2:-} && shift 2 ;;
    --cudnn) cudnn=ON && shift ;;
    --one-architecture) second="" && shift ;;
    --host) backend=openmp && shift ;;
    -*) die "unknown option '$1' (see --help)" ;;
    *) folder=$1 && shift ;;
  esac
done

require_packages "${core_packages[@]}" binutils
arguments=()
if [ "$backend" = cuda ]; then
  [ ! -x /usr/local/cuda/bin/nvcc ] || PATH=$PATH:/usr/local/cuda/bin
  command -v nvcc >/dev/null || die "nvcc is not on this machine; --host builds without it"
  arguments=("-DCMAKE_CXX_COMPILER=$(kokkos_cache cuda)/bin/nvcc_wrapper" -DTRIREME_BENCHMARK_FLAGS=-O3 "-DTRIREME_WITH_CUDNN=$cudnn")
  # A100s beside the architecture of Kokkos, of which its compiler wrapper takes one alone.
  [ -z "$second" ] || export NVCC_APPEND_FLAGS="-gencode arch=compute_80,code=sm_80"
fi
require_kokkos "$backend"
build=build/gpu-bundle-$backend
preset=release
if [ "$backend" = cuda ]; then preset=cuda; fi
logged "configuring" cmake --preset "$preset" -B "$build" ${Kokkos_ROOT:+"-DKokkos_ROOT=$Kokkos_ROOT"} -DCMAKE_CXX_FLAGS= \
  -DTRIREME_BUILD_TESTS=ON -DTRIREME_BUILD_EXAMPLES=OFF -DTRIREME_BUILD_BENCHMARKS=ON \
  "-DTRIREME_TEST_ROOMS=unit;mpi;device" "${arguments[@]}"
mapfile -t targets < <(cmake --build "$build" --target help | grep -oE '^((device|kernels)_[a-z_0-9]+|training_[a-z]+): phony' |
  sed 's/: phony//' | grep -E "^(device_($tests)|$benchmarks)$" | grep -v '_pch$')
[ ${#targets[@]} -gt 0 ] || die "no program has such a name"
say "building ${#targets[@]} programs"
logged "building" cmake --build "$build" --target "${targets[@]}"

rm -rf "$folder"
mkdir -p "$folder"/{bin,lib,data}
# The launcher of the same MPI, with the program that it starts on each node.
for program in mpiexec.hydra hydra_pmi_proxy; do
  path=$(command -v "$program") || die "$program, the launcher of MPICH, is not on this machine"
  cp -L "$path" "$folder/bin/"
done
for target in "${targets[@]}"; do
  find "$build/tests/device" "$build/benchmarks" -name "$target" -type f -perm -u+x -exec strip -o "$folder/bin/$target" {} \;
done
# All libraries but the C library's and CUDA's, which have to be those of the machine.
for program in "$folder"/bin/*; do ldd "$program"; done | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u |
  grep -vE '^(ld-linux|lib(c|m|dl|rt|pthread|resolv|cuda|cudart|cublas|cublasLt|cudnn))\.' |
  while read -r name path; do cp -L "$path" "$folder/lib/$name"; done
cp -r tests/parity/data/. "$folder/data/"
cp -r benchmarks/peers "$folder/"
rm -rf "$folder/peers/__pycache__"
cp scripts/gpu-test.sh scripts/gpu-bench.sh "$folder/"
# A line for each test: its program, ranks, and how it has to end, from the first line of its source.
for target in "${targets[@]}"; do
  [[ $target == device_* ]] || continue
  source=$(find tests/device -name '*.cpp' | while read -r file; do
    name=${file#tests/device/}
    [ "device_$(echo "${name%.cpp}" | tr / _)" != "$target" ] || echo "$file"
  done)
  first=$(head -n 1 "$source")
  ranks=1 code=0 says=""
  if [[ $first =~ ranks:\ ([0-9\ ]*[0-9]) ]]; then ranks=${BASH_REMATCH[1]}; fi
  if [[ $first =~ exit:\ ([a-z0-9]+) ]]; then code=${BASH_REMATCH[1]}; fi
  if [[ $first =~ says:\ (.*)$ ]]; then says=${BASH_REMATCH[1]}; fi
  for n in $ranks; do printf '%s\t%s\t%s\t%s\n' "$target" "$n" "$code" "$says"; done
done >"$folder/tests.tsv"
git describe --always --dirty >"$folder/commit" 2>/dev/null || true
say "$(wc -l <"$folder/tests.tsv") tests and $(printf '%s\n' "${targets[@]}" | grep -cv '^device_') benchmarks are in $folder, $(du -sh "$folder" | cut -f 1)"
