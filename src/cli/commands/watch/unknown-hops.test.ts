import { expect, test } from "vitest";
import { at, clusterOf } from "../../../../tests/cli/watched-changes.ts";
import type { ClusterState } from "../../../observe/cluster-status.ts";
import { unknownHops } from "./view.ts";

function told(states: Readonly<Record<string, ClusterState>>): Readonly<Record<string, string>> {
  const clusters = Object.entries(states).map(([cluster, state]) => clusterOf(cluster, state));
  const unknown = unknownHops({
    clusters,
    accessClusters: Object.keys(states),
    hasProxies: false,
    hasAccessLogs: false,
  });
  return Object.fromEntries(unknown);
}

const watching = { type: "watching" } as const;
const down = { type: "unreachable", since: at(0), detail: "connection refused" } as const;
const refused = { type: "refused", detail: "Unauthorized" } as const;
const routed = "no proxy given: use --proxy URL";
const traffic = "no access log given: use --access-log FILE";

test("hops of a cluster that is heard are known, however little happens", () => {
  expect(told({ alpha: watching })).toEqual({
    synced: "no copies of endpoints found in alpha",
    routed,
    traffic,
  });
});

test.each([
  ["alpha", { alpha: down }],
  ["alpha, beta", { alpha: down, beta: refused }],
  ["any of 3 clusters", { alpha: down, beta: refused, gamma: down }],
])("where nothing was ever heard of %s its hops are unknown", (names, states) => {
  const unheard = `no data from ${names}`;
  expect(told(states)).toEqual({
    pod: unheard,
    published: unheard,
    synced: unheard,
    routed,
    traffic,
  });
});

test("one of three clusters that is heard makes them known", () => {
  expect(told({ alpha: down, beta: watching, gamma: refused })).toEqual({
    synced: "no copies of endpoints found in any of 3 clusters",
    routed,
    traffic,
  });
});
