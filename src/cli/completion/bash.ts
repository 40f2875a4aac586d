/** Completion for bash (4 or newer). */
import { quoteShell } from "../../core/index.ts";
import { JOBS_IN_SH } from "./jobs.ts";
import type { OfferedCommand } from "./model.ts";

export function bashCompletion(commands: readonly OfferedCommand[]): string {
  return `# Completion of stint for bash: eval "$(stint completion bash)"
_stint_jobs() {
${JOBS_IN_SH}
}
_stint() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} cmd=\${COMP_WORDS[1]-} at offer= files=
  COMPREPLY=()
  # --flag=value comes as three words.
  if [ "$prev" = = ] && [ "$COMP_CWORD" -gt 2 ]; then prev=\${COMP_WORDS[COMP_CWORD-2]}; fi
  if [ "$cur" = = ]; then cur=; fi
  if [ "$COMP_CWORD" -le 1 ]; then
    offer=${quoteShell([...commands.map(({ name }) => name), "--help", "--version"].join(" "))}
  else
    for ((at = 2; at < COMP_CWORD; at++)); do
      # What follows is a command of the user's own.
      if [ "\${COMP_WORDS[at]}" = -- ]; then files=1; fi
    done
    [ -n "$files" ] || case "$cmd:$prev" in
${valueCases(commands)}
      *)
        case "$cmd" in
${commands.map(commandCase).join("\n")}
        esac ;;
    esac
  fi
  if [ -n "$files" ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$cur"; [ -z "$offer" ] || compgen -W "$offer" -- "$cur")
  else
    mapfile -t COMPREPLY < <(compgen -W "$offer" -- "$cur")
  fi
}
complete -F _stint stint
`;
}

/** What may stand behind an option that takes a value. */
function valueCases(commands: readonly OfferedCommand[]): string {
  const lines = commands.flatMap(({ name, options }) => {
    const pattern = (flags: readonly string[]): string => flags.map((flag) => `${name}:${flag}`).join("|");
    const choices = options.flatMap(({ flags, value }) =>
      typeof value === "string" ? [] : [`      ${pattern(flags)}) offer=${quoteShell(value.join(" "))} ;;`],
    );
    const of = (kind: "file" | "any"): readonly string[] =>
      options.filter(({ value }) => value === kind).flatMap(({ flags }) => flags);
    const files = of("file");
    const any = of("any");
    return [
      ...choices,
      ...(files.length === 0 ? [] : [`      ${pattern(files)}) files=1 ;;`]),
      ...(any.length === 0 ? [] : [`      ${pattern(any)}) ;;`]),
    ];
  });
  return lines.join("\n");
}

function commandCase({ name, options, words }: OfferedCommand): string {
  const flags = options.flatMap((option) => option.flags).filter((flag) => flag.startsWith("--"));
  const plain = [...words.choices, ...(words.jobs ? ["$(_stint_jobs)"] : [])].join(" ");
  const other = [plain === "" ? null : `offer="${plain}"`, words.files ? "files=1" : null].filter(
    (part) => part !== null,
  );
  return `          ${name})
            case "$cur" in
              -*) offer=${quoteShell(flags.join(" "))} ;;
              *) ${other.length === 0 ? ":" : other.join("; ")} ;;
            esac ;;`;
}
