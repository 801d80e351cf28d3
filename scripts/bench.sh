#!/usr/bin/env bash
# Measures trireme's training steps against PyTorch, JAX and Keras, alternately in one run, and prints the ratios.
#
#   scripts/bench.sh [--cases "mlp_b32 cnn_b64 …"] [--peers "torch jax keras"] [--pairs 3] [--json FILE]
#                    [--busy N] [--steps N] [--repetitions N] [--sweep] [--compile-time] [--kernels]
#
# --cases        of: mlp_b32 mlp_b64 mlp_b512 cnn_b64 cnn_b256 wide_b256 surrogate_b256 surrogate_b4096
#                transformer_b16 lstm_b32 resnet18_b32 vgg_b16 unet_b8 conv1d_b64 ddp_mlp_b32 ddp_cnn_b64
#                ddp_wide_b256 (all of them; also sweep_w64_d2_b8 and the like); pjrt_mlp_b32 and so on for all but ddp,
#                or pjrt for these at once: on a PJRT plugin for CPUs, against JAX on the same and our own kernels
# --peers        of: torch jax keras jax-scan (JAX with the loop over steps inside its program) jax-old (JAX 0.4.31)
#                torch-compile (a step as one program) torch-flush (denormal numbers are zero); those that cannot be
#                installed are left out
# --pairs        how often each program runs; minima and medians are over all of them
# --busy         processes that compute all the time beside each program
# --steps        steps of an epoch, for a quick look; 0: what scripts/bench/compare.py has for each case
# --repetitions  epochs measured in each run (15)
# --json         also writes {"about": {"processor": …, "vectors": …, "cores": …, "load": …, "commit": …, "compiler": …,
#                "flags": …, "date": …, "versions": {PEER: …}, "pairs": …, "repetitions": …, "steps": …}, "results": [{"case": …, "peer": …, "trireme_us": …, "trireme_median_us": …, "peer_us": …,
#                "peer_median_us": …, "speedup": …, "speedup_median": …, "busy": N if there are such processes}, …],
#                "best": [{"case": …, "best_peer": …, "speedup_best": …, "speedup_best_median": …}, …]};
#                scripts/bench/page.py makes docs/performance.md of it
# --sweep        perceptrons of widths 16…4096, depths 1…8 and batches 1…4096 instead, against torch and jax; points
#                where trireme is slower are listed
# --compile-time only the time and memory that compiling two examples takes, of headers alone and with trireme::compiled
# --kernels      only Google Benchmark's kernels (products beside OpenBLAS's and LIBXSMM's, convolutions and an LSTM beside
#                oneDNN's, where these are installed) and collectives, what the abstraction and shuffled data cost, and the
#                inference of one row
#
# The peers live in a Python environment in ~/.cache/trireme/bench-venv, which is made at first (3 GB of downloads: the
# torch of PyPI is built for GPUs too). Let nothing else run meanwhile.
source "$(dirname "$0")/dependencies.sh"

cases="" peers="torch jax keras" pairs=3 json="" busy=0 steps=0 repetitions=15 mode=table
while [ $# -gt 0 ]; do
  option=$1 value=${2:-}
  case $option in
    -h | --help)
      sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"
      exit 0
      ;;
    --sweep | --compile-time | --kernels)
      mode=${option#--}
      shift
      continue
      ;;
    --cases | --peers | --pairs | --json | --busy | --steps | --repetitions) [ $# -ge 2 ] || die "$option needs a value" ;;
    *) die "unknown option '$option' (see --help)" ;;
  esac
  case $option in
    --pairs | --repetitions) [[ $value =~ ^[1-9][0-9]*$ ]] || die "$option needs a positive number, not '$value'" ;;
    --busy | --steps) [[ $value =~ ^[0-9]+$ ]] || die "$option needs a number, not '$value'" ;;
    --peers)
      for peer in $value; do
        case $peer in
          torch | torch-compile | torch-flush | jax | jax-scan | jax-old | keras) ;;
          *) die "there is no peer '$peer' (torch, torch-compile, torch-flush, jax, jax-scan, jax-old or keras)" ;;
        esac
      done
      ;;
  esac
  case $option in
    --cases) cases=$value ;;
    --peers) peers=$value ;;
    --pairs) pairs=$value ;;
    --json) json=$value ;;
    --busy) busy=$value ;;
    --steps) steps=$value ;;
    --repetitions) repetitions=$value ;;
  esac
  shift 2
done

python="$cache/bench-venv/bin/python" python_jax_old="$cache/bench-venv-jax-old/bin/python"
pip_install() { "$1" -m pip install -q --disable-pip-version-check "${@:2}"; }
install_torch() {
  pip_install "$python" --no-deps torch && pip_install "$python" typing-extensions numpy || return 1
  local needs
  needs=$(mktemp)
  "$python" "$project/scripts/bench/torch_requirements.py" >"$needs" && pip_install "$python" -r "$needs" || return 1
  rm -f "$needs"
}

# install_peer NAME: leaves the peer importable, or says that it is left out. JAX 0.4.31 is
# the last one whose programs for CPUs are single functions instead of sequences of thunks; its environment is its own.
install_peer() {
  local imports interpreter=$python
  case $1 in torch*) imports="import torch" ;; jax*) imports="import jax, optax" ;; *) imports="import keras, tensorflow" ;; esac
  if [ "$1" = jax-old ]; then interpreter=$python_jax_old; fi
  [ -e "$interpreter" ] || python3 -m venv "${interpreter%/bin/python}"
  if ! KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$interpreter" -c "$imports" 2>/dev/null; then
    say "installing $1"
    case $1 in
      torch*) install_torch ;;
      jax-old) pip_install "$interpreter" "jax[cpu]==0.4.31" optax ;;
      jax*) pip_install "$interpreter" "jax[cpu]" optax ;;
      keras) pip_install "$interpreter" tensorflow-cpu keras ;;
    esac 2>&1 | grep -v -e "dependency resolver" -e "requires .* which is not installed" || true
    KERAS_BACKEND=tensorflow TF_CPP_MIN_LOG_LEVEL=3 "$interpreter" -c "$imports" 2>/dev/null || return 1
  fi
}

require_packages "${core_packages[@]}" libbenchmark-dev
if [ "$mode" = kernels ]; then (require_packages libxsmm-dev libdnnl-dev) || say "going on without LIBXSMM or oneDNN"; fi
require_kokkos openmp
if [[ " $cases" == *" pjrt"* ]]; then
  "$project/scripts/pjrt.sh" "$cache/pjrt"
  export PJRT_ROOT="$cache/pjrt" TRIREME_PJRT_PLUGIN="${TRIREME_PJRT_PLUGIN:-$cache/pjrt/pjrt_c_api_cpu_plugin.so}"
fi
build="$project/build/bench"
say "building the benchmarks in build/bench"
generator=()
if [ ! -e "$build/CMakeCache.txt" ] && command -v ninja >/dev/null; then generator=(-G Ninja); fi
logged "configuring" cmake -S "$project" -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release \
  -DTRIREME_BUILD_TESTS=OFF -DTRIREME_BUILD_BENCHMARKS=ON -DTRIREME_BUILD_EXAMPLES=ON -DCMAKE_EXPORT_COMPILE_COMMANDS=ON

if [ "$mode" = compile-time ]; then
  exec python3 "$project/scripts/bench/compile_time.py" "$build/compile_commands.json" 3 \
    examples/minimal/minimal.cpp examples/digits/digits.cpp
fi

one_process=(mlp_b32 mlp_b64 mlp_b512 cnn_b64 cnn_b256 wide_b256 surrogate_b256 surrogate_b4096 transformer_b16 lstm_b32
             resnet18_b32 vgg_b16 unet_b8 conv1d_b64)
[ -n "$cases" ] || cases="${one_process[*]} ddp_mlp_b32 ddp_cnn_b64 ddp_wide_b256"
cases=$(for one in $cases; do if [ "$one" = pjrt ]; then printf 'pjrt_%s\n' "${one_process[@]}"; else echo "$one"; fi; done)
targets=()
case $mode in
  kernels) targets=(kernels_products kernels_layers kernels_collectives training_abstraction training_input
               training_infer) ;;
  sweep) targets=(training_sweep) ;;
  table) mapfile -t targets < <(for one in $cases; do
      case $one in pjrt_*) echo training_pjrt && one=${one#pjrt_} ;; esac
      case $one in transformer_* | lstm_*) one=sequences ;; resnet18_* | vgg_* | unet_* | conv1d_*) one=deep ;; esac
      echo "training_${one%%_*}"
    done | sort -u) ;;
esac
with_onednn=no
if [ "$mode" = kernels ] && cmake --build "$build" --target help | grep -q kernels_onednn; then
  with_onednn=yes
  targets+=(kernels_onednn)
fi
logged "building" cmake --build "$build" --target "${targets[@]}" -j "$(nproc)"

# Whoever set these chose kernels of OpenBLAS that may not suit this processor; left alone, trireme chooses them.
for variable in OPENBLAS_CORETYPE OPENBLAS_L2_SIZE; do
  if [ -n "${!variable:-}" ]; then
    say "$variable=${!variable} is left out of account"
    unset "$variable"
  fi
done
threads=$(nproc)
export OMP_PROC_BIND=${OMP_PROC_BIND:-false} OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
  OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe \
  PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpiexec=$(sed -n 's/^MPIEXEC_EXECUTABLE:[A-Z]*=//p' "$build/CMakeCache.txt")
programs="$build/benchmarks"

if [ "$mode" = kernels ]; then
  export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
  "$programs/kernels_products"
  "$programs/kernels_layers"
  [ "$with_onednn" = no ] || "$programs/kernels_onednn"
  "$mpiexec" -n 2 "$programs/kernels_collectives"
  OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$programs/training_abstraction" --case mlp_b32
  OMP_NUM_THREADS=$threads OPENBLAS_NUM_THREADS=$threads "$programs/training_input" --case mlp_b32 mlp_b64
  for few in 1 "$threads"; do
    OMP_NUM_THREADS=$few OPENBLAS_NUM_THREADS=$few "$programs/training_infer" \
      --case infer_mlp_b1 infer_surrogate_b1 infer_cnn_b1 infer_lstm_b1
  done
  exit
fi

present=()
for peer in $peers; do
  if install_peer "$peer"; then
    present+=("$peer")
  else
    say "$peer is left out: it could not be installed or imported"
  fi
done
arguments=(--programs "$programs" --python "$python" --python-jax-old "$python_jax_old" --mpiexec "$mpiexec"
           --threads "$threads" --pairs "$pairs" --busy "$busy" --steps "$steps" --repetitions "$repetitions"
           --peers "${present[*]}")
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
flags=$(sed -n 's/^TRIREME_BENCHMARK_FLAGS:[A-Z]*=//p' "$build/CMakeCache.txt")
arguments+=("--compiler=$("$compiler" --version | head -n 1)" "--flags=${flags//;/ }")
[ -z "$json" ] || arguments+=(--json "$json")
if [ "$mode" = sweep ]; then arguments+=(--sweep); else arguments+=(--cases "$cases"); fi
exec python3 "$project/scripts/bench/compare.py" "${arguments[@]}"
