import { describe, expect, it } from "vitest";
import { jsonSchema } from "./json-schema.ts";
import { optionTable } from "./option-table.ts";
import { parseSpecFile } from "./spec-file.ts";

const FULL = `name: sim
command: [python3, sim.py, 0.10]
checkpoint: {path: state.txt, progress: {json: .step}, every: 20}
total: 500
limit: 4h
margin: 60s
slurm: {partition: long, account: 1234, cpus-per-task: 4, sbatch: [--gres=gpu:1]}
budgets: {failures: 3, never-ran: 5, wall: 30d}
backoff: {first: 10s, max: 10m}
timing:
  proof-wait: 10m
saved-exits: [99, 75]
env: {CHECKPOINT_EVERY: "20", FACTOR: 0.10}
`;

async function errorsOf(text: string): Promise<readonly string[]> {
  const parsed = await parseSpecFile(text, "stint.yaml");
  return parsed.kind === "errors" ? parsed.errors : [];
}

describe("a spec file", () => {
  it("gives each value with its place, and numbers as they were written", async () => {
    const parsed = await parseSpecFile(FULL, "stint.yaml");
    if (parsed.kind !== "spec") throw new Error(parsed.errors.join("\n"));
    const { values } = parsed.file;
    expect(values.get("limit")).toEqual({ raw: { form: "text", text: "4h" }, at: "stint.yaml:5:8" });
    expect(values.get("command")).toEqual({
      raw: { form: "list", items: ["python3", "sim.py", "0.10"] },
      at: "stint.yaml:2:10",
    });
    expect(values.get("checkpoint.progress")?.raw).toEqual({ form: "map", entries: { json: ".step" } });
    expect(values.get("slurm.account")).toEqual({ raw: { form: "text", text: "1234" }, at: "stint.yaml:7:35" });
    expect(values.get("timing.proof-wait")?.at).toBe("stint.yaml:11:15");
    expect(values.get("saved-exits")?.raw).toEqual({ form: "list", items: ["99", "75"] });
    expect(values.get("env")?.raw).toEqual({ form: "map", entries: { CHECKPOINT_EVERY: "20", FACTOR: "0.10" } });
    expect(values.has("margin")).toBe(true);
    expect(values.has("mode")).toBe(false);
  });

  it("follows anchors", async () => {
    const parsed = await parseSpecFile("limit: &t 4h\nsubmitter: {limit: *t}\n", "s.yaml");
    expect(parsed.kind === "spec" && parsed.file.values.get("submitter.limit")).toEqual({
      raw: { form: "text", text: "4h" },
      at: "s.yaml:2:20",
    });
  });

  it.each(["", "# only a comment\n"])("may be empty: %j", async (text) => {
    const parsed = await parseSpecFile(text, "s.yaml");
    expect(parsed.kind === "spec" && parsed.file.values.size).toBe(0);
  });

  it.each([
    ["name: sim\nlimt: 4h\n", "stint.yaml:2:1: unknown key limt; did you mean limit?"],
    ["slurm:\n  partitoin: x\n", "stint.yaml:2:3: unknown key slurm.partitoin; did you mean slurm.partition?"],
    ["partition: long\n", "stint.yaml:1:1: unknown key partition; did you mean slurm.partition?"],
    ["time: 4h\n", "stint.yaml:1:1: unknown key time; did you mean limit?"],
    ["job-name: x\n", "stint.yaml:1:1: unknown key job-name; did you mean name?"],
    ["backoff: {zzz: 1}\n", "stint.yaml:1:11: unknown key backoff.zzz; known here: first, max"],
    ["name: a\nname: b\n", "stint.yaml:2:1: the key name appears twice"],
    ["slurm: {qos: a, qos: b}\n", "stint.yaml:1:17: the key qos appears twice"],
    [
      "limit: [1]\n",
      "stint.yaml:1:8: limit: expected a time limit, such as 4h, 01:00:00 or 1-12 (a bare number is minutes, as for Slurm), found a list",
    ],
    ["total: many\n", 'stint.yaml:1:8: total: expected a number above 0, such as 500, found the text "many"'],
    ["total: 0\n", "stint.yaml:1:8: total: expected a number above 0, such as 500, found the number 0"],
    [
      "margin: 60\n",
      "stint.yaml:1:9: margin: expected a duration with a unit, such as 60s, or auto, found the number 60",
    ],
    [
      "ahead: 1.5\n",
      "stint.yaml:1:8: ahead: expected a whole number, at least 0 and at most 100, found the number 1.5",
    ],
    ["mode: selfish\n", 'stint.yaml:1:7: mode: expected one of self, attached, submitter, found the text "selfish"'],
    [
      "name:\nlimit: 4h\n",
      "stint.yaml:1:6: name: expected a name, such as sim, found nothing (leave the key out for the default)",
    ],
    ["command: {a: b}\n", "stint.yaml:1:10: command: expected text for a shell, or a list of arguments, found a map"],
    ["command: [a, [b]]\n", "stint.yaml:1:10: command: item 2 must be text (put it in quotes), found a list"],
    [
      "command:\n  - ./sim\n  - -v\n  - true\n",
      "stint.yaml:2:3: command: item 3 must be text (put it in quotes), found true",
    ],
    ["env: {A: true}\n", "stint.yaml:1:10: env.A: expected text or a number (put it in quotes), found true"],
    ["env: [A]\n", "stint.yaml:1:6: env: expected a map of variables, such as {OMP_NUM_THREADS: 4}, found a list"],
    ["saved-exits: [99, x]\n", 'stint.yaml:1:14: saved-exits.1: expected a whole number, found the text "x"'],
    ["backoff: 10s\n", 'stint.yaml:1:10: backoff: expected a map of first, max, found the text "10s"'],
    ["backoff: [10s]\n", "stint.yaml:1:10: backoff: expected a map of first, max, found a list"],
    [
      "checkpoint:\n  progress: {jsn: .x}\n",
      "stint.yaml:2:13: checkpoint.progress: expected number, {json: .step}, {pattern: 'step (\\d+)'} or {files: 'restart.*'}, found a map",
    ],
    ["- a\n", 'stint.yaml:1:1: expected a map of settings, such as "name: sim"'],
    ["sim\n", 'stint.yaml:1:1: expected a map of settings, such as "name: sim"'],
    ["name: a\n---\nname: b\n", "stint.yaml:2:1: a second document begins here; a spec file holds one"],
    ["name: !!foo a\n", "stint.yaml:1:7: Unresolved tag: tag:yaml.org,2002:foo"],
    ["name: *nope\n", "stint.yaml:1:1: Unresolved alias (the anchor must be set before the alias): nope"],
    ["slurm:\n\tqos: a\n", "stint.yaml:2:1: a tab cannot indent; use blanks"],
    [
      "command: echo a: b\n",
      'stint.yaml:1:10: a second ": " in one line: put the value into quotes, or the inner key on a line of its own',
    ],
    [
      "name: sim\n  limit: 4h\n",
      "stint.yaml:1:7: the line below is indented as a part of this value: give both the same indentation",
    ],
    ["limit\nname: sim\n", "stint.yaml:1:1: a : is missing behind this key"],
    ["command: 'sim\n", "stint.yaml:2:1: a closing quote ' is missing"],
    ["name: @sim\n", "stint.yaml:1:7: a value cannot begin with this character: put it into quotes"],
  ])("refuses %j with its place and what is expected", async (text, error) => {
    expect((await errorsOf(text))[0]).toBe(error);
  });

  it("refuses what is too large or too deep in one line, and knows a large one's repeated key at once", async () => {
    const variables = Array.from({ length: 40_000 }, (_, index) => `  V${index}: x`).join("\n");
    const text = `name: sim\nenv:\n${variables}\n`;
    expect(await errorsOf(text)).toEqual([]);
    expect(await errorsOf(`${text}  V39999: y\nenv: {}\n`)).toEqual([
      "stint.yaml:40003:3: the key V39999 appears twice",
      "stint.yaml:40004:1: the key env appears twice",
    ]);
    expect(await errorsOf(`# ${"x".repeat(1024 * 1024)}\n`)).toEqual([
      "stint.yaml is larger than 1 MiB, which is the most that a spec file may have",
    ]);
    for (const nested of [`name: ${"[".repeat(20_000)}\n`, `env: ${"{a: ".repeat(20_000)}1${"}".repeat(20_000)}\n`])
      expect((await errorsOf(nested))[0]).toMatch(/^stint\.yaml:1:\d+: lists and maps are nested too deeply here/);
  });

  it("says one thing about one place", async () => {
    expect(await errorsOf("name: sim\n  limit: 4h\n")).toHaveLength(1);
  });

  it("names unknown keys and wrong values at once, in the order of the file", async () => {
    const errors = await errorsOf("margin: 5x\nlimt: 4h\ntotal: many\nlimit: 99x\n");
    expect(errors.map((error) => error.split(": ").slice(0, 2).join(": "))).toEqual([
      "stint.yaml:1:9: margin",
      "stint.yaml:2:1: unknown key limt; did you mean limit?",
      "stint.yaml:3:8: total",
      "stint.yaml:4:8: limit",
    ]);
  });

  it("names all wrong types at once", async () => {
    expect(await errorsOf("total: x\nahead: y\nslurm: {partition: [a]}\n")).toHaveLength(3);
  });
});

describe("the JSON Schema", () => {
  it("knows exactly the keys of the option table, with their help", () => {
    const keys: string[] = [];
    const walk = (node: unknown, path: string): void => {
      const { properties, additionalProperties } = node as {
        properties?: Record<string, { description?: string }>;
        additionalProperties?: unknown;
      };
      if (properties === undefined) return void keys.push(path);
      expect(additionalProperties, path).toBe(false);
      for (const [key, member] of Object.entries(properties)) walk(member, path === "" ? key : `${path}.${key}`);
    };
    const schema = jsonSchema();
    walk(schema, "");
    expect(keys.sort()).toEqual(optionTable.map(({ key }) => key).sort());
    expect(JSON.stringify(schema)).toContain('"description":"wall time of one attempt; a bare number is minutes"');
    expect(JSON.stringify(schema)).toContain('"enum":["self","attached","submitter"]');
  });
});
