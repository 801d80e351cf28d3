#!/usr/bin/env bash
# coupled_goes_on.sh LAUNCHER…: examples/coupled, stopped while it learns and again later, ends with the bits of a run
# that nothing stopped.
set -eu
rm -rf backup
result() { sed -n 's/^steps [0-9]* to 90, .*\(error .*\)/\1/p'; }
whole=$("$@" 90 | result)
"$@" 45 backup
"$@" 70 backup
last=$("$@" 90 backup | tee /dev/stderr | result)
[ "$(cat backup/last-step)" = 80 ]
[ -n "$whole" ] && [ "$whole" = "$last" ] || {
  echo "one run ends with '$whole', a run in three parts with '$last'" >&2
  exit 1
}
