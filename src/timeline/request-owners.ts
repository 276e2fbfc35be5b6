// The changes that a request belongs to. A request belongs to the owner of the address at that
// instant. If there was none, it belongs to the last owner, for which it came too late. Two
// services can share a pod; if the log names none, the request counts for both.
import type { MonotonicMs } from "../environment/clock.ts";
import type { Change } from "./change.ts";
import type { Line } from "./line.ts";
import type { Direction } from "./witness.ts";

/** The outcome of a request. */
export type RequestCount =
  /** It was sent to an address that joined, or left, a moment ago. */
  | "joined"
  | "left"
  /** It was sent to an endpoint with which nothing is going on. */
  | "ordinary"
  /** It is not known who had the address, or what became of that is no longer followed. */
  | "unknown";

export type RequestCounts = Readonly<Record<RequestCount, number>>;

export interface RequestOwners {
  readonly type: RequestCount;
  /** The changes that it belongs to; there are some when it joined or left. */
  readonly changes: readonly Change[];
}

/** An endpoint and the change after which the request fell. */
interface Held {
  readonly line: Line;
  readonly change: Change | undefined;
}

/** `lines` are all that may have had the address. */
export function requestOwners(
  lines: readonly Line[],
  at: MonotonicMs,
  stateOf: (line: Line) => Direction,
): RequestOwners {
  const holders: Held[] = [];
  const leavers: Held[] = [];
  for (const line of lines) {
    const change = line.own.findLast(({ originAt }) => originAt <= at);
    if (has(line, change, stateOf)) holders.push({ line, change });
    else if (change !== undefined) leavers.push({ line, change });
  }
  if (holders.length > 0) {
    const changes = pendingOf(ofLatestPod(holders));
    return { type: changes.length > 0 ? "joined" : "ordinary", changes };
  }
  const changes = pendingOf(ofLatestPod(leavers));
  return { type: changes.length > 0 ? "left" : "unknown", changes };
}

/** Before its first known change it was as that one found it. */
function has(line: Line, change: Change | undefined, stateOf: (line: Line) => Direction): boolean {
  if (change !== undefined) return change.direction === "join";
  const [first] = line.own;
  if (first !== undefined) return first.isDisagreement === (first.direction === "join");
  return stateOf(line) === "join";
}

/** Of the pod that came, or went, last: of two that seem to have it, one has left unnoticed. */
function ofLatestPod(all: readonly Held[]): readonly Held[] {
  const latest = all.reduce<Held | undefined>(
    (last, one) => (last === undefined || since(one) > since(last) ? one : last),
    undefined,
  );
  const podUid = latest?.line.endpoint.podUid;
  return all.filter((one) => one === latest || isOfPod(one, podUid));
}

function isOfPod({ line }: Held, podUid: string | undefined): boolean {
  return podUid !== undefined && line.endpoint.podUid === podUid;
}

/** A change that was not observed was before all that were. */
function since({ change }: Held): number {
  return change?.originAt ?? -Infinity;
}

function pendingOf(all: readonly Held[]): readonly Change[] {
  return all.flatMap(({ change }) => (change?.outcome === "pending" ? [change] : []));
}
