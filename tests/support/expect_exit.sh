#!/usr/bin/env bash
# expect_exit.sh CODE TEXT COMMAND…: the command ends with that exit code and has written the text.
set -u
code=$1 text=$2
shift 2
output=$("$@" 2>&1)
result=$?
printf '%s\n' "$output"
if [ "$result" -ne "$code" ]; then
  echo "ended with exit code $result instead of $code" >&2
  exit 1
fi
case $output in
  *"$text"*) ;;
  *)
    echo "has not said: $text" >&2
    exit 1
    ;;
esac
