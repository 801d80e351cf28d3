#!/usr/bin/env bash
# coupled_goes_on.sh LAUNCHER…: examples/coupled, stopped while it learns and again later, ends with the bits of a run
# that nothing stopped. One backup is left, and a damaged one is an error rather than a new beginning.
set -eu
rm -rf backup
result() { sed -n 's/^steps [0-9]* to 90, .*\(error .*\)/\1/p'; }
whole=$("$@" 90 | result)
"$@" 45 backup
"$@" 70 backup
last=$("$@" 90 backup | tee /dev/stderr | result)
[ "$(cat backup/last-step)" = 80 ]
[ "$(ls backup | wc -l)" -eq 5 ] || {  # cells of three processes, weights, and the file that names the backup
  echo "left in the folder: $(ls backup)" >&2
  exit 1
}
[ -n "$whole" ] && [ "$whole" = "$last" ] || {
  echo "one run ends with '$whole', a run in three parts with '$last'" >&2
  exit 1
}

: >backup/last-step
if said=$("$@" 90 backup 2>&1) || [[ $said != *"backup/last-step names no step"* ]]; then
  printf 'a damaged backup was taken for none:\n%s\n' "$said" >&2
  exit 1
fi
