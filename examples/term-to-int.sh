#!/usr/bin/env bash
# Runs a command that cannot catch TERM but can catch INT: TERM reaches it as INT, and its exit status is ours.
#
#   bash term-to-int.sh Rscript count.R
set -u

child=
teller=
told=

main() {
  local status
  # The handler comes before anything else: TERM can arrive while the command is still starting.
  trap on_term TERM
  # What is ignored here stays ignored in the command, so that a TERM to every process of the attempt does not end it.
  (trap '' TERM && exec "$@") &
  child=$!
  if [[ -n $told && -z $teller ]]; then tell; fi
  # A signal ends `wait` before the command has ended: then it is waited for again.
  while true; do
    status=0
    wait "$child" || status=$?
    kill -0 "$child" 2>/dev/null || break
  done
  if [[ -n $teller ]]; then kill "$teller" 2>/dev/null; fi
  exit "$status"
}

on_term() {
  told=yes
  if [[ -n $child && -z $teller ]]; then tell; fi
}

# More than once: a command that is still starting may not hear the first one.
tell() {
  while kill -INT "$child" 2>/dev/null; do sleep 0.2; done &
  teller=$!
}

main "$@"
