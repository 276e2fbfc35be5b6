import { describe, expect, test } from "vitest";
import {
  type ControllerWorld,
  endpoints,
  inControllerWorld,
  service,
  services,
} from "../../../tests/controllers/controller-world.ts";
import { objectsAt } from "../../apiserver/kinds/fields.ts";
import { isThorough } from "../../simulation/seeds.ts";
import type { ControllerFlags } from "./flags.ts";

const count = 700;
const observed = 8;
const pollMs = 250;

/** Enough for the first sync of all: a GET and a POST each, at 20 a second. */
const settleMs = 80_000;

// Some seconds each; the incident of the same name shows the same in every run.
describe.runIf(isThorough(process.env))(
  "the controllers of 1.7 with more services than their limit can go over in 30 s",
  () => {
    test("let leaving pods stand for tens of seconds, and log only workers ÷ qps", async () => {
      const { lagsMs, waitsMs, requestsPerSecond } = await measure({ v: 4 });
      expect(Math.max(...lagsMs)).toBeGreaterThan(20_000);
      // A key waits once for all the others at most: 700 at 20 a second, and one cycle of polling.
      expect(Math.max(...lagsMs)).toBeLessThan((count / 20) * 1000 + 1000);
      expect(requestsPerSecond).toBeCloseTo(20, 0);
      expect(waitsMs.length).toBeGreaterThan(1000);
      expect(Math.max(...waitsMs)).toBeLessThan(300);
    });

    test("are hardly faster with ten times the workers, but log ten times the wait", async () => {
      const { lagsMs, waitsMs } = await measure({ v: 4, "concurrent-endpoint-syncs": 50 });
      expect(Math.max(...lagsMs)).toBeGreaterThan(20_000);
      expect(Math.max(...waitsMs)).toBeGreaterThan(2400);
      expect(Math.max(...waitsMs)).toBeLessThan(2600);
    });

    test("are at once right with 300 qps", async () => {
      const { lagsMs } = await measure({ v: 4, "kube-api-qps": 300, "kube-api-burst": 325 });
      expect(Math.max(...lagsMs)).toBeLessThan(3000);
      expect([...lagsMs].sort((one, other) => one - other)[observed / 2]).toBeLessThan(
        pollMs + 100,
      );
    });
  },
);

interface Measured {
  /** From the DELETE of a pod to the version of the Endpoints without it. */
  readonly lagsMs: readonly number[];
  /** The waits of single requests in the log, while the lags were measured. */
  readonly waitsMs: readonly number[];
  readonly requestsPerSecond: number;
}

async function measure(flags: Partial<ControllerFlags>): Promise<Measured> {
  const lagsMs: number[] = [];
  const waitsMs: number[] = [];
  let requestsPerSecond = 0;
  await inControllerWorld(
    async (world) => {
      await fill(world);
      await world.simulation.sleep(settleMs);
      const startedAt = world.simulation.now();
      const before = await gets(world);
      for (let index = 0; index < observed; index += 1) {
        // Not in step with the re-enqueueing of all services each 30 s.
        await world.simulation.sleep(7300);
        lagsMs.push(await leaveLag(world, `s${index * 50}`));
      }
      const seconds = (world.simulation.now() - startedAt) / 1000;
      requestsPerSecond = ((await gets(world)) - before) / seconds;
      for (const { text } of world.klog.lines()) {
        const wait = /Throttling request took ([\d.]+)(ms|s), request: GET:/.exec(text);
        if (wait !== null) waitsMs.push(Number(wait[1]) * (wait[2] === "s" ? 1000 : 1));
      }
    },
    { profile: "1.7", flags },
  );
  return { lagsMs, waitsMs, requestsPerSecond };
}

async function fill({ create, turnNodes }: ControllerWorld): Promise<void> {
  for (let index = 0; index < count; index += 1) {
    const name = `s${index}`;
    await create("/api/v1/namespaces/default/pods", {
      metadata: { name, labels: { app: name } },
      spec: { nodeName: "node-1", containers: [{ name: "web", image: "web:1" }] },
    });
    await create(services, service(name));
  }
  await turnNodes();
}

async function leaveLag({ call, get, simulation }: ControllerWorld, name: string): Promise<number> {
  const deletedAt = simulation.now();
  await call("DELETE", `/api/v1/namespaces/default/pods/${name}`);
  for (;;) {
    const published = await get(`${endpoints}/${name}`);
    if (objectsAt(published, "subsets").length === 0) return simulation.now() - deletedAt;
    await simulation.sleep(pollMs);
  }
}

/** GETs the controllers' clients sent, as the process counts them. */
async function gets({ client }: ControllerWorld): Promise<number> {
  const response = await client.network.request({
    method: "GET",
    url: "http://master:10257/metrics",
  });
  let text = "";
  for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
  const lines = text.matchAll(/^rest_client_requests_total\{.*method="GET"\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}
