/** Completion for fish. */
import type { OfferedCommand, OfferedOption } from "./model.ts";

export function fishCompletion(commands: readonly OfferedCommand[]): string {
  const names = commands.map(({ name }) => name).join(" ");
  return `# Completion of stint for fish: stint completion fish > ~/.config/fish/completions/stint.fish
function __stint_jobs
    set -l root $STINT_DIR
    set -l dir (pwd)
    while test -z "$root"
        if test -d "$dir/.stint"
            set root $dir/.stint
            break
        end
        test -n "$dir"; or return
        set dir (string replace -r '/[^/]*$' '' -- $dir)
    end
    for home in $root/jobs/*/*/home.json
        set -l parts (string split / -- $home)
        if test "$parts[-3]" = "$USER"
            echo $parts[-2]
        else
            echo /$parts[-3]/$parts[-2]
        end
    end
    echo last
end
complete -c stint -f
complete -c stint -n "not __fish_seen_subcommand_from ${names}" -l version -d 'the version'
${commands.flatMap(linesOf).join("\n")}
`;

  function linesOf({ name, summary, options, words }: OfferedCommand): readonly string[] {
    const seen = `-n "__fish_seen_subcommand_from ${name}"`;
    return [
      `complete -c stint -n "not __fish_seen_subcommand_from ${names}" -a ${name} -d ${quoteFish(summary)}`,
      ...options.map((option) => `complete -c stint ${seen} ${optionWords(option)}`),
      ...(words.choices.length === 0 ? [] : [`complete -c stint ${seen} -a ${quoteFish(words.choices.join(" "))}`]),
      ...(words.jobs ? [`complete -c stint ${seen} -a "(__stint_jobs)"`] : []),
      ...(words.files ? [`complete -c stint ${seen} -F`] : []),
    ];
  }
}

function optionWords({ flags, help, value }: OfferedOption): string {
  const names = flags.map((flag) => (flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const takes = value === "none" ? [] : value === "file" ? ["-r", "-F"] : ["-x"];
  const choices = typeof value === "string" ? [] : ["-a", quoteFish(value.join(" "))];
  return [...names, ...takes, ...choices, ...(help === "" ? [] : ["-d", quoteFish(help)])].join(" ");
}

function quoteFish(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}
