import { expect, test } from "vitest";
import {
  type ControllerWorld,
  inControllerWorld,
  service,
  services,
} from "../../../tests/controllers/controller-world.ts";
import { HttpKubeClient } from "../../kube/client/http-client.ts";
import { fixedAccess } from "../../kube/credentials/credentials.ts";
import type { ControllerFlags } from "../../lab/controllers/flags.ts";
import { ClusterWitness } from "../../observe/cluster-witness.ts";
import { openWatches } from "../../observe/observed-watch.ts";
import { isThorough } from "../../simulation/seeds.ts";
import type { Journey } from "../../timeline/journey.ts";
import { Timeline } from "../../timeline/timeline.ts";
import { weigh } from "../cause.ts";
import { type Evidence, evidenceOf } from "../evidence/evidence.ts";
import type { MetricsPage } from "../evidence/metrics-window.ts";
import { parsePrometheusText } from "../evidence/prometheus-text.ts";
import type { Finding } from "../finding.ts";
import { clientThrottling } from "./client-throttling.ts";

const component = "kube-controller-manager";
/** Every service is enqueued again each 30 s, and this limit needs 40 s to go over all of them. */
const serviceCount = 200;
const throttled = { "kube-api-qps": 5, "kube-api-burst": 8, v: 4 };

const pods = "/api/v1/namespaces/default/pods";

/** The first sync of all: a GET and a POST each. */
const settleMs = 120_000;
const observedMs = 90_000;

test("the cause is named from what the throttled controllers of 1.7 show of themselves", async () => {
  const finding = await diagnose(throttled);
  expect(finding && [finding.rule, finding.severity, finding.confidence]).toEqual([
    "client-throttling",
    "critical",
    "certain: three sources",
  ]);
  expect(finding?.fix.change).toBe("--kube-api-qps=300 --kube-api-burst=325");
});

test.runIf(isThorough(process.env))("with the fix applied there is nothing to find", async () => {
  const fixed = { "kube-api-qps": 300, "kube-api-burst": 325 };
  expect(await diagnose({ ...throttled, ...fixed })).toBeUndefined();
});

async function diagnose(flags: Partial<ControllerFlags>): Promise<Finding | undefined> {
  let finding: Finding | undefined;
  await inControllerWorld(
    async (world) => {
      await fill(world);
      await world.simulation.sleep(settleMs);
      finding = weigh(clientThrottling, await observe(world));
    },
    { profile: "1.7", flags },
  );
  return finding;
}

async function fill({ create, turnNodes }: ControllerWorld): Promise<void> {
  for (let index = 0; index < serviceCount; index += 1) {
    const name = `s${index}`;
    await create(pods, {
      metadata: { name, labels: { app: name } },
      spec: { nodeName: "node-1", containers: [{ name: "web", image: "web:1" }] },
    });
    await create(services, service(name));
  }
  await turnNodes();
}

/** Watches, scrapes twice and reads the log, while a few pods are deleted. */
async function observe(world: ControllerWorld): Promise<Evidence> {
  const { simulation, call, klog } = world;
  const environment = simulation.host("lockstep");
  const journeys = new Map<number, Journey>();
  const observer = new Timeline({
    onEvent: ({ journey }) => void journeys.set(journey.id, journey),
  });
  const cluster = fixedAccess({ name: "a", server: "https://server:6443", token: "admin-token" });
  const client = new HttpKubeClient({ ...environment, cluster, userAgent: "lockstep" });
  const witness = new ClusterWitness({
    ...environment,
    openWatch: openWatches({ ...environment, client }),
    cluster: "a",
    form: "endpoints",
    sink: observer,
  });
  witness.start();
  await witness.waitForSync();
  const seenBefore = klog.lines().length;
  const first = await scrape(world);
  for (let index = 0; index < 10; index += 1) {
    await call("DELETE", `${pods}/s${index * 20}`);
    await simulation.sleep(observedMs / 10);
  }
  const pages = [first, await scrape(world)];
  await witness.stop();
  const nowMs = environment.clock.monotonicMs();
  return evidenceOf({
    logs: [{ component, source: "log", lines: klog.lines().slice(seenBefore).map(textOf) }],
    metrics: [{ component, source: "metrics", pages }],
    journeys: { source: "watches", journeys: [...journeys.values()], nowMs },
  });
}

function textOf({ text }: { readonly text: string }): string {
  return text;
}

async function scrape({ client, simulation }: ControllerWorld): Promise<MetricsPage> {
  const url = "http://master:10257/metrics";
  const response = await client.network.request({ method: "GET", url });
  let text = "";
  for await (const chunk of response.body) text += Buffer.from(chunk).toString("utf8");
  return { atMs: simulation.now(), samples: parsePrometheusText(text) };
}
