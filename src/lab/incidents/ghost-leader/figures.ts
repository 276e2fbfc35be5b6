// The figures of the incident `ghost-leader` beside those of the write-up. Pure but for the watchers
// that it reads.
import type { Expectation, Figure } from "../figure.ts";
import type { GhostMeasured } from "./ghost-measured.ts";
import type { GhostSettings } from "./settings.ts";

/** Inputs of the play that come back in the record stand beside the write-up's and name themselves. */
export function heldFigures(
  { ghosts, held, afterRestart, locks }: GhostMeasured,
  { electionTtlMs, formerTransitions }: GhostSettings,
): readonly Figure[] {
  const { identity, goneAtMs } = ghosts.stock;
  const renewals = locks.stock.of(identity, goneAtMs, held.atMs);
  const record = renewals.at(-1)?.record;
  const gaps = renewals.slice(1).map(({ atMs }, index) => atMs - (renewals[index]?.atMs ?? 0));
  return [
    {
      id: "lease-duration",
      text: "lease duration in the record",
      unit: "ms",
      measured: record?.leaseDurationMs,
      expected: [{ source: "write-up", text: "30 s" }],
      fittedBy: `--election-ttl=${electionTtlMs / 1_000}s`,
    },
    {
      id: "leader-transitions",
      text: "leaderTransitions in the record",
      unit: "count",
      measured: record?.transitions,
      expected: [{ source: "write-up", text: "11" }],
      fittedBy: `${formerTransitions} earlier transitions`,
    },
    {
      id: "renew-gap",
      text: "longest time between two renewals by the ghost",
      unit: "ms",
      measured: gaps.length === 0 ? undefined : Math.max(...gaps),
      // client-go renews each retry period, a quarter of the lease here, and gives up after the
      // renew deadline, which is half of it.
      expected: [writeUp("renewTime keeps advancing", electionTtlMs / 4, electionTtlMs / 2)],
    },
    {
      id: "pods-of-holder",
      text: "pods that have the holder's name",
      unit: "count",
      measured: held.podsOfHolder,
      expected: [writeUp("in no pod list", 0, 0)],
    },
    {
      id: "believers",
      text: "live replicas whose log says that the ghost leads",
      unit: "share",
      measured: shareOf(held.believers, held.replicas),
      expected: [writeUp("all of them", 1, 1)],
    },
    {
      id: "statuses-empty",
      text: "Ingresses whose status is empty meanwhile",
      unit: "share",
      measured: shareOf(held.empty, held.total),
      expected: [writeUp("every Ingress", 1, 1)],
      isHeadline: true,
    },
    {
      id: "statuses-empty-after-restart",
      text: "the same after a restart of every pod",
      unit: "share",
      measured: shareOf(afterRestart.empty, afterRestart.total),
      expected: [writeUp("of no use", 1, 1)],
    },
    {
      id: "requests-answered",
      text: "requests that the live replicas answer meanwhile",
      unit: "share",
      measured: shareOf(held.answered, held.requests),
      expected: [writeUp("access is fine", 1, 1)],
    },
  ];
}

/** How long after it happened the play sees that the ghost has ceased to lead. */
const lookMs = 200;

export function fixFigures(
  { fixed, boards, endedAtMs }: GhostMeasured,
  { electionTtlMs, statusUpdateIntervalMs }: GhostSettings,
): readonly Figure[] {
  if (fixed === undefined) return [];
  const { stock } = boards;
  const { editedAtMs, stoppedAtMs, displacedMs, triesAfterEdit } = fixed;
  const since = (atMs: number | undefined) => (atMs === undefined ? undefined : atMs - editedAtMs);
  return [
    {
      id: "filled-after-edit",
      text: "from the edit until every status is filled",
      unit: "ms",
      measured: since(stock.firstRightAfter(editedAtMs)),
      expected: [writeUp("at the next status sync", 0, statusUpdateIntervalMs)],
      isHeadline: true,
    },
    {
      id: "filled-for-good-after-edit",
      text: "from the edit until the ghost empties none again",
      unit: "ms",
      measured: since(stock.rightSince(stoppedAtMs)),
      expected: [],
    },
    {
      id: "displaced-leads-on",
      text: "how long the displaced ghost acts as leader after the edit",
      unit: "ms",
      measured: displacedMs,
      expected: [
        {
          source: "real binaries",
          text: "until its renew deadline",
          // A round of renewal begins a retry period after the last success, and lasts so long.
          from: electionTtlMs / 2,
          to: electionTtlMs / 4 + electionTtlMs / 2 + lookMs,
        },
      ],
    },
    {
      id: "ghost-tries",
      text: "the ghost's vain tries for the lock until its machine is stopped",
      unit: "count",
      measured: triesAfterEdit,
      expected: [],
    },
    {
      id: "wrong-after-clean-stop",
      text: "statuses empty once more, because the ghost ends cleanly and empties them",
      unit: "ms",
      measured: stock.wrongMs(stoppedAtMs, endedAtMs),
      expected: [],
    },
  ];
}

function writeUp(text: string, from: number, to: number): Expectation {
  return { source: "write-up", text, from, to };
}

function shareOf(part: number, whole: number): number | undefined {
  return whole === 0 ? undefined : part / whole;
}
