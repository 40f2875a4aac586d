#!/usr/bin/env bash
# Counts to MAX_ITER, slowly, in as many attempts as it takes. It stands for any long computation and shows the three
# things that make one fit for a chain: resume from the checkpoint, save now and then, save and leave when told to.
# It uses nothing but bash, sleep and mv.
#
#   CKPT_PATH         the checkpoint, one number             (state_iter.txt)
#   MAX_ITER          count up to this                       (500)
#   CHECKPOINT_EVERY  save after so many steps               (20)
#   STEP_SEC          how long a step takes, in seconds      (0.5)
set -u

checkpoint=${CKPT_PATH:-state_iter.txt}
last=${MAX_ITER:-500}
every=${CHECKPOINT_EVERY:-20}
step_sec=${STEP_SEC:-0.5}
n=0
sleeper=

main() {
  local status
  # The handler comes before anything else: TERM can arrive while the application is still starting.
  trap on_term TERM
  resume
  # stint sets STINT_*; without stint the count works just the same.
  say "attempt ${STINT_ATTEMPT:-1} of ${STINT_TASK_ID:-count} goes on at $n of $last"
  if [[ -n ${STINT_DEADLINE:-} ]]; then say "TERM is due at $STINT_DEADLINE (epoch seconds)"; fi

  while ((n < last)); do
    # This is the work. In the foreground bash would run the trap only after sleep has ended, in `wait` it runs at once.
    sleep "$step_sec" &
    sleeper=$!
    status=0
    wait "$sleeper" || status=$?
    # A step that a signal cut short does not count; one that cannot be done at all ends the count.
    if ((status > 128)); then continue; fi
    if ((status != 0)); then exit 1; fi
    # The step counts and its result is written in one command: a trap runs between commands, so it finds both or neither.
    printf 'step %d\n' "$((n += 1))"
    if ((n % every == 0)); then save; fi
  done

  save || exit 1
  say "done at $n"
  # 0 says: nothing left to do.
  exit 0
}

# TERM means: the window is over, save and leave. 99 says: saved, and there is more to do.
on_term() {
  # A second TERM must not cut the save short. What is ignored here is also ignored by the `mv` in save.
  trap '' TERM
  # Leave nothing behind: the attempt is over only when the last of its processes is.
  if [[ -n $sleeper ]]; then kill "$sleeper" 2>/dev/null; fi
  # Without a save, 99 would be a lie.
  save || exit 1
  say "told to stop, saved at $n"
  exit 99
}

# No checkpoint: start at 0. A checkpoint that makes no sense: stop. Starting over would throw away what was done.
resume() {
  [[ -e $checkpoint ]] || return 0
  local text=
  read -r text <"$checkpoint" || true
  if [[ ! $text =~ ^[0-9]+$ ]]; then
    say "$checkpoint holds no number ('$text'): mend it or remove it" >&2
    exit 1
  fi
  # 10# because bash takes a number with a leading zero for octal.
  n=$((10#$text))
}

# Never write into the checkpoint itself: whoever dies half-way leaves half a file. A rename happens or it does not.
save() {
  if ! { printf '%d\n' "$n" >"$checkpoint.tmp" && mv -f -- "$checkpoint.tmp" "$checkpoint"; }; then
    # The periodic save may lose its `mv` to a TERM sent to the whole group; the trap then saves again at once.
    say "could not save $checkpoint at $n" >&2
    return 1
  fi
}

say() {
  printf 'count: %s\n' "$*"
}

main
