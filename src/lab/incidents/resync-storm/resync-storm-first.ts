// The long first part of the incident `resync-storm`: the controllers start, hours pass until the
// first resync, which shows how long the period is, and again until shortly before the second one.
// Nobody watches but the operator, so that hours cost little.
import { HttpKubeClient } from "../../../kube/client/http-client.ts";
import { endpointsKind } from "../../../kube/kinds/endpoints.ts";
import { Reflector } from "../../../kube/reflector/reflector.ts";
import { noChecks } from "../../../kube/reflector/reflector-parts.ts";
import type { Cluster } from "../../cluster.ts";
import { shopService } from "../../shop.ts";
import type { Stage } from "../stage.ts";
import type { StormMeter } from "./resync-storm-meter.ts";
import { QueueWatch } from "./resync-storm-queue.ts";
import type { ResyncStormOptions } from "./settings.ts";
import { measureStorm, type Storm } from "./storm.ts";

export interface FirstStormOptions extends ResyncStormOptions {
  readonly note: (text: string) => void;
}

export interface FirstStorm {
  readonly storm: Storm;
  readonly queue: QueueWatch;
  readonly listener: { stop(): Promise<void> };
}

/** How often a queue is looked at in quiet times: a share of the shortest period, or each second. */
const lookShare = 1 / 360;
export const lookLeastMs = 1_000;
export const stormLookMs = 5_000;

/** The replicas come up, and a release passes in quiet, in this time before a storm. */
const leadMaxMs = 60_000;
const leadShare = 0.4;

/** The start and the first storm, with nobody watching but the operator. */
export async function untilSecondStorm(
  stage: Stage,
  cluster: Cluster,
  meter: StormMeter,
  options: FirstStormOptions,
): Promise<FirstStorm> {
  const { services, minResyncMs, note } = options;
  const client = operatorClient(stage, cluster);
  const queue = new QueueWatch({
    ...stage.environmentOf("operator"),
    metricsUrl: () => cluster.controlPlane.metricsUrl,
    meter,
    now: () => stage.now(),
    sleep: (ms) => stage.sleep(ms),
  });
  const lookMs = Math.max(minResyncMs * lookShare, lookLeastMs);
  const startedMs = stage.now();
  await queue.untilAdded({ ...(await queue.look()), adds: 0 }, services, stormLookMs);
  await queue.untilEmpty(stormLookMs);
  const listener = listenToEndpoints(stage, cluster, meter);
  await listener.waitForSync();
  note("everything is published; time passes");
  const before = await queue.untilAdded(await queue.look(), services, lookMs);
  note("the first resync");
  const after = await queue.untilEmpty(stormLookMs);
  const storm = await measureStorm({ client, stage }, meter, { before, after });
  note(`the queue is empty after ${storm.requests.toLocaleString("en-US")} PUTs; time passes`);
  // Without requests only the look before the resync is known: it was up to one look later.
  const periodMs = storm.atMs - startedMs;
  const leadMs = Math.min(leadMaxMs, periodMs * leadShare);
  await stage.sleep(Math.max(0, storm.atMs + periodMs - leadMs - stage.now()));
  return { storm, queue, listener };
}

function operatorClient(stage: Stage, { access }: Cluster): HttpKubeClient {
  const environment = stage.environmentOf("operator");
  return new HttpKubeClient({ ...environment, cluster: access, userAgent: "kubectl" });
}

/** Somebody who watches all Endpoints; the shop's own are no part of a storm. */
function listenToEndpoints(stage: Stage, cluster: Cluster, meter: StormMeter) {
  const reflector = new Reflector({
    ...stage.environmentOf("operator"),
    client: operatorClient(stage, cluster),
    cluster: cluster.name,
    kind: endpointsKind,
    checks: noChecks,
    indexes: {},
    handlers: [
      ({ type, object: { metadata } }) => {
        const isShop = `${metadata.namespace}/${metadata.name}` === shopService;
        if (type === "updated" && !isShop) meter.heard();
      },
    ],
  });
  reflector.start();
  return reflector;
}
