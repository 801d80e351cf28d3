#!/usr/bin/env bash
# digits_goes_on.sh LAUNCHER… PROGRAM: a signal from outside to the last rank saves examples/digits, which ends with one
# message; the same command goes on from there, and a complete run leaves no file.
set -eu
program=${!#}
rm -rf run.* said
# Whether fit watches for signals in a process, by the mask in its status: SIGTERM is the last that it watches for, and
# MPICH handles SIGUSR1 itself.
watches() {
  local mask
  mask=$(sed -n 's/^SigCgt:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) || return 1
  (((16#${mask:-0} >> ($(kill -l TERM) - 1)) & 1))
}
# The processes of this run: launchers may start them in other launchers.
ranks() {
  for process in $(pgrep -x "$(basename "$program" | cut -c1-15)"); do
    [ "$(readlink "/proc/$process/cwd")" != "$PWD" ] || echo "$process"
  done
}

"$@" --epochs 10000 --batch 256 --quiet --backup run.npz >said 2>&1 &
launcher=$!
until last=$(ranks | tail -n 1) && [ -n "$last" ] && watches "$last"; do
  kill -0 "$launcher" 2>/dev/null || { cat said; echo "training ended before the signal" >&2; exit 1; }
  sleep 0.05
done
kill -USR1 "$last"
code=0
wait "$launcher" || code=$?
cat said
[ "$code" -eq 1 ] || { echo "ended with exit code $code instead of 1" >&2; exit 1; }
[ "$(grep -c 'trireme: a signal interrupted training in epoch .*; run.npz holds the run' said)" -eq 1 ]
[ -s run.npz ]
"$@" --epochs 1 --batch 256 --quiet --backup run.npz
[ -z "$(ls run.* 2>/dev/null)" ] || { echo "a complete run has left: $(ls run.*)" >&2; exit 1; }
