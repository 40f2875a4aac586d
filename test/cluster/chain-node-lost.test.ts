/** A node falls silent while the applications on it go on: no successor may start beside one (protocol §2, D). */
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectNothingLost } from "../local/exactly-once.ts";
import { type Cluster, cluster, until } from "./cluster.ts";
import { type CutProcess, cutProcess, OWN_NAMESPACE, reconnectProcess } from "./cut-process.ts";
import { SlurmProject } from "./slurm-project.ts";

const found = await cluster();
const slurm = found as Cluster;
const unavailable = "unavailable" in found ? found.unavailable : await whyNoFaults();

describe.skipIf(unavailable !== null)(`a lost node${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  it("never has two applications at work: a frozen one is passed over, one that goes on is waited for", async (t) => {
    const make = () =>
      SlurmProject.make({
        slurm,
        files: { "app.sh": LASTING, node: `#!/bin/sh\nexec ${OWN_NAMESPACE} '${process.execPath}' "$@"\n` },
        spec: (folder) => ({ limitMs: 600_000, marginMs: 10_000, node: join(folder, "node") }),
        onFinished: (cleanup) => t.onTestFinished(cleanup),
      });
    /** Its runner is cut off with the node; the other one's still reaches its folder, as over a second network. */
    const cut = await make();
    const going = await make();
    const nodes = new Set<string>();
    for (const project of [cut, going]) {
      await project.advance();
      for (const node of (await project.started(1)).nodes) nodes.add(node);
      await project.untilSteps(1, 5);
    }
    const { body } = await cut.started(1);
    const runner: CutProcess = {
      pid: body.pid,
      stintFolder: cut.job.stintFolder,
      attemptFolder: cut.attemptFolder(1),
      mungeFolder: join(dirname(dirname(slurm.slurmConf)), "munge"),
    };

    const silent = [...nodes];
    t.onTestFinished(async () => {
      for (const node of silent) await slurm.faults?.bringBack(node);
    });
    for (const node of silent) await slurm.faults?.cutOff(node);
    await cutProcess(runner);

    // Out of touch with folder and controller, the runner freezes its application. Nobody else can.
    await until("the application that was cut off is frozen", () => (areFrozen(cut.processes(1)) ? true : null));
    const frozenAt = cut.steps().length;
    const second = await until("its successor may start", async () => (await cut.attempt(2)).go, { timeoutMs: 90_000 });
    expect(second).toMatchObject({ what: "start", proofs: [{ attempt: 1, by: "D" }] });
    expect(areFrozen(cut.processes(1))).toBe(true);
    expect(await cut.watchToEnd()).toMatchObject({ decision: { kind: "finish" } });
    expect(cut.stepsOf(1)).toHaveLength(frozenAt);
    expect((await cut.attempt(1)).settled).toMatchObject({ verdict: "node-failed", evidence: { state: "NODE_FAIL" } });
    expect((await cut.attempt(2)).settled).toMatchObject({ verdict: "completed" });

    // The other one's heartbeat goes on: its successor runs, and waits.
    await going.started(2);
    const before = going.stepsOf(1).length;
    await going.untilSteps(1, before + 10);
    expect((await going.attempt(2)).go).toBeNull();

    // The network is back: the first sees that it has lost its place, and kills what it froze.
    expect(cut.processes(1)).not.toEqual([]);
    await reconnectProcess(runner);
    const exited = await until("the runner that was cut off has testified", async () => (await cut.attempt(1)).exited);
    expect(exited).toMatchObject({ by: "body", endedBy: "fence", survivors: [] });
    expect(cut.processes(1)).toEqual([]);

    // The node is back: Slurm ends what still runs there, and the waiting successor gets its proof.
    for (const node of silent.splice(0)) await slurm.faults?.bringBack(node);
    expect(await going.watchToEnd()).toMatchObject({ decision: { kind: "finish" } });
    expect((await going.attempt(1)).settled).toMatchObject({
      verdict: "node-failed",
      evidence: { state: "NODE_FAIL" },
    });
    for (const project of [cut, going]) {
      const steps = project.steps();
      expectNothingLost(steps, steps.at(-1)?.step ?? 0);
      expect(project.stepsOf(2)).toHaveLength(10);
      await project.untilQueueEmpty();
    }
  });
});

function areFrozen(members: readonly { readonly state: string }[]): boolean {
  return members.length > 0 && members.every(({ state }) => state === "T");
}

async function whyNoFaults(): Promise<string | null> {
  if (slurm.faults === null) return "nothing may be broken on a cluster that is not the tests' own";
  if (slurm.tracking !== "cgroup") return "this cluster does not track processes by cgroup: nothing is proved there";
  const [program = "", ...args] = OWN_NAMESPACE.split(" ");
  const { exitCode, stderr } = await slurm.runAsUser(program, [...args, "true"]);
  return exitCode === 0 ? null : `no namespaces for users here: ${stderr.trim()}`;
}

/** The first attempt works for as long as it lives, each later one goes ten steps and is done. */
const LASTING = `
n=0; [ -e state.txt ] && read -r n <state.txt
trap 'stop=1' TERM
for ((own = 1; ; own++)); do
  a=$EPOCHREALTIME
  sleep 0.1
  n=$((n + 1))
  printf '%s %s %s %s %s\\n' "$STINT_ATTEMPT" "$$" "$a" "$EPOCHREALTIME" "$n" >>log.txt
  echo "$n" >state.tmp && mv state.tmp state.txt
  [ -z "$stop" ] || exit 99
  [ "$STINT_ATTEMPT" = 1 ] || [ "$own" -lt 10 ] || exit 0
done
`;
