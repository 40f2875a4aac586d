import { describe, expect, it } from "vitest";
import { optionTable, settingFlags } from "./option-table.ts";
import { parseFlags } from "./parse-flags.ts";
import { type Resolution, resolveSpec } from "./resolve.ts";
import { parseSiteFile, type SiteFile } from "./site-file.ts";
import { siteNow } from "./site-now.ts";
import { siteTable } from "./site-settings.ts";
import { parseSpecFile } from "./spec-file.ts";

const PATH = "/etc/stint.yaml";

async function site(yaml: string): Promise<SiteFile> {
  const parsed = await parseSiteFile(yaml, PATH);
  if (parsed.kind === "errors") throw new Error(parsed.errors.join("\n"));
  return parsed.site;
}

async function errorsOf(yaml: string): Promise<readonly string[]> {
  const parsed = await parseSiteFile(yaml, PATH);
  return parsed.kind === "errors" ? parsed.errors : [];
}

interface Given {
  readonly flags?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly spec?: string;
}

async function under(yaml: string, { flags = "", env = {}, spec }: Given = {}): Promise<Resolution> {
  const file = spec === undefined ? null : await parseSpecFile(spec, "stint.yaml");
  if (file?.kind === "errors") throw new Error(file.errors.join("\n"));
  const words = flags.split(" ").filter((word) => word !== "");
  return resolveSpec({
    flags: parseFlags(words, settingFlags, { positionals: "anywhere" }).given,
    environment: env,
    file: file?.file ?? null,
    site: await site(yaml),
    command: ["sim"],
    cwd: "/data",
    user: "ann",
    here: { insideAllocation: null, hasSbatch: true },
    node: "/usr/bin/node",
    runtime: "abc",
  });
}

async function resolved(yaml: string, given: Given = {}): Promise<Extract<Resolution, { kind: "resolved" }>> {
  const resolution = await under(yaml, given);
  if (resolution.kind === "errors") throw new Error(resolution.errors.join("\n"));
  return resolution;
}

describe("a site file", () => {
  it("holds rules and defaults, each with its line", async () => {
    const read = await site(
      [
        "poll-floor: 60s",
        "forbidden-partitions: [debug, 7]",
        "trust: scheduler",
        "caps: {attempts: 200, wall: 30d, ahead: 1}",
        "defaults:",
        "  margin: 5m",
        "  slurm: {partition: long}",
        "  budgets:",
        "    failures: 5",
      ].join("\n"),
    );
    expect(read).toMatchObject({
      pollFloorMs: { value: 60_000, at: `${PATH}:1` },
      forbiddenPartitions: { value: ["debug", "7"], at: `${PATH}:2` },
      trust: { value: "scheduler", at: `${PATH}:3` },
      caps: { attempts: { value: 200 }, wallMs: { value: 30 * 86_400_000 }, ahead: { value: 1, at: `${PATH}:4` } },
    });
    expect([...read.defaults].map(([key, { at }]) => [key, at])).toEqual([
      ["margin", `${PATH}:6`],
      ["slurm.partition", `${PATH}:7`],
      ["budgets.failures", `${PATH}:9`],
    ]);
  });

  it("may be empty", async () => {
    expect(await site("# nothing yet\n")).toMatchObject({ pollFloorMs: null, caps: { attempts: null } });
  });

  it.each([
    ["pol-floor: 60s", `${PATH}:1:1: unknown key pol-floor; did you mean poll-floor?`],
    ["caps:\n  atempts: 3", `${PATH}:2:3: unknown key caps.atempts; did you mean caps.attempts?`],
    [
      "defaults:\n  slurm:\n    partitoin: long",
      `${PATH}:3:5: unknown key defaults.slurm.partitoin; did you mean defaults.slurm.partition?`,
    ],
    ["partition: long", `${PATH}:1:1: unknown key partition; did you mean defaults.slurm.partition?`],
    ["defaults: {command: rm}", `${PATH}:1:12: unknown key defaults.command; known here: `],
    [
      "poll-floor: 60",
      `${PATH}:1:13: poll-floor: expected a duration with a unit, such as 60s or 2h30m, found the number 60`,
    ],
    ["defaults:\n  margin: soon", `${PATH}:2:11: defaults.margin: `],
    [
      "caps: {ahead: 1000}",
      `${PATH}:1:15: caps.ahead: expected a whole number, at least 0 and at most 100, found "1000"`,
    ],
    ["trust: me", `${PATH}:1:8: trust: expected one of scheduler, cgroup, found the text "me"`],
    [
      "forbidden-partitions: debug",
      `${PATH}:1:23: forbidden-partitions: expected a list of partitions, such as [debug, interactive], found the text "debug"`,
    ],
    [
      "caps: {ahead: 1}\n'trust': scheduler",
      `${PATH}:2:10: trust: compute nodes read it without a YAML parser: write it without quotes on a line of its own, as trust: …`,
    ],
    ["{poll-floor: 60s}", `${PATH}:1:14: poll-floor: compute nodes read it without a YAML parser`],
    ['poll-floor: "60s"', `${PATH}:1:13: poll-floor: compute nodes read it without a YAML parser`],
    ["poll-floor:\n  60s", `${PATH}:2:3: poll-floor: compute nodes read it without a YAML parser`],
    ["- a", `${PATH}:1:1: expected a map of settings`],
  ])("refuses %j with its place", async (yaml, error) => {
    const [first = ""] = await errorsOf(yaml);
    expect(first.slice(0, error.length)).toBe(error);
  });

  it("is read on nodes as it is read here, for the two rules that are read there", () => {
    const text = "# trust: scheduler\npoll-floor: 1h30m # today\n caps: {}\ntrust:   scheduler\r\ntrust: cgroup\n";
    expect(siteNow(text, PATH)).toEqual({
      pollFloorMs: { value: 5_400_000, at: `${PATH}:2` },
      trust: { value: "scheduler", at: `${PATH}:4` },
    });
    for (const none of [
      "",
      "trust: me",
      "trust:scheduler",
      " trust: scheduler",
      "trust: scheduler x",
      "poll-floor: 60",
    ])
      expect(siteNow(none, PATH), none).toEqual({ pollFloorMs: null, trust: null });
  });

  it("can set nothing that makes a job this job", () => {
    const keys = siteTable.map(({ key }) => key);
    for (const setting of optionTable.filter(({ group }) => group === "job"))
      expect(keys).not.toContain(`defaults.${setting.key}`);
    expect(keys).toContain("defaults.limit");
  });
});

describe("a site's defaults", () => {
  const YAML = "defaults:\n  limit: 4h\n  margin: 5m\n  slurm: {partition: long, account: lab, sbatch: [--gres=gpu:1]}";

  it("stand above the built-in ones and below everything that is the user's own", async () => {
    const { spec, origins, notices } = await resolved(YAML);
    expect(spec).toMatchObject({
      limitMs: 4 * 3_600_000,
      marginMs: 300_000,
      slurm: { partition: "long", account: "lab" },
    });
    expect(origins).toMatchObject({ limit: `${PATH}:2`, margin: `${PATH}:3`, "slurm.partition": `${PATH}:4` });
    expect(notices).toEqual([]);
    const own = await resolved(YAML, {
      flags: "--limit 2h",
      env: { SBATCH_ACCOUNT: "mine" },
      spec: "margin: 2m\nslurm: {sbatch: [--exclusive]}",
    });
    expect(own.spec).toMatchObject({
      limitMs: 2 * 3_600_000,
      marginMs: 120_000,
      slurm: { partition: "long", account: "mine", sbatch: ["--gres=gpu:1", "--exclusive"] },
    });
    expect(own.origins).toMatchObject({
      limit: "flag --limit",
      margin: "stint.yaml:1:9",
      "slurm.account": "environment SBATCH_ACCOUNT",
    });
  });

  it("are checked with what the user gives", async () => {
    const resolution = await under(YAML, { flags: "--limit 5m" });
    expect(resolution).toMatchObject({
      kind: "errors",
      errors: [expect.stringContaining(`margin 5m (${PATH}:3) is not below limit 5m (flag --limit)`)],
    });
  });
});

describe("a site's rules", () => {
  it("lower what is above a cap, and say so where somebody asked for it", async () => {
    const yaml = "caps: {attempts: 50, wall: 10d, ahead: 1}\npoll-floor: 2m";
    const byDefault = await resolved(yaml);
    expect(byDefault.spec).toMatchObject({
      ahead: 1,
      budgets: { attempts: 50, wallMs: 10 * 86_400_000 },
      timing: { pollMs: 120_000 },
    });
    expect(byDefault.origins.ahead).toBe(`${PATH}:1, the site's rule`);
    expect(byDefault.notices).toEqual([]);
    const asked = await resolved(yaml, { flags: "--ahead 5 --budget-attempts 20 --timing-poll 10s" });
    expect(asked.spec).toMatchObject({ ahead: 1, budgets: { attempts: 20 }, timing: { pollMs: 120_000 } });
    expect(asked.notices).toEqual([
      `ahead 5 (flag --ahead) becomes 1: the site's rule (${PATH}:1)`,
      `timing.poll 10s (flag --timing-poll) becomes 2m: the site's rule (${PATH}:2)`,
    ]);
  });

  it("leave the queue of a local job alone", async () => {
    const { spec } = await resolved("caps: {ahead: 0}\npoll-floor: 2m\nforbidden-partitions: [long]", {
      flags: "--scheduler local --ahead 2 -p long",
    });
    expect(spec).toMatchObject({ ahead: 2, timing: { pollMs: 1_000 } });
  });

  it.each([
    ["-p debug", "debug (flag -p)"],
    ["-p long,debug", "debug (flag -p)"],
  ])("refuse a forbidden partition: %s", async (flags, words) => {
    const resolution = await under("forbidden-partitions: [debug]", { flags });
    expect(resolution).toMatchObject({
      kind: "errors",
      errors: [`no chain may run in partition ${words}: the site's rule (${PATH}:1); choose another`],
    });
  });

  it.each([
    "--sbatch-arg=--partition=debug",
    "--sbatch-arg=--part=debug",
    "--sbatch-arg=-pdebug",
    "--sbatch-arg=-p --sbatch-arg=debug",
  ])("cannot be gone round: %s", async (flags) => {
    const resolution = await under("forbidden-partitions: [debug]", { flags });
    const [first = ""] = resolution.kind === "errors" ? resolution.errors : [];
    expect(first).toContain("cannot be handed on to sbatch; the setting for it is slurm.partition");
  });

  it("forbid nothing else", async () => {
    const { spec } = await resolved("forbidden-partitions: [debug]", {
      flags: "-p debug2 --sbatch-arg=--comment=debug",
    });
    expect(spec.slurm.partition).toBe("debug2");
  });
});
