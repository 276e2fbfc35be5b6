import { expect, test } from "vitest";
import { at } from "../../tests/cli/watched-changes.ts";
import { RecentLags } from "../timeline/lag-figures.ts";
import type { Cluster, Finding, LagRow } from "./api.ts";
import type { LatePlace } from "./hop-lags.ts";
import { type Judged, verdictOf } from "./verdict.ts";

function place(fields: Partial<LatePlace> & { readonly lagMs?: number }): LatePlace {
  const { lagMs, ...rest } = fields;
  const recent = new RecentLags(2);
  if (lagMs !== undefined) recent.add(lagMs, at(0));
  return {
    hop: "published",
    kind: "",
    direction: "leave",
    cluster: "alpha",
    recent: recent.at(at(0)),
    oldestPendingMs: null,
    ...rest,
  };
}

const cluster: Cluster = {
  name: "alpha",
  roles: ["business"],
  state: "watching",
  since: null,
  detail: null,
  version: null,
  apiServers: [],
  watches: [],
  doubts: [],
};
const row: LagRow = {
  hop: "published",
  kind: "",
  direction: "leave",
  count: 5,
  p50Ms: 200,
  recentMs: null,
  p99Ms: null,
  maxMs: 340,
  oldestPendingMs: null,
  pending: 0,
};
const finding: Finding = {
  rule: "client-throttling",
  severity: "critical",
  confidence: "certain: two sources",
  hop: "published",
  cause: "The controller manager may send 20 requests a second.",
  evidence: [],
  fix: { component: "", change: "", reason: "", effect: null },
  affected: "All versions, current ones included.",
  page: "docs/causes/README.md#client-throttling",
  missing: [],
  cluster: "alpha",
  since: 0,
  consequences: [],
};
const judged: Judged = {
  clusters: [cluster],
  places: [],
  lags: [],
  requests: [],
  findings: [],
  slowMs: 2_000,
};
const lost = { side: "stock" as const, requests: 900, lost: 12, sentToDead: null };
const own = place({ hop: "routed", kind: "lockstep", lagMs: 12 });

test.each<[string, Partial<Judged>, string]>([
  ["unknown", { clusters: [] }, "No cluster is watched yet."],
  [
    "unknown",
    { clusters: [{ ...cluster, state: "unreachable", detail: "connection refused" }] },
    "No cluster is watched at present: alpha is unreachable: connection refused",
  ],
  ["ok", {}, "No change yet. Every source is read."],
  [
    "ok",
    { lags: [row] },
    "No hop is late. Every change of the last hour was visible within 340 ms.",
  ],
  [
    "ok",
    { lags: [{ ...row, maxMs: 31_000 }] },
    "No change in the last 2 minutes. The slowest change of the last hour took 31 s.",
  ],
  [
    "late",
    { places: [place({ lagMs: 29_600, oldestPendingMs: 31_000 }), own] },
    "Removed pods leave the EndpointSlices late: after 29.6 s (median of the last 2 minutes); the oldest one has waited for 31 s. The Lockstep proxies stopped using them after 12 ms.",
  ],
  [
    "late",
    {
      places: [place({ lagMs: 5_000, direction: "join" })],
      findings: [{ ...finding, hop: "routed", cause: "Other." }, finding],
      requests: [lost],
    },
    "Added pods were listed in the EndpointSlices late: after 5 s (median of the last 2 minutes). None waits now. Stock (model) lost 12 of 900 requests, Lockstep 0. Cause: The controller manager may send 20 requests a second.",
  ],
  [
    "late",
    {
      clusters: [cluster, { ...cluster, name: "beta" }],
      places: [place({ lagMs: 40 }), place({ lagMs: 7_000, cluster: "beta" })],
      findings: [finding],
    },
    "Removed pods of cluster beta left the EndpointSlices late: after 7 s (median of the last 2 minutes). None waits now.",
  ],
  // Copies wait at present; the EndpointSlices were late before.
  [
    "late",
    { places: [place({ lagMs: 9_000 }), place({ hop: "synced", oldestPendingMs: 3_000 })] },
    "Removed pods leave the copies late: the oldest one has waited for 3.0 s.",
  ],
  // A removal costs requests, an addition that waits a little longer does not.
  [
    "late",
    {
      places: [
        place({ direction: "join", oldestPendingMs: 24_900 }),
        place({ oldestPendingMs: 24_000 }),
      ],
    },
    "Removed pods leave the EndpointSlices late: the oldest one has waited for 24 s.",
  ],
  [
    "ok",
    {
      lags: [{ ...row, maxMs: 31_000 }],
      places: [place({ lagMs: 200 }), place({ hop: "routed", kind: "stock", lagMs: 3_900 })],
    },
    "Only the stock proxies (model) are late at present. The slowest change of the last hour took 31 s.",
  ],
  [
    "ok",
    {
      lags: [{ ...row, maxMs: 31_000 }],
      places: [place({ lagMs: 200 }), place({ hop: "routed", kind: "stock", lagMs: 900 })],
    },
    "No hop is late at present. The slowest change of the last hour took 31 s.",
  ],
  // The model is for comparison: that it is late is no news.
  [
    "ok",
    { places: [place({ hop: "routed", kind: "stock", lagMs: 9_000 })] },
    "No change yet. Every source is read.",
  ],
  [
    "lost",
    { requests: [lost, { ...lost, side: "lockstep", lost: 1 }] },
    "Lockstep lost 1 of 900 requests.",
  ],
])("%s", (level, fields, text) => {
  const verdict = verdictOf({ ...judged, ...fields });
  expect([verdict.level, verdict.text]).toEqual([level, text]);
});

test("a finding gives the confidence and the rule", () => {
  const verdict = verdictOf({ ...judged, places: [place({ lagMs: 5_000 })], findings: [finding] });
  expect(verdict).toMatchObject({
    rule: "client-throttling",
    confidence: "certain: two sources",
    headline:
      "Removed pods left the EndpointSlices late: after 5 s (median of the last 2 minutes). None waits now.",
    late: { hop: "published", kind: "", direction: "leave", cluster: "alpha" },
    cause: "The controller manager may send 20 requests a second.",
  });
});

test("copies can be late because of another cluster, EndpointSlices cannot", () => {
  const findings = [{ ...finding, cluster: "access" }];
  const ruleFor = (hop: LatePlace["hop"]) =>
    verdictOf({ ...judged, places: [place({ hop, lagMs: 5_000 })], findings }).rule;
  expect([ruleFor("published"), ruleFor("synced")]).toEqual([null, "client-throttling"]);
});
