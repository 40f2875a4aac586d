import { defineConfig } from "vitest/config";

// Unit tests stand beside their source and touch neither processes nor the network; everything that starts real
// processes is under test/ and gets a process and generous time of its own.
export default defineConfig({
  test: {
    projects: [
      { test: { name: "unit", include: ["src/**/*.test.ts"], isolate: false, pool: "threads", testTimeout: 20_000 } },
      {
        test: {
          name: "process",
          include: ["test/**/*.test.ts"],
          exclude: ["test/cluster/**"],
          pool: "forks",
          maxWorkers: 2,
          testTimeout: 120_000,
          hookTimeout: 60_000,
        },
      },
      {
        test: {
          name: "cluster",
          include: ["test/cluster/**/*.test.ts"],
          pool: "forks",
          maxWorkers: 1,
          testTimeout: 300_000,
          hookTimeout: 300_000,
        },
      },
    ],
  },
});
