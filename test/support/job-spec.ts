/** A resolved specification for tests, so that a new field has one place. A test names what it is about, nothing else. */
import { type Budgets, type JobSpec, RECORD_VERSION, type SlurmOptions, type Timing } from "../../src/core/index.ts";

type Parts = {
  readonly budgets?: Partial<Budgets>;
  readonly slurm?: Partial<SlurmOptions>;
  readonly timing?: Partial<Timing>;
};

/** The defaults of the design for `true` on this machine, with `changes` laid over them; parts of a section may be left out. */
export function jobSpec(changes: Partial<Omit<JobSpec, keyof Parts>> & Parts = {}): JobSpec {
  const { budgets, slurm, timing, ...plain } = changes;
  return {
    ...DEFAULTS,
    ...plain,
    budgets: { ...DEFAULTS.budgets, ...budgets },
    slurm: { ...DEFAULTS.slurm, ...slurm },
    timing: { ...DEFAULTS.timing, ...timing },
  };
}

const DEFAULTS: JobSpec = {
  version: RECORD_VERSION,
  name: "job",
  command: { kind: "argv", argv: ["true"] },
  cwd: "/",
  checkpoint: null,
  total: null,
  limitMs: null,
  marginMs: 60_000,
  scheduler: "local",
  allocationEndAtMs: null,
  allocationCpus: null,
  allocationId: null,
  mode: "self",
  ahead: 0,
  budgets: {
    failures: 3,
    stalled: 2,
    preemptions: 100,
    infrastructure: 10,
    neverRan: 5,
    inARow: 20,
    attempts: 1000,
    wallMs: 30 * 86_400_000,
  },
  backoffFirstMs: 10_000,
  backoffMaxMs: 600_000,
  sampleIntervalMs: null,
  killWaitMs: 30_000,
  termTo: "all",
  savedExitCodes: [99, 124],
  env: {},
  checkpointEvery: null,
  output: { stdout: null, stderr: null },
  node: process.execPath,
  runtime: "test",
  slurm: {
    partition: null,
    account: null,
    qos: null,
    cpusPerTask: null,
    memory: null,
    nodes: null,
    exclude: null,
    sbatch: [],
    launch: "direct",
    srunArgs: [],
    modules: [],
  },
  timing: {
    proofWaitMs: 600_000,
    doubtfulTwiceMs: 60_000,
    nodesBackMs: 60_000,
    heartbeatSilentMs: 300_000,
    fenceMs: 120_000,
    unclearMs: 80_000,
    pollMs: 1_000,
  },
};
