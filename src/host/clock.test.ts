import { expect, it } from "vitest";
import { realClock } from "./clock.ts";

it("sleeps at least as long as asked", async () => {
  const before = realClock.monotonicMs();
  await realClock.sleep(30);
  expect(realClock.monotonicMs() - before).toBeGreaterThanOrEqual(30);
});

it("wakes up when aborted, also before it began", async () => {
  const abort = new AbortController();
  const before = realClock.monotonicMs();
  const sleeping = realClock.sleep(60_000, abort.signal);
  abort.abort();
  await sleeping;
  await realClock.sleep(60_000, abort.signal);
  expect(realClock.monotonicMs() - before).toBeLessThan(5_000);
});
