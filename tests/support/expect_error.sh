#!/usr/bin/env bash
# expect_error.sh COMPILER FLAGS_FILE SOURCE -- [FLAG…]             the source compiles as it is
# expect_error.sh COMPILER FLAGS_FILE SOURCE MACRO TEXT -- [FLAG…]  with MACRO it does not, and the first error's line
#                                                                   contains TEXT
# expect_error.sh COMPILER FLAGS_FILE HEADER PRECOMPILE OUTPUT -- [FLAG…]  compiles a header for the flags of the others
set -u
compiler=$1 flags=$2 source=$3 macro="" text=""
shift 3
if [ "$1" != -- ]; then
  macro=$1 text=$2
  shift 2
fi
shift
arguments=()
while IFS= read -r line; do
  case $line in
    "" | -D | -I) ;;
    SHELL:*)  # several words, as CMake 3.30 gives OpenMP's flags
      read -r -a words <<<"${line#SHELL:}"
      arguments+=("${words[@]}")
      ;;
    *) arguments+=("$line") ;;
  esac
done <"$flags"
arguments+=("$@")
compile=("$compiler" -fsyntax-only -w -x c++ "${arguments[@]}")
case $compiler in *nvcc*) compile=("$compiler" -c -o /dev/null "${arguments[@]}") ;; esac

if [ "$macro" = PRECOMPILE ]; then
  exec "$compiler" -w -x c++-header "${arguments[@]}" "$source" -o "$text"
fi
if [ -z "$macro" ]; then
  if ! output=$("${compile[@]}" "$source" 2>&1); then
    printf '%s\n' "$output" | grep -m 5 -E 'error(:| #)' >&2
    echo "$source has to compile without an error's macro, and does not" >&2
    exit 1
  fi
  exit 0
fi
if output=$("${compile[@]}" "-D$macro" "$source" 2>&1); then
  echo "$source has to be rejected with $macro, and compiles" >&2
  exit 1
fi
first=$(printf '%s\n' "$output" | grep -m 1 -E 'error(:| #)')
case $first in
  *"$text"*) printf '%s\n' "$first" ;;
  *)
    printf 'the first error of %s is\n  %s\nand does not say\n  %s\n' "$source" "$first" "$text" >&2
    exit 1
    ;;
esac
