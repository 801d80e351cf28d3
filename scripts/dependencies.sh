#!/usr/bin/env bash
# What building trireme needs: installed where it is missing, found where it is there.
#
#   scripts/dependencies.sh [openmp|serial|cuda|hip]   installs Debian packages (as root or with sudo) and provides Kokkos
#   source scripts/dependencies.sh                     the functions, for the other scripts
set -euo pipefail

# --help of any script is its opening comment.
case ${1:-} in -h | --help) sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0" && exit ;; esac

project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/trireme

say() { echo "== $*"; }
die() {
  echo "$(basename "$0"): $*" >&2
  exit 1
}

core_packages=(g++ cmake make ninja-build pkg-config python3-venv ca-certificates
               mpich libmpich-dev libxtensor-dev libxtensor-blas-dev libopenblas-openmp-dev libfmt-dev
               libhdf5-dev zlib1g-dev libprotozero-dev libboost-test-dev libcli11-dev nlohmann-json3-dev)
clang_packages=(clang-19 lld-19 libomp-19-dev libclang-rt-19-dev)
hip_packages=(clang-19 clang-tools-19 libclang-rt-19-dev lld-19 hipcc libamdhip64-dev rocm-device-libs)

# require_packages PACKAGE…: installs the Debian packages that are missing. Without dpkg, or without the right to
# install, CMake decides whether what is there is enough.
require_packages() {
  command -v dpkg-query >/dev/null || return 0
  local missing=() package state
  for package in "$@"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) || state=""
    [ "$state" = installed ] || missing+=("$package")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null || ! { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo true; }; }; then
      say "not root and no sudo: going on without the Debian packages ${missing[*]}"
      return 0
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  "${as_root[@]}" apt-get update -q >"$log" 2>&1 || true  # apt-get install tells what could not be had
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
    "${missing[@]}" >>"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt-get could not install ${missing[*]}"
  fi
  rm -f "$log"
}

# kokkos_cache BACKEND [COMPILER]: where scripts/kokkos.sh puts what it builds.
kokkos_cache() { echo "$cache/kokkos-4.7-$1${2:+-$2}"; }

# found_kokkos: true if CMake finds a Kokkos 4.1 or newer by itself (CMAKE_PREFIX_PATH, Kokkos_ROOT, /usr/local).
found_kokkos() {
  local probe result=0
  probe=$(mktemp -d)
  printf '%s\n' 'cmake_minimum_required(VERSION 3.22)' 'project(probe LANGUAGES CXX)' \
    'find_package(Kokkos 4.1 CONFIG REQUIRED)' >"$probe/CMakeLists.txt"
  cmake -S "$probe" -B "$probe/build" >/dev/null 2>&1 || result=1
  rm -rf "$probe"
  return $result
}

# require_kokkos BACKEND: exports Kokkos_ROOT unless CMake finds one by itself; builds it first where there is none.
# Only the default backend may be anybody's; the others are the cache's, built with the compiler that they need.
require_kokkos() {
  local backend=$1 prefix
  prefix=$(kokkos_cache "$backend")
  if [ "$backend" = openmp ] && [ ! -e "$prefix/.trireme-complete" ] && found_kokkos; then return 0; fi
  if [ "$backend" = openmp ] && [ -n "${Kokkos_ROOT:-}${Kokkos_DIR:-}${CMAKE_PREFIX_PATH:-}" ] && found_kokkos; then
    return 0
  fi
  bash "$project/scripts/kokkos.sh" "$backend" "$prefix" || exit 1  # it has said why
  export Kokkos_ROOT="$prefix"
}

# logged NAME COMMAND…: runs quietly; if it fails, its last lines are shown.
logged() {
  local name=$1 log
  shift
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    { grep -E -m 20 -A 3 '[Ee]rror( at .*)?: |undefined reference' "$log" || tail -n 30 "$log"; } >&2
    rm -f "$log"
    die "$name failed; what it said is above"
  fi
  rm -f "$log"
}

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
  require_packages "${core_packages[@]}"
  case ${1:-openmp} in hip) require_packages "${hip_packages[@]}" ;; esac
  require_kokkos "${1:-openmp}"
  say "everything is there${Kokkos_ROOT:+; Kokkos_ROOT=$Kokkos_ROOT}"
fi
