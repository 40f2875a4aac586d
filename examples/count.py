#!/usr/bin/env python3
"""Counts to MAX_ITER, slowly, in as many attempts as it takes.

It stands for any long computation and shows the three things that make one fit for a chain: resume from the
checkpoint, save now and then, save and leave when told to. Nothing but the standard library is used.

  CKPT_PATH         the checkpoint, one number             (state_iter.txt)
  MAX_ITER          count up to this                       (500)
  CHECKPOINT_EVERY  save after so many steps               (20)
  STEP_SEC          how long a step takes, in seconds      (0.5)
"""

import os
import re
import signal
import sys
import time

CHECKPOINT = os.environ.get("CKPT_PATH") or "state_iter.txt"
LAST = int(os.environ.get("MAX_ITER") or "500")
EVERY = int(os.environ.get("CHECKPOINT_EVERY") or "20")
STEP_SEC = float(os.environ.get("STEP_SEC") or "0.5")

DONE = 0  # nothing left to do
SAVED = 99  # saved, and there is more to do

stop = False


def main():
    # The handler comes before anything else: TERM can arrive while the application is still starting.
    signal.signal(signal.SIGTERM, on_term)
    n = resume()
    # stint sets STINT_*; without stint the count works just the same.
    attempt, task = os.environ.get("STINT_ATTEMPT", "1"), os.environ.get("STINT_TASK_ID", "count")
    say(f"attempt {attempt} of {task} goes on at {n} of {LAST}")
    if "STINT_DEADLINE" in os.environ:
        say(f"TERM is due at {os.environ['STINT_DEADLINE']} (epoch seconds)")

    while n < LAST:
        # This is the work. A step that was cut short does not count.
        if not work(STEP_SEC):
            save(n)
            say(f"told to stop, saved at {n}")
            return SAVED
        n += 1
        print(f"step {n}", flush=True)
        if n % EVERY == 0:
            save(n)

    save(n)
    say(f"done at {n}")
    return DONE


def on_term(_signal, _frame):
    """Only takes a note: a handler runs between any two instructions, half-way through a save as well."""
    global stop
    stop = True


def work(seconds):
    """Takes its time and looks often whether it is told to stop; says whether it got to its end."""
    end = time.monotonic() + seconds
    while not stop and (left := end - time.monotonic()) > 0:
        time.sleep(min(left, 0.05))
    return not stop


def resume():
    """No checkpoint: start at 0. One that makes no sense: stop, since starting over would throw away what was done."""
    try:
        with open(CHECKPOINT, encoding="ascii", errors="replace") as file:
            text = file.read().strip()
    except FileNotFoundError:
        return 0
    if not re.fullmatch("[0-9]+", text):
        sys.exit(f"count: {CHECKPOINT} holds no number ({text[:40]!r}): mend it or remove it")
    return int(text)


def save(n):
    """Writes beside the checkpoint, makes sure that it is on disk, then renames: the checkpoint is the old or the new one."""
    temporary = CHECKPOINT + ".tmp"
    with open(temporary, "w", encoding="ascii") as file:
        file.write(f"{n}\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, CHECKPOINT)
    # The new name is on disk when its folder is.
    folder = os.open(os.path.dirname(os.path.abspath(CHECKPOINT)), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def say(text):
    print(f"count: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
