/** Job names for a shell, in plain sh: no program of ours is started, and no scheduler is asked. */
export const JOBS_IN_SH = `  local dir=$PWD root=\${STINT_DIR-} job user
  while [ -z "$root" ]; do
    if [ -d "$dir/.stint" ]; then root=$dir/.stint; break; fi
    [ -n "$dir" ] || return 0
    dir=\${dir%/*}
  done
  for job in "$root"/jobs/*/*/home.json; do
    [ -e "$job" ] || continue
    job=\${job%/home.json}
    user=\${job%/*}
    user=\${user##*/}
    if [ "$user" = "\${USER-}" ]; then echo "\${job##*/}"; else echo "/$user/\${job##*/}"; fi
  done
  echo last`;
