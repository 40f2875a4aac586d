#!/bin/bash
# Stops what up.sh started, each process by its pid file and only while it still is the program that was started.
#   STATE_DIR as in up.sh;  WIPE=1 removes the state too;  CANCEL=0 leaves jobs as they are.
set -u
STATE_DIR=${STATE_DIR:-/var/tmp/stint-cluster}
S=$STATE_DIR

running() { # PID COMM
  local state
  state=$(sed -n 's/^State:[ \t]*\([A-Z]\).*/\1/p' "/proc/$1/status" 2>/dev/null) || return 1
  [ -n "$state" ] && [ "$state" != Z ] && [ "$(cat "/proc/$1/comm" 2>/dev/null)" = "$2" ]
}
stop() { # NAME COMM SECONDS
  local file=$S/run/$1.pid pid i
  pid=$(cat "$file" 2>/dev/null) || return 0
  [ -n "$pid" ] && running "$pid" "$2" || { rm -f "$file"; return 0; }
  kill -CONT "$pid" # a test may have stopped it
  kill -TERM "$pid"
  for ((i = 0; i < $3 * 10; i++)); do running "$pid" "$2" || break; sleep 0.1; done
  if running "$pid" "$2"; then
    echo "down: $1 ($pid) ignores TERM, KILL" >&2
    kill -KILL "$pid"
  fi
  rm -f "$file"
}

export SLURM_CONF=$S/etc/slurm.conf
if [ "${CANCEL:-1}" = 1 ] && timeout 5 scontrol ping 2>/dev/null | grep -q UP; then
  for user in root "${TEST_USER:-alice}"; do
    getent passwd "$user" >/dev/null || continue
    for state in PENDING RUNNING SUSPENDED; do timeout 10 scancel --state=$state --user="$user" 2>/dev/null; done
  done
  for ((i = 0; i < 100; i++)); do [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break; sleep 0.1; done
fi
for file in "$S"/run/slurmd-*.pid; do
  [ -e "$file" ] || continue
  name=${file##*/}
  stop "${name%.pid}" slurmd 10
done
stop slurmctld slurmctld 20
stop slurmdbd slurmdbd 20
stop mariadbd mariadbd 30
stop munged munged 10
# Of its own nodes only: another cluster may run beside it.
for node in $(sed -n 's/^NodeName=\([^ ]*\) .*/\1/p' "$S/etc/slurm.conf" 2>/dev/null); do
  for folder in /sys/fs/cgroup/{freezer,memory}/slurm_"$node"; do
    [ -d "$folder" ] && find "$folder" -depth -type d -exec rmdir {} \; 2>/dev/null
  done
done
[ "${WIPE:-0}" = 1 ] && [ -e "$S/etc/slurm.conf" ] && rm -rf "$S"
exit 0
