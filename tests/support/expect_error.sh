#!/usr/bin/env bash
# expect_error.sh COMPILER FLAGS_FILE SOURCE TEXT [FLAG…]
# The source compiles as it is; with TRIREME_MUST_FAIL it does not, and the first error's line contains TEXT.
set -u
compiler=$1 flags=$2 source=$3 text=$4
arguments=()
while IFS= read -r line; do
  case $line in "" | -D | -I) ;; *) arguments+=("$line") ;; esac
done <"$flags"
arguments+=("${@:5}")
compile=("$compiler" -fsyntax-only -w -x c++ "${arguments[@]}")
case $compiler in *nvcc*) compile=("$compiler" -c -o /dev/null "${arguments[@]}") ;; esac

if ! output=$("${compile[@]}" "$source" 2>&1); then
  printf '%s\n' "$output" | grep -m 5 'error' >&2
  echo "$source has to compile without TRIREME_MUST_FAIL, and does not" >&2
  exit 1
fi
if output=$("${compile[@]}" -DTRIREME_MUST_FAIL "$source" 2>&1); then
  echo "$source has to be rejected with TRIREME_MUST_FAIL, and compiles" >&2
  exit 1
fi
first=$(printf '%s\n' "$output" | grep -m 1 'error')
case $first in
  *"$text"*) printf '%s\n' "$first" ;;
  *)
    printf 'the first error of %s is\n  %s\nand does not say\n  %s\n' "$source" "$first" "$text" >&2
    exit 1
    ;;
esac
