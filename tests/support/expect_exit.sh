#!/usr/bin/env bash
# expect_exit.sh CODE TEXT COMMAND…: the command ends with that exit code (`error`: any but 0, where the launcher may end
# ranks by a signal first) and has written the text: `A ... B` is A, and B somewhere after it.
set -u
code=$1 text=$2
shift 2
TMPDIR=$(mktemp -d) || exit 1  # runs that fail leave their status records there
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
output=$("$@" 2>&1)
result=$?
printf '%s\n' "$output"
if [ "$code" = error ]; then
  [ "$result" -ne 0 ] || { echo "ended with exit code 0" >&2 && exit 1; }
elif [ "$result" -ne "$code" ]; then
  echo "ended with exit code $result instead of $code" >&2
  exit 1
fi
parts=$text
while :; do
  part=${parts%%' ... '*}
  case $output in
    *"$part"*) output=${output#*"$part"} ;;
    *)
      echo "has not said: $text" >&2
      exit 1
      ;;
  esac
  [ "$part" != "$parts" ] || exit 0
  parts=${parts#*' ... '}
done
