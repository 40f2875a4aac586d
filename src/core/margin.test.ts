import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { autoMarginMs, measuredSaving, NO_SAVES, noteSaving, reserveMs, type Saves, savesText } from "./margin.ts";
import type { Progress } from "./progress.ts";
import type { Exited, GoStart } from "./records.ts";
import type { Seen } from "./seen.ts";

const HOUR = 3_600_000;
const ended = (ms: number) => ({ ms, killed: false });
const killed = (ms: number) => ({ ms, killed: true });
const took = (...all: number[]): Saves => all.map(ended);
const grew: Progress = { state: "above", value: 7 };

describe("the margin that is sized from measured saves", () => {
  test.each<[string, Saves, number | null, number]>([
    ["is the default until something was measured", NO_SAVES, 4 * HOUR, 60_000],
    ["is the default without a limit, too", NO_SAVES, null, 60_000],
    ["is never above half of the limit", NO_SAVES, 90_000, 45_000],
    ["follows the longest save, half as much again, and its reserve of 15 %", took(8_500, 17_000, 1_000), HOUR, 30_000],
    ["keeps a reserve of 10 s at most", took(100_000), 4 * HOUR, 160_000],
    ["keeps a reserve of 0.3 s at least", took(1_000), 12_000, 1_800],
    ["is 5 s at least", took(200), HOUR, 5_000],
    ["is a tenth of a short limit at least", took(0), 20_000, 2_000],
    ["of a save longer than half of the limit, is half of it", took(50_000), 60_000, 30_000],
    ["is twice what did not suffice", [killed(17_000)], HOUR, 40_000],
    ["is twice what did not suffice, where saves were short before", [ended(100), killed(8_500)], HOUR, 20_000],
    ["is twice what did not suffice, where one was short after it", [killed(8_500), ended(100)], HOUR, 20_000],
    ["is what was measured where that is more", [killed(9_000), ended(40_000)], HOUR, 70_000],
    ["is what was measured where that was longer than what did not suffice", [killed(20), ended(20)], HOUR, 5_000],
  ])("%s", (_, saves, limitMs, marginMs) => {
    expect(autoMarginMs(saves, limitMs)).toBe(marginMs);
  });

  test("leaves half as much again as the longest save needed, wherever the limit allows it", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 600_000 }), { minLength: 1, maxLength: 30 }), (all) => {
        const saves = all.reduce((now, ms) => noteSaving(now, ended(ms), grew), NO_SAVES);
        const marginMs = autoMarginMs(saves, 10 * HOUR);
        const longestMs = Math.max(...all.slice(-20));
        expect(marginMs - reserveMs(marginMs)).toBeGreaterThanOrEqual(1.5 * longestMs - 1);
        expect(marginMs).toBeLessThanOrEqual(Math.max(5_000, 1.5 * longestMs + 10_000, 1.5 * (longestMs / 0.85)));
      }),
    );
  });
});

describe("what is carried on", () => {
  test("doubles with each attempt that is killed, until one ends by itself", () => {
    let saves = NO_SAVES;
    const margins: number[] = [];
    for (const saving of [killed(8_500), killed(17_000), ended(25_000)]) {
      const marginMs = margins.length === 0 ? 10_000 : autoMarginMs(saves, HOUR);
      margins.push(marginMs);
      saves = noteSaving(saves, saving, grew);
    }
    expect(margins).toEqual([10_000, 20_000, 40_000]);
    expect(autoMarginMs(saves, HOUR)).toBe(Math.round((1.5 * 25_000) / 0.85));
  });

  test("a quick end after a kill (a drain just after a start) does not make the long save forgotten", () => {
    const saves = [killed(51_000), ended(2_000)].reduce((now, one) => noteSaving(now, one, grew), NO_SAVES);
    expect(autoMarginMs(saves, 4 * HOUR)).toBe(112_000);
    expect(savesText(saves)).toBe("1 measured save, the longest 2.0s; 51.0s did not suffice");
    // Until it is none of the last twenty, or one that took longer was measured.
    const aged = Array.from({ length: 19 }, () => ended(2_000)).reduce((now, one) => noteSaving(now, one, grew), saves);
    expect(autoMarginMs(aged, 4 * HOUR)).toBe(5_000);
    expect(savesText(noteSaving(saves, ended(52_000), grew))).toBe("2 measured saves, the longest 52.0s");
  });

  test.each<[Progress, number]>([
    [grew, 1],
    [{ state: "not-configured" }, 1],
    [{ state: "invalid", why: "it is empty" }, 1],
    [{ state: "not-above", value: 7 }, 0],
    [{ state: "absent" }, 0],
  ])("an end with %j is so many saves: %i; a kill counts with any", (progress, count) => {
    expect(noteSaving(NO_SAVES, ended(100), progress)).toHaveLength(count);
    expect(noteSaving(NO_SAVES, killed(100), progress)).toEqual([killed(100)]);
  });
});

describe("what an attempt tells of its margin", () => {
  const go = { what: "start", marginMs: 7_000 } as GoStart;
  const timedOut = { kind: "over", state: "TIMEOUT" } as Seen;
  const lived = { ms: 900, killed: false };
  const died = { ms: 6_000, killed: true };
  const told = (exited: Partial<Exited> | null, seen: Seen | null = null, of: GoStart = go) =>
    measuredSaving({ go: of, exited: exited === null ? null : ({ by: "body", ...exited } as Exited) }, seen);

  test.each<[string, ReturnType<typeof told>, { readonly ms: number; readonly killed: boolean } | null]>([
    ["an end in time after the window's TERM", told({ endedBy: "window", saving: lived }), lived],
    ["an end in time after a cancel's", told({ endedBy: "cancel", saving: lived }), lived],
    ["a kill at the end of the window", told({ endedBy: "window", saving: died }), died],
    ["a kill at the end of a drain", told({ endedBy: "drain", saving: died }), died],
    ["a kill by a cancel, which has its own time", told({ endedBy: "cancel", saving: died }), null],
    ["an end without a TERM of ours", told({ endedBy: "application", saving: null }), null],
    ["a testimony of a version that measured nothing", told({ endedBy: "window" }), null],
    [
      "a gate of a version that did not write its margin",
      told({ saving: lived }, null, { what: "start" } as GoStart),
      null,
    ],
    ["a time-out without a testimony", told(null, timedOut), { ms: 7_000, killed: true }],
    ["a time-out of which the guardian testifies", told({ by: "guardian" }, timedOut), { ms: 7_000, killed: true }],
    ["a lost node", told(null, { kind: "over", state: "NODE_FAIL" } as Seen), null],
  ])("%s", (_, measured, expected) => {
    expect(measured).toEqual(expected);
  });
});
