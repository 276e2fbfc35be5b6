import { describe, expect, test } from "vitest";
import { type ApiWorld, inApiWorld } from "../../../tests/apiserver/api-world.ts";

const configMaps = "/api/v1/namespaces/default/configmaps";

const tokens = new Map([
  ["admin-token", { name: "admin", groups: ["system:masters"] }],
  ["greedy", { name: "greedy", groups: [] }],
  ["modest", { name: "modest", groups: [] }],
  ["kubelet", { name: "system:node:a", groups: ["system:nodes"] }],
]);

/** global-default has 20 of 245 shares: with 49 seats in all, four. */
const seats = 49;

/** Each request takes a second of work. */
function inBusyWorld(run: (world: ApiWorld) => Promise<void>): Promise<void> {
  return inApiWorld(
    async (world) => {
      world.server.faults.setRules([{ match: {}, latency: 1000 }]);
      await run(world);
    },
    { authentication: { tokens }, flowControl: { seats } },
  );
}

interface Timed {
  readonly status: number;
  readonly afterMs: number;
}

async function timed({ call, client }: ApiWorld, token: string): Promise<Timed> {
  const began = client.clock.monotonicMs();
  const { status } = await call("GET", configMaps, undefined, { token });
  return { status, afterMs: roundedMs(client.clock.monotonicMs() - began) };
}

/** The time of the network does not count. */
function roundedMs(ms: number): number {
  return Math.round(ms / 1000) * 1000;
}

describe("a client with too many requests", () => {
  test("waits in line himself, and delays others by one turn", () =>
    inBusyWorld(async (world) => {
      const flood = Array.from({ length: 40 }, () => timed(world, "greedy"));
      await world.client.timers.sleep(10, new AbortController().signal);
      const modest = await timed(world, "modest");
      expect(modest).toEqual({ status: 200, afterMs: 2000 });
      const greedy = await Promise.all(flood);
      // Four seats a second, of which the other had one.
      const turns = greedy.map(({ afterMs }) => afterMs / 1000).toSorted((a, b) => a - b);
      expect(turns).toEqual(
        Array.from({ length: 40 }, (_, at) => Math.floor((at < 7 ? at : at + 1) / 4) + 1),
      );
    }));

  test("is refused when its queue is full, and after fifteen seconds in it", () =>
    inBusyWorld(async (world) => {
      const { call, client } = world;
      const began = client.clock.monotonicMs();
      const answers = await Promise.all(
        Array.from({ length: 320 }, async () => {
          const reply = await call("GET", configMaps, undefined, { token: "greedy" });
          return { ...reply, afterMs: roundedMs(client.clock.monotonicMs() - began) };
        }),
      );
      const count = (status: number, afterMs: number): number =>
        answers.filter((one) => one.status === status && one.afterMs === afterMs).length;
      // Six queues of fifty hold what the four seats do not take.
      expect(count(429, 0)).toBe(320 - 4 - 300);
      expect(count(200, 1000)).toBe(4);
      expect(answers.filter(({ status }) => status === 200).length).toBe(4 * 16);
      expect(count(429, 15_000)).toBe(300 - 4 * 15);
      const refused = answers.find(({ status }) => status === 429);
      expect([
        refused?.text,
        refused?.headers["retry-after"],
        refused?.headers["content-type"],
        refused?.headers["x-kubernetes-pf-flowschema-uid"],
      ]).toEqual([
        "Too many requests, please try again later.\n",
        "1",
        "text/plain; charset=utf-8",
        answers.find(({ status }) => status === 200)?.headers["x-kubernetes-pf-flowschema-uid"],
      ]);
      expect(await flowMetrics(call)).toEqual(metricsOfFlood);
    }));
});

test("administrators never wait, and nodes have seats that users cannot take", () =>
  inBusyWorld(async (world) => {
    const flood = Array.from({ length: 40 }, () => timed(world, "greedy"));
    expect(await timed(world, "admin-token")).toEqual({ status: 200, afterMs: 1000 });
    expect(await timed(world, "kubelet")).toEqual({ status: 200, afterMs: 1000 });
    await Promise.all(flood);
  }));

test("a watch holds its seat only until it has begun", () =>
  inBusyWorld(async (world) => {
    const watches = Array.from({ length: 8 }, () =>
      world.call("GET", `${configMaps}?watch=true&timeoutSeconds=30`, undefined, {
        token: "greedy",
      }),
    );
    await world.client.timers.sleep(10, new AbortController().signal);
    expect(await timed(world, "modest")).toEqual({ status: 200, afterMs: 1000 });
    await Promise.all(watches);
  }));

test("the headers have the id of the flow schema", () =>
  inBusyWorld(async ({ call }) => {
    const uid = "x-kubernetes-pf-flowschema-uid";
    const admin = await call("GET", configMaps);
    const greedy = await call("GET", configMaps, undefined, { token: "greedy" });
    const modest = await call("GET", configMaps, undefined, { token: "modest" });
    expect(greedy.headers[uid]).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(admin.headers[uid]).not.toBe(greedy.headers[uid]);
    expect(modest.headers[uid]).toBe(greedy.headers[uid]);
  }));

async function flowMetrics(call: ApiWorld["call"]): Promise<readonly string[]> {
  const { text } = await call("GET", "/metrics");
  return text.split("\n").filter((line) => /^apiserver_flowcontrol_(rej|disp|nom)/.test(line));
}

const metricsOfFlood = [
  'apiserver_flowcontrol_dispatched_requests_total{flow_schema="exempt",priority_level="exempt"} 1',
  'apiserver_flowcontrol_dispatched_requests_total{flow_schema="global-default",priority_level="global-default"} 64',
  'apiserver_flowcontrol_nominal_limit_seats{priority_level="catch-all"} 1',
  'apiserver_flowcontrol_nominal_limit_seats{priority_level="global-default"} 4',
  'apiserver_flowcontrol_nominal_limit_seats{priority_level="leader-election"} 2',
  'apiserver_flowcontrol_nominal_limit_seats{priority_level="node-high"} 8',
  'apiserver_flowcontrol_nominal_limit_seats{priority_level="system"} 6',
  'apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-high"} 8',
  'apiserver_flowcontrol_nominal_limit_seats{priority_level="workload-low"} 20',
  'apiserver_flowcontrol_rejected_requests_total{flow_schema="global-default",priority_level="global-default",reason="queue-full"} 16',
  'apiserver_flowcontrol_rejected_requests_total{flow_schema="global-default",priority_level="global-default",reason="time-out"} 240',
];
