import { expect, it } from "vitest";
import { parseQuota } from "./quota.ts";

const HEAD = `Disk quotas for user ann (uid 1001):
     Filesystem  blocks   quota   limit   grace   files   quota   limit   grace
`;

it("reads what is used and the lower limit, with and without a time of grace", () => {
  expect(parseQuota(`${HEAD}nas:/home  4000 10000 12000 0 70 0 100 0\n`)).toEqual([
    { fileSystem: "nas:/home", usedBytes: 4_096_000, limitBytes: 10_240_000, files: 70, limitFiles: 100 },
  ]);
  const over = { fileSystem: "/dev/sda1", usedBytes: 11_264_000, limitBytes: 10_240_000, files: 70, limitFiles: null };
  expect(parseQuota(`${HEAD}/dev/sda1 11000* 10000 12000 1796072795 70 0 0 0\n`)).toEqual([over]);
  expect(parseQuota(`${HEAD}/dev/sda1 11000* 10000 12000 6days 70 0 0\n`)).toEqual([over]);
  expect(parseQuota(`${HEAD}/dev/sda1 11000 10000 12000 70 0 0\n`)).toEqual([over]);
});

it("finds none where there is none", () => {
  expect(parseQuota("Disk quotas for user ann (uid 1001): none\n")).toEqual([]);
  expect(parseQuota(HEAD)).toEqual([]);
  expect(parseQuota(`${HEAD}nas:/home  4000 0 0 0 70 0 0 0\n`)).toMatchObject([{ limitBytes: null, limitFiles: null }]);
});
