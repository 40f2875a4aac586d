/**
 * A tree whose two ledgers are the seed's published tables to the last digit. Written by hand: the lengths below are what an
 * explanation must find again; instants follow from them.
 */
export const ROOT = "/gonzalo/exp166-prod-v0.6";

export interface GoldenLeaf {
  readonly id: string;
  readonly startedAt: string;
  /** From the task's start (assigned) to the start of its first attempt (running). */
  readonly beforeFirstMs: number;
  /** From each attempt's end to the next one's start. */
  readonly gapsMs: readonly number[];
  /** From the last attempt's end to the task's; null: it is still under way. */
  readonly afterLastMs: number | null;
  /** Start to first sample, first to last sample, last sample to end. */
  readonly attempts: readonly (readonly [leadInMs: number, spanMs: number, tailMs: number])[];
  /** Σ over its attempts of span × mean. */
  readonly cpuSec: number;
}

const P4B = "checkpoints-dna-bolinas-exp166-v0.1-p4b";

export const LEAVES: readonly GoldenLeaf[] = [
  {
    id: `${P4B}_de2b2599-4cc0011d`,
    startedAt: "2026-05-10T06:00:00.417Z",
    beforeFirstMs: 41_250,
    gapsMs: [181_300, 412_750, 95_420, 300_030, 268_900, 281_600],
    afterLastMs: 310,
    attempts: [
      [3_120, 14_211_402, 1_810],
      [4_870, 9_870_330, 3_300],
      [2_210, 20_004_515, 2_940],
      [5_540, 3_120_045, 640],
      [3_985, 11_899_720, 5_120],
      [4_410, 17_015_100, 2_475],
      [2_765, 7_900_000, 1_715],
    ],
    cpuSec: 58_586,
  },
  {
    id: `${P4B}_7a90c1e4-31d3c8a3`,
    startedAt: "2026-05-10T06:00:01.002Z",
    beforeFirstMs: 38_400,
    gapsMs: [],
    afterLastMs: 255,
    attempts: [[4_055, 59_610_940, 2_210]],
    cpuSec: 94_158,
  },
  {
    id: `${P4B}_0be4f7d2-851a0962`,
    startedAt: "2026-05-10T06:00:01.640Z",
    beforeFirstMs: 52_900,
    gapsMs: [],
    afterLastMs: 420,
    attempts: [[3_330, 34_162_204, 4_790]],
    cpuSec: 52_449,
  },
  {
    id: `${P4B}_de2b2599-6f71575c`,
    startedAt: "2026-05-10T20:00:00.000Z",
    beforeFirstMs: 44_000,
    gapsMs: [60_000, 61_000, 62_000, 63_000, 64_000, 65_000, 66_000, 67_000, 68_000],
    afterLastMs: null,
    attempts: [
      [3_000, 2_100_000, 2_000],
      [3_100, 3_405_210, 2_100],
      [3_200, 1_150_330, 2_200],
      [3_300, 4_020_115, 2_300],
      [3_400, 2_811_006, 2_400],
      [3_500, 905_210, 2_500],
      [3_600, 3_300_000, 2_600],
      [3_700, 1_750_000, 2_700],
      [3_800, 2_442_000, 2_800],
      [3_900, 1_300_000, 2_900],
    ],
    cpuSec: 23_707,
  },
  {
    id: `${P4B}_c35d88ab-f57f421f`,
    startedAt: "2026-05-10T21:10:00.000Z",
    beforeFirstMs: 47_450,
    gapsMs: [],
    afterLastMs: 165,
    attempts: [[5_115, 10_680_149, 1_900]],
    cpuSec: 9_048,
  },
  {
    id: `${P4B}_91f2aa06-1416b708`,
    startedAt: "2026-05-10T23:30:00.000Z",
    beforeFirstMs: 30_000,
    gapsMs: [],
    afterLastMs: 175,
    attempts: [[2_600, 13_013, 3_100]],
    cpuSec: 39.9,
  },
];

/** What the seed printed, and each cause between its two figures: sums of the lengths above, added up by hand. */
export const PUBLISHED = {
  tasks: { leafTasks: 5, wallMs: 190_310_743, text: "52h51m50s" },
  samples: { leafTasks: 6, wallMs: 211_671_289, text: "58h47m51s", cpuSec: "237987.9", attempts: 21 },
  leaves: [
    ["4cc0011d", 7, 84_021, 58_586],
    ["31d3c8a3", 1, 59_611, 94_158],
    ["851a0962", 1, 34_162, 52_449],
    ["6f71575c", 10, 23_184, 23_707],
    ["f57f421f", 1, 10_680, 9_048],
    ["1416b708", 1, 13, 40],
  ] as const,
  differenceMs: -21_360_546,
  causes: {
    "before-first": { ms: 210_000, records: 5 },
    between: { ms: 1_540_000, records: 6 },
    "after-last": { ms: 1_325, records: 5 },
    "lead-in": { ms: 42_000, records: 11 },
    tail: { ms: 30_000, records: 11 },
    "in-flight": { ms: -23_183_871, records: 10 },
  },
  /** Lead-in and tail: what the seed's 7 s x 21 = 147 s estimates. */
  slackMs: 72_000,
};
