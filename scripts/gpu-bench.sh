#!/usr/bin/env bash
# Measures training steps of a folder that scripts/gpu-bundle.sh has made against PyTorch and JAX, on a machine with a GPU
# and these: in turn, in one run. Prints a line of JSON for each program, and a table of ratios to ours.
#
#   ./gpu-bench.sh [--cases "mlp_b32 …"] [--peers "torch torch-compile jax jax-scan"] [--pairs 3] [--repetitions 15]
#                  [--device cuda|cpu] [--tf32] [--mixed] [--json FILE]
#   ./gpu-bench.sh --products    matrix products by the vendor's library and in tiles, a line for each
#
# --device  of the peers: cpu tries a folder that was built with --host
# --tf32    lets the peers round operands of products to TF32, as JAX does by default and PyTorch in convolutions; trireme
#           never does in float
# --mixed   times Mixed<BFloat16>, which may take TF32, against PyTorch with autocast: wide_b256, cnn_b256,
#           transformer_b16 and resnet18_b32, or --cases behind it
#
# trireme-recorded and trireme-fused are steps of OneDeviceStrategy with record_steps, and with fuse_steps too.
# trireme-xla is our step as a program of PjrtStrategy, if the folder has training_pjrt, and $TRIREME_PJRT_PLUGIN names a
# plugin or Python has JAX's for CUDA 13. A case that a program cannot run is reported, and left out of the table. Let nothing else run meanwhile.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cases="mlp_b32 mlp_b64 mlp_b512 cnn_b64 cnn_b256 wide_b256 surrogate_b256 surrogate_b65536 transformer_b16 lstm_b32"
cases+=" resnet18_b32 vgg_b64 unet_b8 conv1d_b64"
peers="torch torch-compile jax jax-scan" pairs=3 repetitions=15 device=cuda mixed="" json=""
export NVIDIA_TF32_OVERRIDE=0 JAX_DEFAULT_MATMUL_PRECISION=highest
while [ $# -gt 0 ]; do
  case $1 in
    --cases | --peers | --pairs | --repetitions | --device | --json)
      [ $# -ge 2 ] || { echo "gpu-bench.sh: $1 needs a value" >&2; exit 2; }
      printf -v "${1#--}" '%s' "$2"
      shift 2
      ;;
    --mixed)
      mixed=yes peers=torch-autocast cases="wide_b256 cnn_b256 transformer_b16 resnet18_b32"
      unset NVIDIA_TF32_OVERRIDE
      shift
      ;;
    --products)
      LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" KOKKOS_DISABLE_WARNINGS=1 exec "$here/bin/kernels_device_products"
      ;;
    --tf32) unset NVIDIA_TF32_OVERRIDE JAX_DEFAULT_MATMUL_PRECISION && shift ;;
    -h | --help) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 0 ;;
    *) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 2 ;;
  esac
done
[ -d "$here/peers" ] || { echo "gpu-bench.sh: $here is not a folder of scripts/gpu-bundle.sh" >&2; exit 2; }
lines=${json:-$(mktemp)}
: >"$lines"
errors=$(mktemp)

# measure NAME COMMAND…: adds the name to the line of JSON that the command writes.
measure() {
  local name=$1 line
  shift
  line=$("$@" 2>"$errors" | grep '^{"case"' | tail -n 1)
  if [ -n "$line" ]; then
    echo "{\"program\": \"$name\", ${line#\{}" | tee -a "$lines"
  else
    echo "$name failed on $case: $(tail -n 1 "$errors")" >&2
  fi
}
ours() {
  local program=${case%%_*}
  case $program in
    transformer | lstm) program=sequences ;;
    resnet18 | vgg | unet | conv1d) program=deep ;;
  esac
  [ -z "$mixed" ] || program=mixed
  LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" KOKKOS_DISABLE_WARNINGS=1 \
    "$here/bin/training_$program" --case "$case" --repetitions "$repetitions" "$@"
}
plugin=${TRIREME_PJRT_PLUGIN:-}
if [ -z "$plugin" ] && [ "$device" = cuda ]; then
  plugin=$(python3 -c 'import jax_plugins.xla_cuda13 as plugin; print(plugin.__path__[0] + "/xla_cuda_plugin.so")' \
    2>/dev/null) || plugin=""
fi
if [ -z "$plugin" ] || [ ! -x "$here/bin/training_pjrt" ]; then
  echo "trireme-xla is left out: there is no plugin, or no training_pjrt in $here/bin" >&2
  plugin=""
fi
# The same line as of other programs, whose cases have no prefix.
by_xla() {
  TRIREME_PJRT_PLUGIN=$plugin LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" KOKKOS_DISABLE_WARNINGS=1 \
    "$here/bin/training_pjrt" --case "pjrt_$case" --repetitions "$repetitions" | sed 's/"case": "pjrt_/"case": "/'
}
peer() {
  local switch=()
  case $1 in torch-compile) switch=(--compile) ;; torch-autocast) switch=(--autocast) ;; jax-scan) switch=(--scan) ;; esac
  python3 "$here/peers/${1%%-*}_peer.py" --case "$case" --repetitions "$repetitions" --device "$device" "${switch[@]}"
}
for case in $cases; do
  for ((pair = 0; pair < pairs; ++pair)); do
    measure trireme ours
    if [ -z "$mixed" ]; then
      measure trireme-recorded ours --record
      case $case in surrogate_*) measure trireme-fused ours --record --fuse ;; esac
      if [ -n "$plugin" ]; then measure trireme-xla by_xla; fi
    fi
    for name in $peers; do measure "$name" peer "$name"; done
  done
done
python3 - "$lines" <<'P'
import json, statistics, sys

times = {}
for line in open(sys.argv[1]):
    row = json.loads(line)
    times.setdefault(row["case"], {}).setdefault(row["program"], []).append((row["us_min"], row["us_median"]))
print(f"{'case':20}{'program':16}{'us, minimum':>14}{'median':>14}{'over ours':>14}{'by medians':>12}")
for case, programs in times.items():
    best = {name: (min(t[0] for t in rows), statistics.median(t[1] for t in rows)) for name, rows in programs.items()}
    own = [times for name, times in best.items() if name in ("trireme", "trireme-recorded", "trireme-fused")]
    ours = min(own, default=None)  # the fastest of our own kernels
    for name, (least, median) in best.items():
        ratio = f"{least / ours[0]:14.2f}{median / ours[1]:12.2f}" if ours and not name.startswith("trireme") else ""
        print(f"{case:20}{name:16}{least:14.1f}{median:14.1f}{ratio}")
P
