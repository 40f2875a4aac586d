/** What a job of ours used, in its user's words, before the ledgers. */
import { formatBytes } from "../core/index.ts";
import type { OwnUsage, Sum } from "../usage/index.ts";
import { count, field } from "./usage-words.ts";
import { cpuSpan, span } from "./words.ts";

export function ownLines({ ran, usedCpu, allocatedCpu, waitedMs, ...own }: OwnUsage): readonly string[] {
  const used = usedCpu.from.length === 0 ? "not known" : `${bound(usedCpu)}${cpuSpan(usedCpu.ms) || "0s"}`;
  return [
    field("ran", `${bound(ran)}${span(ran.ms)} in ${count(own.attempts, "attempt")}${missing(ran)}`),
    field("used CPU", `${used}${share(usedCpu, ran)}${missing(usedCpu)}`),
    field(
      "allocated CPU",
      allocatedCpu.from.length === 0
        ? "not known: no attempt tells its CPUs"
        : `${bound(allocatedCpu)}${span(allocatedCpu.ms)}${missing(allocatedCpu)}`,
    ),
    field("waited", span(waitedMs)),
    ...(own.memoryPeakBytes === null
      ? []
      : [field("peak memory", `${formatBytes(own.memoryPeakBytes)} in one attempt`)]),
    ...(own.jobs === 1 ? [] : [field("", `all of this with ${count(own.jobs - 1, "child job")}`)]),
    "",
  ];
}

function bound({ isLowerBound }: Sum): string {
  return isLowerBound ? "≥ " : "";
}

function missing({ missing }: Sum): string {
  return missing.length === 0 ? "" : `, without ${count(missing.length, "attempt")} that tells nothing`;
}

function share(used: Sum, ran: Sum): string {
  return used.from.length === 0 || ran.ms === 0 ? "" : `: ${(used.ms / ran.ms).toFixed(2)} cores while it ran`;
}
