// One change as one line, and many alike as one. Pure.

import { visible } from "../../../decide/routing/shown-text.ts";
import type { MonotonicMs, WallMs } from "../../../environment/clock.ts";
import type { Journey } from "../../../timeline/journey.ts";
import { type ObserverRun, wallAt } from "../../../timeline/journey-record.ts";
import type { Direction, Hop } from "../../../timeline/witness.ts";
import type { Paint } from "../../terminal/paint.ts";
import { type ChangeColumns, rowLine } from "./change-columns.ts";
import { type HopCell, hopCell, type Judging, lagCell, unknownSign } from "./hop-cell.ts";
import { lagPath } from "./lag-path.ts";

export interface LineContext extends Judging {
  readonly run: ObserverRun;
  readonly utc: boolean;
  readonly paint: Paint;
}

/** Changes of one service for one cause, shown as one line because there are too many. */
export interface ChangeGroup {
  readonly cluster: string;
  readonly service: string;
  readonly direction: Direction;
  readonly cause: string;
  readonly count: number;
  /** The origin of the first. */
  readonly since: MonotonicMs;
  /** The longest lag of all of them at each hop that showed any. */
  readonly longestMs: ReadonlyMap<Hop, number>;
  /** Hops where some of them may have taken longer than that. */
  readonly atLeast: ReadonlySet<Hop>;
}

export function changeLine(journey: Journey, columns: ChangeColumns, context: LineContext): string {
  const { endpoint, direction, origin } = journey;
  const row = {
    time: timeOfDay(wallAt(origin.at, context.run), context.utc),
    cluster: visible(endpoint.cluster ?? unknownSign),
    subject: signOf(direction) + visible(endpoint.address),
    service: visible(endpoint.service),
    cause: visible(causeText(journey)),
    cells: columns.hops.map((hop) => hopCell(journey, hop, context)),
    path: columns.hasPath ? lagPath(journey, context, context.paint) : "",
  };
  return rowLine(row, columns, context.paint);
}

export function groupLine(
  group: ChangeGroup,
  columns: ChangeColumns,
  context: LineContext,
): string {
  const { cluster, service, direction, cause, count, since, longestMs, atLeast } = group;
  const row = {
    time: timeOfDay(wallAt(since, context.run), context.utc),
    cluster: visible(cluster),
    subject: countText(direction, count),
    service: visible(service),
    cause: visible(cause),
    cells: columns.hops.map((hop): HopCell => {
      const lagMs = longestMs.get(hop);
      if (lagMs === undefined) return { text: unknownSign, tone: "quiet" };
      return lagCell(lagMs, context, { bound: atLeast.has(hop) ? "≥" : "≤" });
    }),
    path: "",
  };
  return rowLine(row, columns, context.paint);
}

/** `−37 endpoints`. */
export function countText(direction: Direction, count: number): string {
  return `${signOf(direction)}${count} ${count === 1 ? "endpoint" : "endpoints"}`;
}

/** An outcome that is not the usual one says more than what made the change. */
export function causeText({ outcome, cause }: Journey): string {
  return outcome === "pending" || outcome === "complete" ? (cause ?? unknownSign) : outcome;
}

function signOf(direction: Direction): string {
  return direction === "join" ? "+" : "−";
}

/** `20:31:07`. */
export function timeOfDay(wall: WallMs, utc: boolean): string {
  const date = new Date(wall);
  const parts = utc
    ? [date.getUTCHours(), date.getUTCMinutes(), date.getUTCSeconds()]
    : [date.getHours(), date.getMinutes(), date.getSeconds()];
  return parts.map((part) => String(part).padStart(2, "0")).join(":");
}
