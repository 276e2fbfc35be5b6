// The columns of a journey for queries, taken from the record.
import type { HopRecord, JourneyRecord } from "../timeline/journey-record.ts";
import type { SqlValue } from "./history-database.ts";

/** Adds the journey, or what has become of it since it was added. */
export const upsertSql = `INSERT INTO journeys
    (id, origin_ms, service, cluster, direction, outcome, late_ms, was_stuck, record)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (id) DO UPDATE SET
    origin_ms = excluded.origin_ms, service = excluded.service, cluster = excluded.cluster,
    direction = excluded.direction, outcome = excluded.outcome, late_ms = excluded.late_ms,
    was_stuck = max(was_stuck, excluded.was_stuck), record = excluded.record`;

/** In the order of the statement's places; `json` is the record as text. */
export function journeyRow(record: JourneyRecord, json: string): readonly SqlValue[] {
  const { id, originMs, service, cluster, direction, outcome, hops } = record;
  const isStuck = hops.some(({ state }) => state === "stuck");
  const lateMs = Math.max(0, ...hops.map(lateness));
  return [id, originMs, service, cluster, direction, outcome, lateMs, isStuck ? 1 : 0, json];
}

/** Requests depend on clients: the time of the first or last one is no lag of the system. */
function lateness({ hop, state, lagMs }: HopRecord): number {
  if (hop === "traffic") return 0;
  return state === "stuck" ? Number.POSITIVE_INFINITY : (lagMs ?? 0);
}
