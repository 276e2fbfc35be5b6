import { expect, test } from "vitest";
import { at } from "../../tests/cli/watched-changes.ts";
import type { EndpointView } from "../timeline/endpoint-view.ts";
import type { Direction, Hop } from "../timeline/witness.ts";
import { readDecision } from "./replica-decision.ts";
import { type TruthTableOptions, truthTable } from "./truth-table.ts";

function view(
  address: string,
  witnesses: readonly (readonly [Hop, string, Direction])[],
  fields: Partial<EndpointView> = {},
): EndpointView {
  const endpoint = { cluster: "alpha", service: "shop/web", address, port: 8080, podUid: address };
  return {
    endpoint,
    podName: `web-${address}`,
    cause: undefined,
    direction: witnesses[0]?.[2] ?? "leave",
    isPending: true,
    witnesses: witnesses.map(([hop, name, direction]) => ({
      witness: { hop, name },
      direction,
      at: at(1_000),
    })),
    ...fields,
  };
}

const options: TruthTableOptions = {
  service: "shop/web",
  atMs: 5_000,
  views: [],
  decision: undefined,
  problems: [],
  journeys: [],
  changes: [],
  wallAt: (instant) => instant ?? null,
  isStale: () => false,
  isStock: (replica) => replica.startsWith("stock"),
  formOf: () => "EndpointSlice",
};

const left = view(
  "10.0.0.1",
  [
    ["pod", "alpha", "leave"],
    ["published", "alpha", "join"],
    ["routed", "lockstep-1", "leave"],
    ["routed", "stock-1", "join"],
  ],
  { cause: "terminating" },
);
const ready = view("10.0.0.2", [
  ["pod", "alpha", "join"],
  ["published", "alpha", "join"],
  ["routed", "lockstep-1", "join"],
  ["routed", "stock-1", "join"],
]);

test("without an ingress the reason is how the sources differ, and such rows come first", () => {
  const { witnesses, rows, follows } = truthTable({ ...options, views: [ready, left] });
  expect(follows).toBe(null);
  expect(witnesses.map(({ label, kind, isStock }) => `${label}: ${kind} ${isStock}`)).toEqual([
    "pod in alpha: pod false",
    "EndpointSlice in alpha: published false",
    "lockstep-1: replica false",
    "stock-1: replica true",
  ]);
  expect(rows.map(({ reason, state, isDisputed }) => [reason, state, isDisputed])).toEqual([
    ["The pod left (terminating), but EndpointSlice in alpha, stock-1 still have it.", null, true],
    ["Every source has it.", null, false],
  ]);
  expect(rows[0]?.cells.map(({ mark, text }) => `${mark} ${text}`)).toEqual([
    "out terminating",
    "in listed",
    "out absent",
    "in in use",
  ]);
});

test.each([
  [
    view("10.0.0.3", [
      ["pod", "alpha", "join"],
      ["published", "alpha", "leave"],
    ]),
    "The pod is ready, but EndpointSlice in alpha does not have it yet.",
  ],
  [
    view(
      "10.0.0.3",
      [
        ["pod", "alpha", "join"],
        ["published", "alpha", "leave"],
        ["synced", "edge", "leave"],
      ],
      { isPending: false },
    ),
    "The pod is ready, but EndpointSlice in alpha, copy in edge do not have it yet. No change in flight explains it.",
  ],
])("the reason names every source that differs", (one, reason) => {
  expect(truthTable({ ...options, views: [one] }).rows[0]?.reason).toBe(reason);
});

test("a stale source is marked, and named where all agree", () => {
  const { rows } = truthTable({
    ...options,
    views: [ready],
    isStale: ({ hop }) => hop === "published",
  });
  expect(rows[0]?.reason).toBe("Every source has it. EndpointSlice in alpha is stale.");
  expect(rows[0]?.cells.map(({ isStale }) => isStale)).toEqual([false, true, false, false]);
});

const answer = {
  kind: "known",
  ports: [
    {
      service: "shop/web:80",
      problems: ["a problem"],
      routes: ["HTTPRoute shop/web", 7],
      endpoints: [
        {
          cluster: "alpha",
          address: "10.0.0.1",
          port: 8080,
          podUid: "10.0.0.1",
          state: "held",
          reason: "it still answers",
          rule: "hold through a flap",
          pod: "not ready",
          published: "ready",
          probe: "answers",
          use: { requests: 7, failures: 1, lastUsedMsAgo: 5 },
        },
        {
          cluster: "beta",
          address: "10.9.0.1",
          port: 8080,
          state: "active",
          reason: "its pod is ready",
        },
        { address: 7, port: 8080, state: "active" },
        { address: "10.0.0.9", port: 8080, state: "sleeping" },
        "rubbish",
      ],
    },
  ],
};

test("the decision of a Lockstep replica gives states, reasons, probes and requests", () => {
  const decision = readDecision(answer);
  const table = truthTable({ ...options, views: [left, ready], decision });
  expect(table.follows).toMatchObject({ mode: "pods" });
  expect(table.problems).toEqual(["a problem"]);
  expect(table.routes).toEqual(["HTTPRoute shop/web"]);
  expect(
    table.rows.map(({ address, state, reason, cells }) => [
      address,
      state,
      reason,
      ...cells.map(({ mark, text }) => `${mark} ${text}`).slice(-2),
    ]),
  ).toEqual([
    [
      "10.0.0.1",
      "held",
      "it still answers; lockstep-1 does not use it",
      "in answers",
      "suspect 7 requests, 1 failed",
    ],
    ["10.0.0.2", null, "Every source has it.", "unknown not probed", "unknown no requests"],
    ["10.9.0.1", "active", "its pod is ready", "unknown not probed", "unknown no requests"],
  ]);
  const widths = table.rows.map(({ cells }) => cells.length);
  expect(new Set([...widths, table.witnesses.length]).size).toBe(1);
});

const slicesRule = "follow the slices exactly";

test("a replica that follows the slices says so, and an answer that is none is refused", () => {
  const [port] = answer.ports;
  const endpoints = [{ address: "10.0.0.1", port: 8080, state: "active", rule: slicesRule }];
  const decision = readDecision({ kind: "known", ports: [{ ...port, endpoints }] });
  expect(decision?.follows.mode).toBe("slices");
  expect(readDecision({ kind: "unknown", near: [] })).toBe(undefined);
  expect(() => readDecision({ services: {} })).toThrow("this is not an answer of Lockstep");
});

test("of 100,000 endpoints the few that disagree are shown, whatever their place", () => {
  const all = Array.from({ length: 100_000 }, (_, index) => {
    const address = `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;
    const published = index >= 99_998 ? "leave" : "join";
    return view(address, [
      ["pod", "alpha", "join"],
      ["published", "alpha", published],
    ]);
  });
  const endpoints = all.map(({ endpoint: { cluster = "", address, port, podUid } }) => {
    return { cluster, address, port, podUid, state: "active", reason: "its pod is ready" };
  });
  const decision = readDecision({ kind: "known", ports: [{ ...answer.ports[0], endpoints }] });
  const table = truthTable({ ...options, views: all, decision });
  expect(table).toMatchObject({ endpoints: 100_000, disagreements: 2 });
  expect(table.rows.slice(0, 3).map(({ address, isDisputed }) => [address, isDisputed])).toEqual([
    ["10.1.134.158", true],
    ["10.1.134.159", true],
    ["10.0.0.0", false],
  ]);
  expect([table.rows.length, table.problems.at(-1)]).toEqual([
    2_000,
    "98000 more endpoints are not shown: the table has 2000.",
  ]);
});
