/** Completion for zsh. */
import { quoteShell } from "../../core/index.ts";
import { JOBS_IN_SH } from "./jobs.ts";
import type { OfferedCommand, OfferedOption } from "./model.ts";

export function zshCompletion(commands: readonly OfferedCommand[]): string {
  return `#compdef stint
# Completion of stint for zsh: eval "$(stint completion zsh)" after compinit, or as _stint in a folder of fpath.
_stint_jobs() {
  setopt localoptions nullglob
${JOBS_IN_SH}
}
_stint() {
  local cur=$words[CURRENT] prev=$words[CURRENT-1] cmd=$words[2]
  local -a offer
  if (( CURRENT == 2 )); then
    offer=(${commands.map(({ name, summary }) => quoteShell(`${name}:${summary}`)).join(" ")})
    _describe command offer
    return
  fi
  # What follows -- is a command of the user's own.
  if (( \${words[(Ie)--]} > 0 && \${words[(Ie)--]} < CURRENT )); then
    _files
    return
  fi
  case "$cmd:$prev" in
${commands.flatMap(valueCases).join("\n")}
  esac
  case "$cmd" in
${commands.map(commandCase).join("\n")}
  esac
}
if [ "$funcstack[1]" = _stint ]; then _stint "$@"; else compdef _stint stint; fi
`;
}

function valueCases({ name, options }: OfferedCommand): readonly string[] {
  return options
    .filter(({ value }) => value !== "none")
    .map(({ flags, value }) => {
      const what =
        value === "file" ? "_files" : typeof value === "string" ? ":" : `compadd -- ${value.map(quoteShell).join(" ")}`;
      return `    ${flags.map((flag) => `${name}:${flag}`).join("|")}) ${what}; return ;;`;
    });
}

function commandCase({ name, options, words }: OfferedCommand): string {
  const other = [
    ...(words.choices.length === 0 ? [] : [`compadd -- ${words.choices.map(quoteShell).join(" ")}`]),
    ...(words.jobs ? [`compadd -- \${(f)"$(_stint_jobs)"}`] : []),
    ...(words.files ? ["_files"] : []),
  ];
  return `    ${name})
      if [[ $cur == -* ]]; then
        offer=(${options.flatMap(described).join(" ")})
        _describe option offer
      else
        ${other.length === 0 ? ":" : other.join("; ")}
      fi ;;`;
}

function described({ flags, help }: OfferedOption): readonly string[] {
  return flags
    .filter((flag) => flag.startsWith("--"))
    .map((flag) => quoteShell(help === "" ? flag : `${flag}:${help}`));
}
