/**
 * The batch script of one attempt. It is the attempt's guardian too: it stays behind the runner, passes signals on, and has
 * the runner's guardian testify when the runner dies without a word. It never runs the application itself.
 */

export interface ScriptParts {
  /** Absolute paths. */
  readonly node: string;
  readonly runner: string;
  readonly attemptFolder: string;
  /** Flags for node itself, e.g. `--max-old-space-size=128`. */
  readonly nodeFlags: readonly string[];
}

/** In the attempt's folder: why the runner could not be started; two lines, see parseRuntimeFailed. */
export const RUNTIME_FAILED = "runtime-failed.txt";

/**
 * The text of `script.sh`. It starts `node FLAGS RUNNER body FOLDER`, and where that has died without a testimony
 * `node FLAGS RUNNER guardian FOLDER`. Any path is taken as it stands. It leaves with the runner's exit status, with 0
 * when the runner could not be started.
 */
export function scriptText(parts: ScriptParts): string {
  const command = [parts.node, ...parts.nodeFlags, parts.runner].map(quoteForBash).join(" ");
  return SCRIPT.replace("@ATTEMPT@", () => quoteForBash(parts.attemptFolder)).replace("@COMMAND@", () => command);
}

/** The text of a submitter's `script.sh`: it becomes `node FLAGS RUNNER submitter FOLDER`. */
export function submitterScriptText(parts: Omit<ScriptParts, "attemptFolder"> & { readonly folder: string }): string {
  const command = [parts.node, ...parts.nodeFlags, parts.runner].map(quoteForBash).join(" ");
  return `#!/bin/bash
# Batch script of a submitter: it watches a chain and moves it, and runs nothing else.
shopt -s execfail
exec ${command} submitter ${quoteForBash(parts.folder)}
echo "stint: the submitter could not be started on \${SLURMD_NODENAME:-$(hostname)}" >&2
exit 127
`;
}

/** What the script left in RUNTIME_FAILED: the node as Slurm calls it (for --exclude), and a line for a person. */
export function parseRuntimeFailed(text: string): { readonly node: string; readonly why: string } {
  const [node = "", ...why] = text.split("\n");
  return { node, why: why.join(" ").trim() };
}

/**
 * One word for bash that stands for exactly this text, on one line: sbatch refuses scripts with DOS line ends and reads
 * `#SBATCH` at the beginning of lines, whatever they are part of.
 */
function quoteForBash(text: string): string {
  if (text.includes("\0")) throw new RangeError("a path cannot contain a NUL character");
  if (!/[\n\r]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const escaped = text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n").replaceAll("\r", "\\r");
  return `$'${escaped}'`;
}

const SCRIPT = `#!/bin/bash
# Batch script of one attempt: starts the runner, passes signals on to it, and stays behind as its guardian.
attempt=@ATTEMPT@
runner=(@COMMAND@)
child=
signalled=

pass_on() {
  interrupted=yes signalled=$1
  # Not started yet, or gone already: nobody to tell.
  [ -z "$child" ] || kill -s "$1" "$child" 2>/dev/null
}
trap 'pass_on TERM' TERM
trap 'pass_on INT' INT
trap 'pass_on USR1' USR1
trap 'pass_on USR2' USR2

# In the background, so that a trap runs at once; bash would hold it back until a child in the foreground has ended.
run() {
  "\${runner[@]}" "$1" "$attempt" &
  child=$!
  # A signal that came before there was a child.
  [ -z "$signalled" ] || kill -s "$signalled" "$child" 2>/dev/null
  local answer told=
  while :; do
    interrupted=
    wait "$child"
    answer=$?
    # An interrupted wait answers like an ended child; the next one tells: 127, when the child's end was told already.
    if [ "$answer" = 127 ] && [ -n "$told" ]; then break; fi
    status=$answer told=yes
    [ -n "$interrupted" ] || break
  done
  child=
}

run body
body_status=$status

if [ "$body_status" != 0 ]; then
  if [ -e "$attempt/started.json" ]; then
    go=
    [ ! -e "$attempt/go.json" ] || go=$(<"$attempt/go.json")
    case $go in
      *'"what":'*'"start"'*) [ -e "$attempt/exited.json" ] || { signalled=; run guardian; } ;;
    esac
  elif [ -z "$signalled" ]; then
    where=\${SLURMD_NODENAME:-$(hostname)}
    why="the runner could not be started on $where (exit status $body_status): \${runner[0]}"
    echo "stint: $why"
    printf '%s\\n' "$where" "$why" >"$attempt/${RUNTIME_FAILED}"
    exit 0
  fi
fi
exit "$body_status"
`;
