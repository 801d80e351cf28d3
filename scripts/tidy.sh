#!/usr/bin/env bash
# clang-tidy over all headers, by the checks of .clang-tidy.
#
#   scripts/tidy.sh BUILD    BUILD: a build folder of the preset clang19 whose target trireme_headers is built
source "$(dirname "$0")/dependencies.sh"
[ $# -eq 1 ] || die "usage: tidy.sh BUILD"
build=$1
require_packages clang-tidy-19
ninja -C "$build" -t compdb >"$build/compile_commands.json"
source=$build/tests/headers/every.cpp
[ -e "$source" ] || die "$build has no $(basename "$source") with all headers; configure it with the preset clang19"
clang-tidy-19 -p "$build" --quiet "$source" 2> >(grep -v ' warnings generated' >&2)
