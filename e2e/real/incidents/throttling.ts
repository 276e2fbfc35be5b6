// Experiment: a controller manager starts on a cluster with many services whose Endpoints are all
// missing, with a limit on its requests. How fast does it publish, and how late does it hear of a
// pod that stops being ready while it is at it?
import { elapsedMs, type MonotonicMs } from "../../../src/environment/clock.ts";
import { type Endpoints, endpointsKind } from "../../../src/kube/kinds/endpoints.ts";
import { podKind } from "../../../src/kube/kinds/pod.ts";
import { follow, send, type Trial, until } from "./trial.ts";

export interface ThrottlingFigures {
  /** From the first Endpoints to the last. */
  readonly drainSeconds: number;
  /** Of those that came after the burst. */
  readonly perSecond: number;
  /** From a pod's status to its service's Endpoints, the change made when half were published. */
  readonly lagSeconds: number;
}

const namespace = "default";
const nodeName = "node-1";
const createAtOnce = 16;

/** Services with a ready pod each and the node they are on, complete as they are stored. */
export function throttlingObjects(services: number): readonly object[] {
  const node = { apiVersion: "v1", kind: "Node", metadata: { name: nodeName } };
  return [node, ...Array.from({ length: services }, (_, at) => [service(at), pod(at)]).flat()];
}

/** Makes the same by requests. */
export async function createThrottlingObjects(trial: Trial, services: number): Promise<void> {
  const core = `/api/v1/namespaces/${namespace}`;
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < services; at = next++) {
      await send(trial, "POST", `${core}/services`, service(at));
      await send(trial, "POST", `${core}/pods`, pod(at));
      const body = { status: statusOf(at, "True") };
      await send(trial, "PATCH", `${core}/pods/${nameOf(at)}/status`, body);
    }
  };
  await Promise.all(Array.from({ length: createAtOnce }, work));
}

/** Nothing is published and every pod is ready, as at the beginning; no controller may run. */
export async function forgetPublished(trial: Trial): Promise<void> {
  const core = `/api/v1/namespaces/${namespace}`;
  const request = { verb: "delete", method: "DELETE", path: `${core}/endpoints` } as const;
  await trial.client.request({ ...request, deadlineMs: 60_000 });
  const pods = await follow(trial, podKind, namespace, () => undefined);
  const unready = [...pods.store].filter(({ ready }) => ready !== "True");
  await pods.stop();
  for (const { metadata } of unready) {
    const body = { status: statusOf(Number(metadata.name.split("-")[1]), "True") };
    await send(trial, "PATCH", `${core}/pods/${metadata.name}/status`, body);
  }
}

/** `begin` starts the controllers; nothing happens before. */
export async function measureThrottling(
  trial: Trial,
  { services, burst }: { readonly services: number; readonly burst: number },
  begin: () => Promise<void>,
): Promise<ThrottlingFigures> {
  const { clock } = trial;
  const published: { readonly name: string; readonly at: MonotonicMs }[] = [];
  let changed: string | undefined;
  let receivedAt: MonotonicMs | undefined;
  const watch = await follow(trial, endpointsKind, namespace, ({ type, object }) => {
    if (object.metadata.name === "kubernetes") return;
    if (type === "added") published.push({ name: object.metadata.name, at: clock.monotonicMs() });
    if (object.metadata.name === changed && isEmpty(object)) receivedAt ??= clock.monotonicMs();
  });
  await begin();
  await until(trial, "half are published", () => published.length >= services / 2);
  changed = published[0]?.name ?? "";
  const path = `/api/v1/namespaces/${namespace}/pods/${changed}/status`;
  const at = Number(changed.split("-")[1]);
  const changedAt = clock.monotonicMs();
  await send(trial, "PATCH", path, { status: statusOf(at, "False") });
  const isOver = () => published.length === services && receivedAt !== undefined;
  await until(trial, "all and the change are published", isOver);
  await watch.stop();
  const afterBurst = published.slice(burst);
  return {
    drainSeconds: secondsBetween(published.at(0)?.at, published.at(-1)?.at),
    perSecond:
      (afterBurst.length - 1) / secondsBetween(afterBurst.at(0)?.at, afterBurst.at(-1)?.at),
    lagSeconds: secondsBetween(changedAt, receivedAt),
  };
}

function secondsBetween(one: MonotonicMs | undefined, other: MonotonicMs | undefined): number {
  return one === undefined || other === undefined ? Number.NaN : elapsedMs(one, other) / 1_000;
}

function isEmpty({ subsets }: Endpoints): boolean {
  return subsets.every(({ addresses }) => addresses.length === 0);
}

function nameOf(at: number): string {
  return `web-${at}`;
}

function service(at: number): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: nameOf(at), namespace },
    spec: { selector: { app: nameOf(at) }, ports: [{ port: 80 }] },
  };
}

function pod(at: number): object {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: nameOf(at), namespace, labels: { app: nameOf(at) } },
    spec: { nodeName, containers: [{ name: "web", image: "web" }] },
    status: statusOf(at, "True"),
  };
}

function statusOf(at: number, ready: "True" | "False"): object {
  const podIP = `10.201.${Math.floor(at / 250)}.${(at % 250) + 1}`;
  const conditions = [{ type: "Ready", status: ready }];
  return { phase: "Running", podIP, podIPs: [{ ip: podIP }], conditions };
}
