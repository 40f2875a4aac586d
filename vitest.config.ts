import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";

const { version } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8")) as { version: string };
/** What the commands under test note of a user's projects must not end up in the home of who runs the tests. */
const env = { XDG_STATE_HOME: mkdtempSync(join(tmpdir(), "stint-state-")) };
// The bundles get the version from esbuild in the same way (scripts/build.mjs).
const define = { __STINT_VERSION__: JSON.stringify(version) };

const LONG_CLUSTER_TESTS = [
  "attached",
  "children",
  "controller-away",
  "controller-lost",
  "ends",
  "ends-preemption",
  "names",
  "status-doctor",
  "submit-refused",
  "submitter",
  "unproved",
];

// Unit tests stand beside their source and touch neither processes nor the network; everything that starts real
// processes is under test/ and gets a process and generous time of its own.
export default defineConfig({
  test: {
    projects: [
      {
        define,
        test: { name: "unit", include: ["src/**/*.test.ts"], isolate: false, pool: "threads", testTimeout: 60_000 },
      },
      {
        define,
        test: {
          name: "process",
          env,
          include: ["test/**/*.test.ts"],
          exclude: ["test/cluster/**"],
          pool: "forks",
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        define,
        test: {
          name: "cluster",
          env,
          // Chains mostly wait: many at once cost little more than one.
          maxConcurrency: 16,
          include: ["test/cluster/**/*.test.ts"],
          // Minutes each: with --full (scripts/test.mjs says so).
          exclude:
            process.env.STINT_FULL === undefined
              ? LONG_CLUSTER_TESTS.map((name) => `test/cluster/${name}.test.ts`)
              : [],
          // Stops the Slurm that these tests have started; scripts/test.mjs does that itself and names it in the environment.
          globalSetup: ["test/cluster/global-setup.ts"],
          pool: "forks",
          maxWorkers: 1,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
