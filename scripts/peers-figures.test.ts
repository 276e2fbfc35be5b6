import { expect, test } from "vitest";
import { type PeersResults, peersFigures, peersTable } from "../benchmarks/peers-figures.ts";

const machine = {
  date: "2026-01-02",
  node: "v22.1.0",
  processors: "2 × X",
  cores: 2,
  loadBefore: 0.25,
  load: 3.1,
};
const command = "`npm run bench -- peers --write-docs --quick`";
const titles = new Map([
  ["lockstep", "Lockstep 1"],
  ["contour", "Contour 2"],
] as const);

const loss = (failed: number) => ({
  sent: 2_000,
  failed,
  failedBy: failed > 0 ? { 502: failed } : {},
});

const results: PeersResults = {
  lag: {
    lags: {
      lockstep: { leaveMs: [-7, 0, 2], joinMs: [50] },
      contour: { leaveMs: [6, 30, 38], joinMs: [45] },
    },
    publishedMs: [3, 4, 5],
  },
  rollout: {
    lockstep: { get: loss(0), post: loss(0), long: loss(1) },
    contour: { get: loss(1_234), post: loss(0), long: loss(0) },
  },
  silent: undefined,
  lateLag: undefined,
  lateRollout: undefined,
  routes: undefined,
  cost: {
    lockstep: { megabytes: 114.4, processorPercent: 5 },
    contour: { megabytes: 804.6, processorPercent: 4 },
  },
  manyCost: undefined,
};

test("the table has a column for each ingress, and says where one is equal or ahead", () => {
  expect(peersTable(results, titles, { command, machine })).toBe(`|  | Lockstep 1 | Contour 2 |
| --- | --- | --- |
| removal of a pod, ms: p50 / p95 / max | 0 / 2 / 2 | 30 / 38 / 38 |
| addition of a pod, ms: p50 / p95 / max | 50 / 50 / 50 | 45 / 45 / 45 |
| failed in rolling restarts, requests: GET / POST / of 3 s | 0 / 0 / 1 | 1,234 / 0 / 0 |
| memory at 1,000 routes, MB | 114 | 805 |
| processor at 1,000 routes, % of a core | 5 | 4 |

Contour 2 equals Lockstep in: addition of a pod.

Contour 2 is ahead of Lockstep in: processor at 1,000 routes.

\`npm run bench -- peers --write-docs --quick\`, 2026-01-02, Node v22.1.0, 2 × X, load average 0.3 before and 3.1 after.
`);
});

test("each measure of each ingress is a figure, and so is one that is not there", () => {
  const figures = peersFigures(results, titles, new Map([["Traefik 3", "no Go"]]));
  expect(figures["leaveP95MsContour"]).toEqual({
    value: 38,
    unit: "ms",
    note: "from the watch event to the last (first) request of 200/s that the pod answered, 3 changes",
    place: { row: "removal of a pod, p95", column: "Contour 2" },
  });
  expect(figures["failedGetContour"]?.note).toBe("of 2000, 502: 1234");
  expect(figures["slicesMs"]?.value).toBe(4);
  expect(figures["Traefik 3"]).toEqual({ value: Number.NaN, unit: "", note: "no Go" });
});
