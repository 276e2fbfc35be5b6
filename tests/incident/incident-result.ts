// A result with everything a result can have, for the tests of those who show results.
import type { IncidentResult } from "../../src/lab/incidents/incident.ts";

export const throttled = {
  summary: "after a release, requests go to pods that are gone",
  cause:
    "the limit of the controller manager is used up, and so changes wait in its queue for long",
  fix: "--kube-api-qps=300 --kube-api-burst=325",
} as const;

export const result: IncidentResult = {
  name: "throttled-controller",
  isFixed: false,
  stage: "virtual",
  seed: 7,
  durationMs: 173_000,
  traceHash: "abc",
  observer: {
    changes: 16,
    missed: 0,
    invented: 0,
    hops: [{ hop: "published", compared: 16, p50Ms: 0.4, p99Ms: 3.25, maxMs: 4 }],
    slowestHop: { observed: "published", ledger: "published" },
  },
  timeline: [
    { atMs: 0, text: "the controllers start" },
    { atMs: 30_000, text: "release 1: every pod of the shop is replaced, and this text is long" },
    { atMs: 90_000, text: "release 1 has reached every replica" },
    { atMs: 90_400, text: "and a moment later the play is over" },
    { stage: 2, atMs: 1_000, text: "on another stage it begins again" },
  ],
  figures: [
    {
      id: "drain",
      text: "drain time",
      unit: "ms",
      measured: 648_000,
      expected: [
        { source: "write-up", text: "10–12 min", from: 600_000, to: 720_000 },
        { source: "real binaries", text: "647–649 s", value: 648_000, from: 647_000, to: 649_000 },
      ],
      isHeadline: true,
    },
    {
      id: "puts",
      text: "PUT requests per resync",
      unit: "requests",
      measured: 11_000,
      expected: [{ source: "write-up", text: "12,954", value: 12_954, from: 12_954, to: 12_954 }],
    },
    { id: "rate", text: "highest rate", unit: "per second", measured: 42.61, expected: [] },
    {
      id: "period",
      text: "between two resyncs",
      unit: "factor",
      measured: 2,
      // Out of its bounds: an input decides nothing, whatever it is.
      expected: [{ source: "write-up", text: "≈ 1.37", from: 1.36, to: 1.38 }],
      fittedBy: "resync factor 2",
    },
    {
      id: "never",
      text: "what was not seen",
      unit: "share",
      measured: undefined,
      expected: [{ source: "write-up", text: "some" }],
    },
  ],
  measures: [
    {
      id: "lag",
      text: "slowest removal at a proxy",
      unit: "ms",
      stock: 74_000,
      lockstep: 0.583,
      goal: "as in quiet times",
      held: true,
      isHeadline: true,
    },
    {
      id: "requests-sent",
      text: "requests sent",
      unit: "requests",
      stock: 1_338,
      lockstep: 1_338,
      goal: undefined,
      held: true,
    },
    {
      id: "requests-lost",
      text: "requests lost",
      unit: "requests",
      stock: 853,
      lockstep: 2,
      goal: "none",
      held: false,
    },
    {
      id: "named",
      text: "until the ghost is named",
      unit: "ms",
      stock: undefined,
      lockstep: 2_000,
      goal: "at once",
      held: true,
    },
  ],
  series: [
    {
      id: "depth",
      text: "keys in the queue",
      unit: "count",
      points: Array.from({ length: 120 }, (_, second) => [second * 1_000, 1_200 - second * 10]),
    },
    {
      id: "lost-stock",
      text: "requests lost",
      unit: "requests",
      side: "stock",
      points: [
        [0, 0],
        [30_000, 400],
        [60_000, 853],
      ],
    },
    {
      id: "lost-ours",
      text: "requests lost",
      unit: "requests",
      side: "lockstep",
      points: [[0, 2]],
    },
    { id: "flaps", text: "flaps", unit: "count", points: [[0, 0]] },
    {
      id: "elsewhere",
      text: "on another stage",
      unit: "count",
      stage: 2,
      points: [
        [0, 1],
        [60_000_000, 2],
      ],
    },
    { id: "published", text: "published", unit: "ms", points: [[31_000, 52_000]] },
    {
      id: "routed-stock",
      text: "routed",
      unit: "ms",
      side: "stock",
      points: [
        [31_000, 53_000],
        [60_000, 9_000],
      ],
    },
    {
      id: "routed-ours",
      text: "routed",
      unit: "ms",
      side: "lockstep",
      points: [
        [31_000, 0.6],
        [60_000, 14],
      ],
    },
  ],
  fitted: ["1,200 services, and this sentence is longer than a line"],
};
