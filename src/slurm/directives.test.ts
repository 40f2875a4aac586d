import { describe, expect, it } from "vitest";
import { readBatchScript } from "./directives.ts";

/** The words that sbatch would see; what it answers to the same texts is compared in test/cluster/directives.test.ts. */
function words(...lines: string[]): readonly string[] {
  const read = readBatchScript(["#!/bin/sh", ...lines, ""].join("\n"));
  if (read.kind !== "batch-script") throw new Error(JSON.stringify(read));
  return read.words.map(({ text }) => text);
}

describe("the words of #SBATCH lines", () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ["several options a line", ["#SBATCH -t 1:00 --mem=4G -c2"], ["-t", "1:00", "--mem=4G", "-c2"]],
    ["tabs", ["#SBATCH\t-n\t2"], ["-n", "2"]],
    ["no blank behind the word", ["#SBATCH-n 2"], ["-n", "2"]],
    ["double quotes", ['#SBATCH --comment="a b" -n 2'], ["--comment=a b", "-n", "2"]],
    ["single quotes", ["#SBATCH --comment='a \"b\"'"], ['--comment=a "b"']],
    ["quotes inside of a word", ['#SBATCH --comment=a"b c"d'], ["--comment=ab cd"]],
    ["an escaped quote", ['#SBATCH --comment="x\\"y"'], ['--comment=x"y']],
    ["a backslash, which keeps no blank", ["#SBATCH --comment=b\\ c"], ["--comment=b", "c"]],
    ["a trailing comment", ["#SBATCH -n 2 # and -t 3"], ["-n", "2"]],
    ["a comment in the middle of a word", ["#SBATCH --comment=a#b -c2"], ["--comment=a"]],
    ["a # in quotes or escaped", ["#SBATCH --comment='a#b' \\#x"], ["--comment=a#b", "#x"]],
    ["an empty word, which ends the line", ['#SBATCH --comment "" -n 2', "#SBATCH -t 3"], ["--comment", "-t", "3"]],
    ["a value in the next line", ["#SBATCH --comment", "#SBATCH xx"], ["--comment", "xx"]],
    ["a backslash at the end", ["#SBATCH -n 2 \\"], ["-n", "2"]],
    ["what only looks like it", ["##SBATCH -n 1", "# SBATCH -n 2", " #SBATCH -n 3", "#sbatch -n 4"], []],
    ["blank and comment lines between", ["#SBATCH -n 2", "", "  # more", "\t", "#SBATCH -t 3"], ["-n", "2", "-t", "3"]],
  ])("%s", (_, lines, expected) => {
    expect(words(...lines)).toEqual(expected);
  });

  it("know their line, and those after the first command are unread", () => {
    const text = "#!/bin/bash\n\n#SBATCH -n 2\n# so\nA=1\n#SBATCH -t 3\n\n#SBATCH --mem=1G\n";
    expect(readBatchScript(text)).toEqual({
      kind: "batch-script",
      interpreter: ["/bin/bash"],
      words: [
        { text: "-n", line: 3 },
        { text: "2", line: 3 },
      ],
      unread: [6, 8],
    });
  });
});

describe("what is a batch script", () => {
  it.each<[string, readonly string[]]>([
    ["#!/bin/sh\n", ["/bin/sh"]],
    ["#! /usr/bin/env  bash -x \ntrue", ["/usr/bin/env", "bash -x"]],
    ["#!/bin/sh", ["/bin/sh"]],
  ])("%j", (text, interpreter) => {
    expect(readBatchScript(text)).toMatchObject({ kind: "batch-script", interpreter });
  });

  it.each([
    ["", "empty"],
    [" \n\n", "blank"],
    ["echo\n", "no-shebang"],
    ["\n#!/bin/sh\n", "no-shebang"],
    [" #!/bin/sh\n", "no-shebang"],
    ["#!\n#SBATCH -n 2\n", "no-shebang"],
    ["#!/bin/sh\n\0", "binary"],
    ["\x7fELF\0", "binary"],
    ["#!/bin/sh\r\ntrue\r\n", "dos-line-ends"],
    ["#!/bin/sh\ntrue\r\n", "dos-line-ends"],
  ])("not %j: %s", (text, why) => {
    expect(readBatchScript(text)).toEqual({ kind: "not-a-script", why });
  });

  it.each([
    ['#SBATCH --comment="a', 2, "quote"],
    ["#SBATCH -n 2 : -n 3", 2, "heterogeneous"],
    ["#SBATCH hetjob", 2, "heterogeneous"],
    ["#SBATCH packjob", 2, "heterogeneous"],
  ])("an error in %j", (line, number, words) => {
    expect(readBatchScript(`#!/bin/sh\n${line}\n`)).toEqual({
      kind: "error",
      line: number,
      error: expect.stringContaining(words),
    });
  });
});
