#!/usr/bin/env bash
# clang-tidy over all headers, by the checks of .clang-tidy.
#
#   scripts/tidy.sh BUILD    BUILD: a build folder of the preset clang19 whose target trireme_headers has been compiled
source "$(dirname "$0")/dependencies.sh"
[ $# -eq 1 ] || die "usage: tidy.sh BUILD"
build=$1
require_packages clang-tidy-19
ninja -C "$build" -t compdb >"$build/compile_commands.json"
sources=()
for header in trireme.hpp pjrt.hpp; do
  source="$build/tests/headers/trireme/$header.cpp"
  [ ! -e "$source" ] || sources+=("$source")
done
[ ${#sources[@]} -gt 0 ] || die "$build has no sources of trireme_headers; configure it with the preset clang19"
printf '%s\n' "${sources[@]}" |
  xargs -P "$(nproc)" -n 1 clang-tidy-19 -p "$build" --quiet 2> >(grep -v ' warnings generated' >&2)
