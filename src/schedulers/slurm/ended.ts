/** What an end that Slurm reports means, and what it proves about the processes (protocol §2, C and D). */
import type { Seen } from "../../core/index.ts";
import {
  type AccountingRun,
  expandNodeList,
  isDoubtfulEnd,
  isFinalRun,
  isReportedEnd,
  meaningfulExit,
  type NodeCondition,
  nodesReportedEnd,
  nodesTogether,
  type QueueRow,
  type State,
} from "../../slurm/index.ts";

export interface EndedJob {
  /** As the controller still shows it; undefined: it has forgotten the job. Never a job that it holds as active. */
  readonly row: QueueRow | undefined;
  /** Its runs in accounting, oldest first; more than one when it was requeued. */
  readonly runs: readonly AccountingRun[];
  /** `none`: the site keeps no accounts, so nothing more will come. */
  readonly accounting: "answered" | "unreachable" | "none";
  /** null: the controller could not be asked. */
  readonly conditions: readonly NodeCondition[] | null;
}

/** Names of the nodes that the job had in any of its runs; empty when it never got any. */
export function nodesOf({ row, runs }: Pick<EndedJob, "row" | "runs">): readonly string[] {
  return [...new Set([row?.nodeList ?? "", ...runs.map((run) => run.nodeList)].flatMap(expandNodeList))];
}

export function seenEnd(job: EndedJob): Seen {
  const { row, runs } = job;
  const run = runs.at(-1);
  const recorded = run !== undefined && isFinalRun(run) ? run : null;
  if (row === undefined && run === undefined) {
    // Forgotten by the controller, and accounting can't be asked: that is not "not there".
    if (job.accounting === "unreachable") return { kind: "unreachable", error: "accounting can't be asked" };
    return { kind: "absent" };
  }
  const state = endState(row, recorded);
  const nodes = nodesOf(job);
  const together =
    nodes.length === 0 ? null : nodesTogether(nodes, job.conditions ?? [], row?.startAtMs ?? run?.startAtMs ?? null);
  const doubt = doubtOf(job, state, nodes, together);
  return {
    kind: "over",
    state: state?.word ?? "LOST",
    ...meaningfulExit(state, row?.exit ?? recorded?.exit ?? null),
    cancelledByUid: state?.cancelledByUid ?? null,
    final: state !== null && (recorded !== null || job.accounting === "none" || isReportedEnd(state.word)),
    proof: doubt === null ? "C" : "D",
    nodes: together,
    text: `${state === null ? "forgotten by the controller, not ended in accounting" : describe(state)}${
      doubt === null ? "" : ` (${doubt})`
    }`,
  };
}

/** The controller's word where it still has one; only accounting names who cancelled. null: nobody knows an end. */
function endState(row: QueueRow | undefined, recorded: AccountingRun | null): State | null {
  if (row === undefined) return recorded?.state ?? null;
  return recorded?.state.word === row.state ? recorded.state : { word: row.state, cancelledByUid: null };
}

/**
 * Why the end does not prove that the processes are gone; null: it does. The controller lets go of a job also when it
 * counts a node as down, whatever state the job ends in, and the processes there live on until the node answers again.
 */
function doubtOf(
  { row, runs }: EndedJob,
  state: State | null,
  nodes: readonly string[],
  together: "rebooted" | "answering" | "silent" | null,
): string | null {
  if (state === null) return "its end was seen by nobody";
  // Without a node there never was a process. Who cancelled it is another question.
  if (nodes.length === 0) return null;
  if (isDoubtfulEnd(state)) return state.word === "CANCELLED" ? "cancelled by nobody named" : "its node was lost";
  if (together === "silent") return "its nodes don't answer the controller";
  // Of a requeued job every run counts: the last one says nothing about the node of an earlier one.
  const placed = runs.filter((run) => expandNodeList(run.nodeList).length > 0);
  const reports = placed.map(nodesReportedEnd);
  if (reports.includes(false)) return "its nodes have not reported the end";
  const last = runs.at(-1);
  if (last !== undefined && isFinalRun(last) && placed.length > 0 && !reports.includes(null)) return null;
  // Nothing on file about the steps. The batch step's own report speaks for its node, but for no other and no earlier run.
  if (isReportedEnd(state.word) && nodes.length === 1 && runs.length <= 1 && (row?.restarts ?? 0) === 0) return null;
  return "its nodes' report is not on file";
}

function describe(state: State): string {
  return state.cancelledByUid === null ? state.word : `${state.word} by uid ${state.cancelledByUid}`;
}
