/** CPU time by each way of integrating the samples, with the bounds within which the true one lies. */
import type { CpuFigure, CpuFigures } from "../core/index.ts";
import { count, thousands } from "./usage-words.ts";

/** `237,987.9 s`. */
export function secondsText(seconds: number): string {
  const [whole = "", fraction] = seconds.toFixed(1).split(".");
  return `${thousands(BigInt(whole))}.${fraction} s`;
}

const FIGURES: Readonly<Record<CpuFigure["by"], string>> = {
  "mean-span": "mean x span",
  weighted: "each interval weighted",
  counter: "counter, last less first",
};

export function cpuLines(cpu: CpuFigures): readonly string[] {
  const { figures, holes, holesMs, holeMs, longestIntervalMs, partlySampled } = cpu;
  const high = (ms: number | null): string => (ms === null ? "no bound is known" : secondsText(ms / 1000));
  return [
    ...figures.map(
      ({ by, cpuMs, lowCpuMs, highCpuMs }) =>
        `${secondsText(cpuMs / 1000)} by ${FIGURES[by]} (between ${secondsText(lowCpuMs / 1000)} and ${high(highCpuMs)})`,
    ),
    ...(holes === 0
      ? []
      : [
          `${count(holes, "hole")} of more than ${(holeMs / 1000).toFixed(1)} s between two samples, ${(holesMs / 1000).toFixed(1)} s together, the longest ${(longestIntervalMs / 1000).toFixed(1)} s`,
        ]),
    ...(partlySampled === 0
      ? []
      : [`${count(partlySampled, "attempt")} ran on several hosts, of which one was sampled: this is no total`]),
  ];
}
