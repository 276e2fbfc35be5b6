// The queries of a history, as one parameterised statement. Every form of it walks an index; a test
// reads the plans.
import type { WallMs } from "../environment/clock.ts";
import type { Direction } from "../timeline/witness.ts";
import type { SqlValue } from "./history-database.ts";

export interface HistoryQuery {
  /** By origin, inclusive. */
  readonly since?: WallMs;
  /** By origin, exclusive. */
  readonly until?: WallMs;
  /** `namespace/name`. */
  readonly service?: string;
  readonly cluster?: string;
  readonly direction?: Direction;
  /** Stuck at a hop, at some time or still. */
  readonly stuck?: boolean;
  /** Some hop showed it so late or later, or has not yet although its budget is spent. */
  readonly slowerThanMs?: number;
}

export type HistoryOrder = "oldest first" | "latest first" | "slowest first";

/** The journey after which a page begins: its place in the order, and its row. */
export interface PagePlace {
  readonly value: number;
  readonly row: number;
}

export interface HistoryPage {
  readonly order: HistoryOrder;
  readonly after?: PagePlace;
  readonly limit: number;
}

export interface SqlQuery {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * Rows of `place`, `row` and `record`, which is given as bytes: libsql ends the whole process at a
 * text that is not UTF-8, and in a damaged file any may be.
 */
export function pageSql(query: HistoryQuery, { order, after, limit }: HistoryPage): SqlQuery {
  const column = order === "slowest first" ? "late_ms" : "origin_ms";
  const [direction, beyond] = order === "oldest first" ? ["ASC", ">"] : ["DESC", "<"];
  const conditions = conditionsOf(after === undefined ? query : withoutStart(query, order));
  if (after !== undefined) {
    const { value, row } = after;
    conditions.push({ sql: `(${column}, rowid) ${beyond} (?, ?)`, values: [value, row] });
  }
  return {
    sql: `SELECT ${column} AS place, rowid AS row, CAST(record AS BLOB) AS record FROM journeys ${whereOf(conditions)}
      ORDER BY ${column} ${direction}, rowid ${direction} LIMIT ?`,
    values: [...conditions.flatMap(({ values }) => values), limit],
  };
}

/** The place after which a page begins says it more narrowly, and a search starts at one bound only. */
function withoutStart(query: HistoryQuery, order: HistoryOrder): HistoryQuery {
  const { since, until, ...rest } = query;
  if (order === "oldest first") return { ...rest, ...(until !== undefined && { until }) };
  if (order === "latest first") return { ...rest, ...(since !== undefined && { since }) };
  return query;
}

function whereOf(conditions: readonly SqlQuery[]): string {
  return conditions.length === 0 ? "" : `WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}`;
}

function conditionsOf(query: HistoryQuery): SqlQuery[] {
  const { since, until, service, cluster, direction, stuck, slowerThanMs } = query;
  const conditions: SqlQuery[] = [];
  const add = (sql: string, value: SqlValue | undefined): void => {
    if (value !== undefined) conditions.push({ sql, values: [value] });
  };
  add("origin_ms >= ?", since);
  add("origin_ms < ?", until);
  add("service = ?", service);
  add("cluster = ?", cluster);
  add("direction = ?", direction);
  add("late_ms >= ?", slowerThanMs);
  // Spelled as in the index of those that were stuck, which is used for nothing else.
  if (stuck === true) conditions.push({ sql: "was_stuck = 1", values: [] });
  return conditions;
}
