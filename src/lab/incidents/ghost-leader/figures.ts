// The findings of `ghost-leader`: figures beside the write-up, the effect on statuses, and the assumptions.
// Pure, apart from the watches that it reads.
import type { Expectation, Figure } from "../figure.ts";
import type { IncidentFindings, Measure } from "../incident.ts";
import type { LockWatch } from "./lock-watch.ts";
import type { NamedGhost } from "./play.ts";
import type { GhostSettings } from "./settings.ts";
import type { StatusWatch } from "./status-watch.ts";

/** A figure that only repeats an input names that input. */
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
      text: "longest time between two renewals of the ghost",
      unit: "ms",
      measured: gaps.length === 0 ? undefined : Math.max(...gaps),
      // client-go renews each retry period, a quarter of the lease here, and gives up after the
      // renew deadline, which is half of it.
      expected: [writeUp("renewTime keeps advancing", electionTtlMs / 4, electionTtlMs / 2)],
    },
    {
      id: "pods-of-holder",
      text: "pods with the holder's name",
      unit: "count",
      measured: held.podsOfHolder,
      expected: [writeUp("in no pod list", 0, 0)],
    },
    {
      id: "believers",
      text: "live replicas whose log names the ghost as leader",
      unit: "share",
      measured: shareOf(held.believers, held.replicas),
      expected: [writeUp("all of them", 1, 1)],
    },
    {
      id: "statuses-empty",
      text: "Ingresses with an empty status",
      unit: "share",
      measured: shareOf(held.empty, held.total),
      expected: [writeUp("every Ingress", 1, 1)],
      isHeadline: true,
    },
    {
      id: "statuses-empty-after-restart",
      text: "Ingresses with an empty status after a restart of every pod",
      unit: "share",
      measured: shareOf(afterRestart.empty, afterRestart.total),
      expected: [writeUp("no help", 1, 1)],
    },
    {
      id: "requests-answered",
      text: "requests answered by the live replicas",
      unit: "share",
      measured: shareOf(held.answered, held.requests),
      expected: [writeUp("traffic works", 1, 1)],
    },
  ];
}

/** How late the play sees that the ghost no longer leads. */
const lookMs = 200;

export function fixFigures(
  { fixed, statuses, endedAtMs }: GhostMeasured,
  { electionTtlMs, statusUpdateIntervalMs }: GhostSettings,
): readonly Figure[] {
  if (fixed === undefined) return [];
  const { stock } = statuses;
  const { editedAtMs, stoppedAtMs, displacedMs, triesAfterEdit } = fixed;
  const since = (atMs: number | undefined) => (atMs === undefined ? undefined : atMs - editedAtMs);
  return [
    {
      id: "filled-after-edit",
      text: "time from the edit until every status is filled",
      unit: "ms",
      measured: since(stock.firstRightAfter(editedAtMs)),
      expected: [writeUp("at the next status sync", 0, statusUpdateIntervalMs)],
      isHeadline: true,
    },
    {
      id: "filled-for-good-after-edit",
      text: "time from the edit until the ghost empties no status again",
      unit: "ms",
      measured: since(stock.rightSince(stoppedAtMs)),
      expected: [],
    },
    {
      id: "displaced-leads-on",
      text: "time that the ghost still acts as leader after the edit",
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
      text: "failed tries of the ghost to get the lock back",
      unit: "count",
      measured: triesAfterEdit,
      expected: [],
    },
    {
      id: "wrong-after-clean-stop",
      text: "time with empty statuses after the clean stop of the ghost",
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

export function ghostFindings(
  measured: GhostMeasured,
  settings: GhostSettings,
): Omit<IncidentFindings, "timeline"> {
  const { statuses } = measured;
  const series = (["stock", "lockstep"] as const).map((side) => ({
    id: `statuses-right-${side}`,
    text: "Ingresses with the right status",
    unit: "count" as const,
    side,
    points: statuses[side].points,
  }));
  return {
    figures: [...heldFigures(measured, settings), ...fixFigures(measured, settings)],
    measures: measuresOf(measured, settings),
    series,
    fitted: [
      `a lease of ${settings.electionTtlMs / 1_000} s, the default of the ingress controller`,
      `${settings.formerTransitions} earlier changes of the lock's holder, which the record keeps`,
      `${settings.replicas} replicas and ${settings.ingresses} Ingresses per ingress class`,
      "the ghost has an older revision, so its labels match no pod; the report shows the empty " +
        "statuses, but not the reason",
    ],
  };
}

function measuresOf(measured: GhostMeasured, settings: GhostSettings): readonly Measure[] {
  const { ghosts, releasedAtMs, endedAtMs, statuses, locks, named } = measured;
  const wrong = (status: StatusWatch) => status.wrongMs(releasedAtMs, endedAtMs);
  const namedMs = ({ identity, goneAtMs }: Ghost): number | undefined => {
    const first = named.find(({ report }) => report.holder === identity);
    return first && first.atMs - goneAtMs;
  };
  const { leaseDurationMs } = settings.lockstepTimes;
  const { identity, goneAtMs } = ghosts.lockstep;
  const leftAtMs = locks.lockstep.leftBy(identity, goneAtMs);
  const deposedMs = leftAtMs === undefined ? undefined : leftAtMs - goneAtMs;
  const lockstepWrongMs = wrong(statuses.lockstep);
  return [
    measure("status-wrong", "time with wrong statuses", {
      stock: wrong(statuses.stock),
      lockstep: lockstepWrongMs,
      goal: "at most the time to name and depose a ghost",
      held: lockstepWrongMs <= slowestNaming * leaseDurationMs,
      isHeadline: true,
    }),
    measure("ghost-named", "time until Lockstep names the ghost on its own lock", {
      stock: undefined,
      lockstep: namedMs(ghosts.lockstep),
      goal: "before two lease durations",
      held: isWithin(namedMs(ghosts.lockstep), slowestNaming * leaseDurationMs),
    }),
    measure("stock-ghost-named", "time until Lockstep names the ghost of stock", {
      stock: undefined,
      lockstep: namedMs(ghosts.stock),
      goal: "before two lease durations",
      held: isWithin(namedMs(ghosts.stock), slowestNaming * settings.electionTtlMs),
    }),
    measure("ghost-deposed", "time until a pod that exists leads", {
      stock: undefined,
      lockstep: deposedMs,
      goal: settings.deposeGhosts ? "before three lease durations" : undefined,
      held: !settings.deposeGhosts || isWithin(deposedMs, 3 * leaseDurationMs),
    }),
  ];
}

/** See `ghost-check.ts`: a ghost that renews in time is named within so many lease durations. */
const slowestNaming = 2;

function isWithin(ms: number | undefined, limitMs: number): boolean {
  return ms !== undefined && ms <= limitMs;
}

function measure(
  id: string,
  text: string,
  fields: Pick<Measure, "stock" | "lockstep" | "goal" | "held" | "isHeadline">,
): Measure {
  return { id, text, unit: "ms", ...fields };
}

/** A holder of a lock that renews it and whose pod does not exist. */
export interface Ghost {
  readonly identity: string;
  /** When its pod was deleted from the API. */
  readonly goneAtMs: number;
}

export interface Ghosts {
  readonly stock: Ghost;
  readonly lockstep: Ghost;
  /** The machines they run on. */
  readonly nodes: ReadonlySet<string>;
}

export interface GhostLook {
  readonly atMs: number;
  readonly empty: number;
  readonly total: number;
  /** Pods with the holder's name, in any namespace. */
  readonly podsOfHolder: number;
  /** Live replicas, and those whose log names the ghost as leader. */
  readonly replicas: number;
  readonly believers: number;
  readonly requests: number;
  readonly answered: number;
}

export interface GhostRepair {
  readonly editedAtMs: number;
  /** When the removed machines were stopped. */
  readonly stoppedAtMs: number;
  /** For how long after the edit the ghost still acted as the leader. */
  readonly displacedMs: number | undefined;
  /** How often it tried to get the lock back until its machine was stopped. */
  readonly triesAfterEdit: number;
}

export interface GhostMeasured {
  readonly ghosts: Ghosts;
  readonly releasedAtMs: number;
  readonly endedAtMs: number;
  readonly held: GhostLook;
  readonly afterRestart: GhostLook;
  readonly fixed: GhostRepair | undefined;
  readonly named: readonly NamedGhost[];
  readonly statuses: { readonly stock: StatusWatch; readonly lockstep: StatusWatch };
  readonly locks: { readonly stock: LockWatch; readonly lockstep: LockWatch };
}
