import { describe, expect, it } from "vitest";
import { fillFileName } from "./file-name.ts";

const values = { jobId: "718", index: "4", jobName: "my job", node: "n2", user: "alice" };

describe("a file name with Slurm's patterns", () => {
  it.each([
    ["p-%j-%J-%A-%a-%N-%n-%s-%t-%u-%x", "p-718-718-718-4-n2-0-batch-0-alice-my job"],
    ["%5j-%%-%q-%b.txt", "00718-%-%q-%b.txt"],
    ["dd%", "dd%"],
    ["b\\%j\\q", "b%jq"],
    ["a\\\\b%j", "a\\b%j"],
    ["%3x-%15j-%1a", "my job-0000000718-4"],
    ["plain", "plain"],
  ])("%s", (pattern, expected) => {
    expect(fillFileName(pattern, values)).toBe(expected);
  });
});
