/**
 * Proof that an attempt is over (protocol §2). The answer is a proof, a question to the scheduler, or *wait*; there is no
 * fourth. Nothing here guesses: what can't be shown stays unproved until a person says so.
 */
import type { Timing } from "./job-spec.ts";
import type { AttemptRecords, Proof } from "./records.ts";
import type { Seen } from "./seen.ts";

/** Since when, on the watcher's own monotonic clock, the same doubtful answer stands, and how often it was given. */
export interface Doubt {
  readonly sinceMs: number;
  readonly lastMs: number;
  readonly count: number;
}

/** What a watcher remembers of one attempt between its looks. */
export interface Watch {
  readonly doubt: Doubt | null;
  /** Since when the heartbeat has not moved, as watched; null: not watched. */
  readonly silentSinceMs: number | null;
  /** Since when all nodes of a doubtful end answer again, as watched; null: they don't. */
  readonly answeringSinceMs: number | null;
}

export type ProofAnswer =
  | { readonly kind: "proved"; readonly proof: Proof }
  | { readonly kind: "ask" }
  /** `lookAgainMs`: when another look can change the answer. */
  | { readonly kind: "wait"; readonly why: string; readonly lookAgainMs: number | null }
  /** A to E can never come: only a person's word (F) helps. */
  | { readonly kind: "unprovable"; readonly why: string };

export interface ProofInput {
  readonly attempt: AttemptRecords;
  /** null: the scheduler has not been asked in this round. */
  readonly seen: Seen | null;
  readonly watch: Watch | null;
  /** A person has said on file that this attempt is over. */
  readonly word: string | null;
  readonly timing: Timing;
  readonly nowMonotonicMs: number;
}

export function prove(input: ProofInput): ProofAnswer {
  const { attempt, seen, word } = input;
  const proved = (by: Proof["by"], text: string): ProofAnswer => ({
    kind: "proved",
    proof: { attempt: attempt.number, by, seen: text },
  });
  if (attempt.go?.what === "withdrawn") return proved("A", `go says withdrawn (${attempt.go.reason})`);
  const { exited, started } = attempt;
  const severalNodes = started !== null && started.nodes.length > 1;
  if (exited !== null && exited.survivors.length === 0 && !severalNodes)
    return proved("B", `exited by the ${exited.by}, no survivors`);
  if (word !== null) return proved("F", word);
  if (seen === null) return { kind: "ask" };
  switch (seen.kind) {
    case "unreachable":
      return { kind: "wait", why: `the scheduler can't be asked (${seen.error})`, lookAgainMs: input.timing.pollMs };
    case "active":
      return { kind: "wait", why: `attempt ${attempt.number} is ${seen.phase}`, lookAgainMs: input.timing.pollMs };
    case "absent":
      return doubtful(input, proved, null);
    case "over":
      if (seen.proof === "E") return proved("E", seen.text);
      if (seen.proof === "D") return doubtful(input, proved, seen.nodes);
      if (!seen.final || seen.proof === null)
        return { kind: "wait", why: `state ${seen.state} is not final yet`, lookAgainMs: input.timing.pollMs };
      if (started === null || started.tracking === "cgroup") return proved("C", seen.text);
      if (seen.trustedBy !== undefined) return proved("C", `${seen.text}, trusted (${seen.trustedBy})`);
      return {
        kind: "unprovable",
        why: `attempt ${attempt.number} ended as ${seen.state} without its own testimony, and this cluster doesn't track processes by cgroup`,
      };
  }
}

/** D: the same doubtful answer twice, and either the nodes have booted since or cgroup tracking (or the site's trust) and enough silence. */
function doubtful(
  input: ProofInput,
  proved: (by: Proof["by"], text: string) => ProofAnswer,
  nodes: "rebooted" | "answering" | "silent" | null,
): ProofAnswer {
  const { attempt, watch, timing, nowMonotonicMs, seen } = input;
  const what = seen?.kind === "over" ? seen.text : "unknown to a controller that answers";
  const doubt = watch?.doubt ?? null;
  const stands = doubt === null ? 0 : doubt.lastMs - doubt.sinceMs;
  const apartMs = apartForSure(timing);
  if (doubt === null || doubt.count < 2 || stands < apartMs)
    return {
      kind: "wait",
      why: `${what}: must be seen twice, ${timing.doubtfulTwiceMs / 1000} s apart`,
      lookAgainMs: Math.max(1, apartMs - stands),
    };
  if (nodes === "rebooted") return proved("D", `${what}, all nodes booted since`);
  const trusted = (seen?.kind === "over" || seen?.kind === "absent") && seen.trustedBy !== undefined;
  if (attempt.started !== null && attempt.started.tracking !== "cgroup" && !trusted)
    return { kind: "unprovable", why: `${what}, and this cluster doesn't track processes by cgroup` };
  const answeringMs = watch?.answeringSinceMs == null ? 0 : nowMonotonicMs - watch.answeringSinceMs;
  if (nodes === "answering" && answeringMs >= timing.nodesBackMs)
    return proved("D", `${what}, nodes answer again for ${Math.round(answeringMs / 1000)} s`);
  const silentMs = watch?.silentSinceMs == null ? 0 : nowMonotonicMs - watch.silentSinceMs;
  if (silentMs >= timing.heartbeatSilentMs)
    return proved("D", `${what}, heartbeat silent for ${Math.round(silentMs / 1000)} s`);
  return {
    kind: "wait",
    why: `${what}: waiting for its nodes or for ${timing.heartbeatSilentMs / 1000} s without a heartbeat`,
    lookAgainMs: Math.max(1, Math.min(timing.heartbeatSilentMs - silentMs, timing.pollMs)),
  };
}

/** Answers may be as old as one poll: looks this far apart stand for answers `doubtfulTwiceMs` apart. */
export function apartForSure(timing: Timing): number {
  return timing.doubtfulTwiceMs + timing.pollMs;
}

/** Whether an answer counts as doubtful: answers of this kind count as the same, whoever gave them. */
export function isDoubtful(seen: Seen): boolean {
  return seen.kind === "absent" || (seen.kind === "over" && seen.proof === "D");
}

/** Notes a look: the doubt grows while doubtful answers follow each other and is gone with any other answer. */
export function noteDoubt(before: Doubt | null, seen: Seen, nowMonotonicMs: number): Doubt | null {
  // A scheduler that can't be asked has said nothing: it neither feeds nor clears the doubt.
  if (seen.kind === "unreachable") return before;
  if (!isDoubtful(seen)) return null;
  if (before === null) return { sinceMs: nowMonotonicMs, lastMs: nowMonotonicMs, count: 1 };
  return { sinceMs: before.sinceMs, lastMs: nowMonotonicMs, count: before.count + 1 };
}
