#!/usr/bin/env bash
# Takes from PyPI what PJRT needs, and puts it below PREFIX; does nothing where it is already there.
#
#   scripts/pjrt.sh [PREFIX]     default: ~/.cache/trireme/pjrt
#
#   PREFIX/include/xla/pjrt/c/pjrt_c_api.h   the header of the plugins' interface (CMake: TRIREME_PJRT_INCLUDE_DIR)
#   PREFIX/pjrt_c_api_cpu_plugin.so          a plugin for CPUs (CMake: TRIREME_PJRT_PLUGIN, for the tests)
#
# The header lies in a package of 270 MB, of which nothing else is kept. x86-64 only, as the plugin is.
set -euo pipefail
case ${1:-} in -h | --help) sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;; esac

die() { echo "pjrt.sh: $*" >&2; exit 1; }
prefix=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/trireme/pjrt}
header=include/xla/pjrt/c/pjrt_c_api.h plugin=pjrt_c_api_cpu_plugin.so

if [ -e "$prefix/.trireme-complete" ]; then
  echo "PJRT's header and plugin are already in $prefix"
  exit 0
fi
command -v python3 >/dev/null || die "python3 is needed to download from PyPI"
mkdir -p "$prefix/$(dirname "$header")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "Downloading PJRT's header and a plugin for CPUs to $prefix"
python3 -m venv "$work/venv" >/dev/null || die "python3 cannot make a virtual environment (Debian: apt-get install python3-venv)"
download() {
  "$work/venv/bin/python" -m pip download -q --disable-pip-version-check --no-deps --no-cache-dir --only-binary :all: \
    --python-version 3.11 --platform manylinux_2_27_x86_64 -d "$work" "$1" 2>"$work/log" ||
    die "$1 could not be downloaded from PyPI: $(tail -n 1 "$work/log")"
}
# take WHEEL MEMBER FILE: one file of a wheel.
take() {
  "$work/venv/bin/python" - "$1" "$2" "$3" <<'PYTHON' || die "$(basename "$1") has no $2"
import shutil, sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel, wheel.open(sys.argv[2]) as member, open(sys.argv[3], "wb") as file:
    shutil.copyfileobj(member, file)
PYTHON
}
download lammps-jax-pjrt-cpu==0.11.2
take "$work"/lammps_jax_pjrt_cpu-*.whl lammps_jax_pjrt_cpu/$plugin "$prefix/$plugin"
rm "$work"/*.whl
download tensorflow-cpu==2.21.0
take "$work"/tensorflow_cpu-*.whl tensorflow/$header "$prefix/$header"
touch "$prefix/.trireme-complete"
