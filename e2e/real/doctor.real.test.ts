// The doctor on the log, the metrics and the journeys of a real kube-controller-manager whose
// requests are limited, and of one whose are not: it must name the first and be silent on the other.
import { expect, it } from "vitest";
import { weigh } from "../../src/doctor/cause.ts";
import { evidenceOf } from "../../src/doctor/evidence/evidence.ts";
import type { MetricsPage } from "../../src/doctor/evidence/metrics-window.ts";
import { parsePrometheusText } from "../../src/doctor/evidence/prometheus-text.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { clientThrottling } from "../../src/doctor/rules/client-throttling.ts";
import { nodeEnvironment } from "../../src/environment/node/node-environment.ts";
import { fixedAccess } from "../../src/kube/credentials/credentials.ts";
import { endpointsKind } from "../../src/kube/kinds/endpoints.ts";
import { ClusterWitness } from "../../src/observe/cluster-witness.ts";
import { openWatches } from "../../src/observe/observed-watch.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import { Timeline } from "../../src/timeline/timeline.ts";
import {
  type RealControlPlane,
  type RealManager,
  startRealControlPlane,
} from "./harness/real-control-plane.ts";
import { createThrottlingObjects } from "./incidents/throttling.ts";
import { follow, send, trialOn, until } from "./incidents/trial.ts";

const environment = nodeEnvironment({ log: { write: () => undefined } });
const { clock, network, timers } = environment;
const services = 400;
const pods = "/api/v1/namespaces/default/pods";

/** Changes of pods that the journeys follow, while the manager publishes the rest. */
const changes = 8;

it("names the request limit of a real manager, by its log, its metrics and the journeys", async () => {
  const finding = await examine(["--kube-api-qps=10", "--kube-api-burst=10", "--v=3"]);
  expect(finding).toMatchObject({
    rule: "client-throttling",
    confidence: "certain: three sources",
    fix: { component: "kube-controller-manager" },
  });
});

it("finds nothing in a manager that has all it needs", async () => {
  const finding = await examine(["--kube-api-qps=2000", "--kube-api-burst=4000", "--v=3"]);
  expect(finding).toBeUndefined();
});

async function examine(flags: readonly string[]): Promise<Finding | undefined> {
  const plane = await startRealControlPlane();
  const { url, ca, token } = plane;
  const trial = trialOn(
    environment,
    fixedAccess({ name: "real", server: url, token, tls: { ca } }),
  );
  const over: Journey[] = [];
  const journeys = new Timeline({
    onEvent: ({ type, journey }) => {
      if (type === "over") over.push(journey);
    },
  });
  const sink = { ...trial, cluster: "real", form: "endpoints", sink: journeys } as const;
  const witness = new ClusterWitness({ ...sink, openWatch: openWatches(trial) });
  try {
    await createThrottlingObjects(trial, services);
    witness.start();
    await witness.waitForSync();
    const published = new Set<string>();
    const watch = await follow(trial, endpointsKind, "default", ({ object }) => {
      if (object.metadata.name !== "kubernetes") published.add(object.metadata.name);
    });
    const manager = await plane.startControllerManager(["endpoints-controller"], flags);
    await until(trial, "some are published", () => published.size > services / 4);
    const first = await metricsOf(plane, manager);
    for (const name of [...published].slice(0, changes)) {
      const status = { conditions: [{ type: "Ready", status: "False" }] };
      await send(trial, "PATCH", `${pods}/${name}/status`, { status });
      await timers.sleep(300);
    }
    await until(trial, "all are published", () => published.size === services);
    await until(trial, "the changes too", () => over.length >= changes);
    const pages = [first, await metricsOf(plane, manager)];
    await watch.stop();
    const component = "kube-controller-manager";
    const lines = manager.process.log().split("\n");
    const evidence = evidenceOf({
      logs: [{ component, source: "its log", lines }],
      metrics: [{ component, source: manager.url, pages }],
      journeys: {
        source: "journeys",
        journeys: [...over, ...journeys.pending()],
        nowMs: clock.monotonicMs(),
      },
    });
    return weigh(clientThrottling, evidence);
  } finally {
    await witness.stop();
    await plane.stop();
  }
}

async function metricsOf({ token }: RealControlPlane, manager: RealManager): Promise<MetricsPage> {
  const { body } = await network.request({
    method: "GET",
    url: `${manager.url}/metrics`,
    headers: { authorization: `Bearer ${token}` },
    tls: { ca: manager.ca },
  });
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  const samples = parsePrometheusText(Buffer.concat(chunks).toString("utf8"));
  return { atMs: clock.monotonicMs(), samples };
}
