#!/usr/bin/env bash
# expect_misuse.sh RANKS PROGRAM LAUNCHER…: each row that `PROGRAM --list RANKS` lists ends `LAUNCHER… PROGRAM NAME` with
# an exit code other than 0 and exactly one line with "trireme:" over all ranks, which has the row's text, within a limit
# that only a hang reaches. `MISUSE_ROWS=REGEX` in the environment runs the rows of matching names alone;
# `TRIREME_TEST_EMULATOR` names what runs a program of another processor, which the launcher has already.
set -u
ranks=$1 program=$2
shift 2
TMPDIR=$(mktemp -d) || exit 1  # runs that fail leave their status records there
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
limit=60
rows=0 failures=0

fail() {
  printf 'FAILED  %s: %s\n%s\n' "$name" "$1" "$output"
  failures=$((failures + 1))
}

while IFS=$'\t' read -r -u 3 name text; do
  [[ $name =~ ${MISUSE_ROWS:-} ]] || continue
  rows=$((rows + 1))
  output=$(timeout -k 5 "$limit" "$@" "$program" "$name" 2>&1 </dev/null)
  result=$?
  lines=$(grep -a 'trireme:' <<<"$output")
  count=$(grep -a -c 'trireme:' <<<"$output")
  if [ "$result" -eq 124 ] || [ "$result" -eq 137 ]; then
    fail "has not ended after $limit seconds"
  elif [ "$result" -eq 0 ]; then
    fail "ended with exit code 0"
  elif [ "$count" -ne 1 ]; then
    fail "wrote $count lines with trireme: instead of one"
  elif [[ $lines != *"$text"* ]]; then
    fail "has not said: $text"
  else
    printf 'ok      %s: %s\n' "$name" "$lines"
  fi
done 3< <(${TRIREME_TEST_EMULATOR:-} "$program" --list "$ranks")

echo "$rows rows on $ranks ranks, $failures failed"
[ "$rows" -gt 0 ] && [ "$failures" -eq 0 ]
