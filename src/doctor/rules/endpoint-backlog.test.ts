import { expect, test } from "vitest";
import type { MonotonicMs } from "../../environment/clock.ts";
import type { Journey } from "../../timeline/journey.ts";
import { weigh } from "../cause.ts";
import { evidenceOf } from "../evidence/evidence.ts";
import { endpointBacklog } from "./endpoint-backlog.ts";

const hourMs = 3_600_000;
const startMs = Date.UTC(2000, 3, 12, 10);

/** `I0412 10:00:00.000000       1 `. */
function head(atMs: number): string {
  const [day = "", time = ""] = new Date(atMs).toISOString().split("T");
  return `I${day.slice(5).replace("-", "")} ${time.slice(0, -1)}000       1 `;
}

/** A write of each of 300 services, ten a second: as 1.17 logs it, and as 1.30 does. */
const eras = {
  "1.17": (atMs: number, name: string) =>
    `${head(atMs)}httplog.go:90] PUT /api/v1/namespaces/shop/endpoints/${name}: (3.1ms) 200 [kube-controller-manager/v1.17.13 10.0.0.1:4000]`,
  "1.30": (atMs: number, name: string) =>
    `${head(atMs)}httplog.go:134] "HTTP" verb="PUT" URI="/api/v1/namespaces/shop/endpoints/${name}" latency="3.1ms" userAgent="kube-controller-manager/v1.30.1" resp=200`,
} as const;

type Era = keyof typeof eras;

const wave = (era: Era, atMs: number): readonly string[] =>
  Array.from({ length: 300 }, (_, index) => eras[era](atMs + index * 100, `web-${index}`));

const lost = {
  "1.17": (atMs: number, node: string) =>
    `${head(atMs)}controller_utils.go:122] Recording status change NodeNotReady event message for node ${node}`,
  "1.30": (atMs: number, node: string) =>
    `${head(atMs)}controller_utils.go:121] "Recording status change event message for node" status="NodeNotReady" node="${node}"`,
} as const;

function causeOf(lines: readonly string[], journeys: readonly Journey[] = []) {
  const evidence = evidenceOf({
    logs: [{ component: "kube-apiserver", source: "api.log", lines }],
    journeys: { source: "changes", journeys, nowMs: 100_000 },
  });
  return weigh(endpointBacklog, evidence)?.cause;
}

test.each(["1.17", "1.30"] as const)(
  "%s: nodes that were lost before the wave trigger it",
  (era) => {
    const lines = [
      lost[era](startMs - 20_000, "node-1"),
      lost[era](startMs - 19_000, "node-2"),
      ...wave(era, startMs),
    ];
    expect(causeOf(lines)).toContain(
      "The trigger is a change of many pods: 2 nodes became not ready.",
    );
  },
);

test.each(["1.17", "1.30"] as const)("%s: a node that was lost hours before does not", (era) => {
  const lines = [lost[era](startMs - 5 * hourMs, "node-1"), ...wave(era, startMs)];
  expect(causeOf(lines)).toContain("The trigger is not in the evidence.");
});

test("a wave each 15 hours is the resync, with the next one", () => {
  const lines = [...wave("1.17", startMs), ...wave("1.17", startMs + 15 * hourMs)];
  expect(causeOf(lines)).toContain(
    "The trigger is the periodic resync, each 15 h; the next one is at about 04-13 16:00",
  );
});

test("a wave each 50 minutes is the resync where the flag says so", () => {
  const each = [...wave("1.17", startMs), ...wave("1.17", startMs + 50 * 60_000)];
  expect(causeOf(each)).toContain("The trigger is not in the evidence.");
  expect(causeOf(["--min-resync-period=30m", ...each])).toContain(
    "The trigger is the periodic resync, each 50 min; the next one is at about 04-12 11:40",
  );
});

function change(at: number, service: string): Journey {
  return {
    id: at,
    endpoint: {
      cluster: "blue",
      service: `shop/${service}`,
      address: "10.0.0.1",
      port: 80,
      podUid: undefined,
    },
    podName: undefined,
    direction: "join",
    cause: undefined,
    origin: { at: at as MonotonicMs, notBefore: undefined },
    hops: [],
    outcome: "complete",
  };
}

test("many observed changes at once trigger it, and those of a rollout do not", () => {
  const changes = (count: number) =>
    Array.from({ length: count }, (_, index) => change(index * 100, `web-${index % 40}`));
  expect(causeOf(wave("1.17", startMs), changes(120))).toContain(
    "The trigger is a change of many pods: 120 endpoints of 40 services changed within 11.9 s.",
  );
  expect(causeOf(wave("1.17", startMs), changes(40))).toContain("not in the evidence");
});

test("the start of the controller manager comes first", () => {
  const started = `${head(startMs - 9_000)}endpoints_controller.go:189] Starting endpoint controller`;
  const lines = [started, lost["1.17"](startMs - 5_000, "node-1"), ...wave("1.17", startMs)];
  expect(causeOf(lines)).toContain("The trigger is a start of the controller manager");
});
