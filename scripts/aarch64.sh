#!/usr/bin/env bash
# What building for aarch64 on another processor needs, on Debian 12: Clang 19 and qemu-user, a folder of arm64 packages
# below ~/.cache/trireme, and a Kokkos. The presets are aarch64 (NEON), sve256 and sve512:
#
#   TRIREME_PRESET=aarch64 scripts/test.sh -R '^unit/layers/'     calls this script, builds tests and runs them
#
# Tests that start programs themselves find the emulator in TRIREME_TEST_EMULATOR (tests/support/launch.hpp);
# docs/installing.md says which tests have run.
source "$(dirname "$0")/dependencies.sh"

sysroot=$cache/aarch64
cross_packages=(cmake ninja-build python3-venv ca-certificates mpich clang-19 lld-19 qemu-user)

# The -dev packages of core_packages for arm64 with all that they depend on, from the mirrors that apt has here. They
# are unpacked, not installed: the packages of this machine stay as they are.
require_sysroot() {
  if [ -e "$sysroot/.trireme-complete" ]; then return 0; fi
  say "unpacking Debian's packages for arm64"
  local work archive link libraries=$sysroot/usr/lib/aarch64-linux-gnu headers=$sysroot/usr/include/aarch64-linux-gnu
  local packages=(libstdc++-12-dev libomp-19-dev)
  mapfile -t -O 2 packages < <(printf '%s\n' "${core_packages[@]}" | grep -- '-dev$')
  work=$(mktemp -d)
  mkdir -p "$work"/{lists,archives}/partial "$work/none"
  touch "$work/status"
  apt-get indextargets 'Created-By: Packages' 'Origin: Debian' --format \
    'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(REPO_URI) $(RELEASE) $(COMPONENT)' |
    sort -u >"$work/sources"
  [ -s "$work/sources" ] || die "apt has no list of Debian's packages (apt-get update)"
  local apt=(apt-get -q -y -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root
             -o "Dir::State=$work" -o "Dir::State::status=$work/status" -o "Dir::State::lists=$work/lists"
             -o "Dir::Cache=$work" -o "Dir::Cache::archives=$work/archives" -o "Dir::Etc::sourcelist=$work/sources"
             -o "Dir::Etc::sourceparts=$work/none" -o Debug::NoLocking=true)
  logged "reading the lists of packages for arm64" "${apt[@]}" update
  logged "downloading packages for arm64" "${apt[@]}" install --no-install-recommends --download-only "${packages[@]}"
  rm -rf "$sysroot"
  mkdir -p "$sysroot/usr/lib"
  ln -s usr/lib "$sysroot/lib"
  for archive in "$work"/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$archive" | tar -x --no-same-owner --keep-directory-symlink -C "$sysroot"
  done
  rm -rf "$work"
  # An absolute link would lead out of the folder.
  find "$sysroot" -type l -lname '/*' | while read -r link; do ln -sfnr "$sysroot$(readlink "$link")" "$link"; done
  # Links that the installation of OpenBLAS makes; and libomp's, which Debian's clang finds by a path of this machine.
  for link in libopenblas.so libopenblas.so.0 libblas.so libblas.so.3 liblapack.so liblapack.so.3; do
    ln -sfn "openblas-openmp/$link" "$libraries/$link"
  done
  for link in cblas.h f77blas.h openblas_config.h; do ln -sfn "openblas-openmp/$link" "$headers/$link"; done
  ln -sfn ../llvm-19/lib/libomp.so "$libraries/libomp.so"
  touch "$sysroot/.trireme-complete"
}

require_packages "${cross_packages[@]}"
require_sysroot
# Clang writes headers of the C++ library down as lib/../include, without which Ninja would compile all of them each time.
ln -sfn usr/include "$sysroot/include"
export CMAKE_TOOLCHAIN_FILE=$project/cmake/aarch64.cmake
bash "$project/scripts/kokkos.sh" openmp "$(kokkos_cache openmp aarch64)"
