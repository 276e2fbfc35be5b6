// What became of all that witnesses and logs have told: each report and each request counts once.
import type { Taken } from "./endpoint-track.ts";
import type { RequestCount } from "./request-owners.ts";

/**
 * `unknown`: of an endpoint that nobody has shown; `dropped`: there was no room for another. Beside
 * the reports, `dismissed`: endpoints that no cluster knew and that had to give up their room.
 */
export type ReportCount = Taken["type"] | "unknown" | "dropped" | "dismissed";

export type ReportCounts = Readonly<Record<ReportCount, number>>;

export type RequestCounts = Readonly<Record<RequestCount, number>>;

export const noReports: ReportCounts = {
  opened: 0,
  matched: 0,
  withdrawn: 0,
  baseline: 0,
  earlier: 0,
  repeated: 0,
  unknown: 0,
  dropped: 0,
  dismissed: 0,
};

export const noRequests: RequestCounts = { joined: 0, left: 0, ordinary: 0, unknown: 0 };
