// The services, pods and nodes of a cluster of the given size. It is created once and copied for each run,
// so that every setting is tried on the same cluster.

import { isJsonObject } from "../../apiserver/kinds/fields.ts";
import { podKind } from "../../apiserver/kinds/pod.ts";
import type { MemoryStorage } from "../../apiserver/storage/memory-storage.ts";
import type { Timers } from "../../environment/timers.ts";
import type { Counts } from "./question.ts";

export interface PopulationPod {
  readonly name: string;
  readonly service: string;
  readonly address: string;
  readonly isReady: boolean;
  /** Its changes are timed. */
  readonly isTimed: boolean;
}

/** The label of services whose changes are timed; their Endpoints and slices have it too. */
export const probedLabel = { name: "whatif.lockstep.dev/probed", value: "true" } as const;

/** The largest sample of timed pods; all pods wait alike. */
const probedPodsMax = 400;

const containerPort = 8080;

/** The services and nodes, and the pods without their status, which no create can set. */
export function* populationObjects(counts: Counts): Generator<object, void, undefined> {
  for (let index = 0; index < counts.nodes; index += 1) {
    const name = nodeName(index);
    yield { apiVersion: "v1", kind: "Node", metadata: { name } };
    yield {
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace: "kube-node-lease" },
      spec: { holderIdentity: name },
    };
  }
  const headless = Math.round(counts.services * counts.headlessShare);
  for (let index = 0; index < counts.services; index += 1) {
    // Spread evenly, so that the timed services are like the rest.
    const isHeadless =
      Math.floor(((index + 1) * headless) / counts.services) >
      Math.floor((index * headless) / counts.services);
    yield serviceObject(index, { isHeadless, isProbed: isTimed(index, counts) });
  }
  for (const pod of populationPods(counts)) {
    const index = Number(pod.name.slice("pod-".length));
    yield {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: pod.name, labels: { app: pod.service } },
      spec: {
        nodeName: nodeName(index % counts.nodes),
        containers: [{ name: "app", image: "app", ports: [{ containerPort }] }],
      },
    };
  }
}

/** Pods are dealt to the services in turn, so the first services may have one more. */
export function populationPods(counts: Counts): readonly PopulationPod[] {
  return Array.from({ length: counts.pods }, (_, index) => ({
    name: `pod-${index}`,
    service: serviceName(index % counts.services),
    address: podAddress(index),
    // Every other timed pod starts unready, so that there are as many additions as removals.
    isReady: !isTimed(index, counts) || timedBefore(index, counts) % 2 === 0,
    isTimed: isTimed(index, counts),
  }));
}

/** Timed pods are first pods of their services, spread evenly over the services. */
function isTimed(index: number, counts: Counts): boolean {
  const isFirst = index < firstPods(counts);
  return isFirst && timedBefore(index + 1, counts) > timedBefore(index, counts);
}

function timedBefore(index: number, counts: Counts): number {
  const first = firstPods(counts);
  return Math.floor((index * Math.min(first, probedPodsMax)) / first);
}

function firstPods({ pods, services }: Counts): number {
  return Math.min(pods, services);
}

/** So many take a millisecond or two; between two pieces an abort can take effect. */
const breatheEvery = 50;

/** Gives each pod the status that its kubelet would have posted. */
export async function postStatuses(
  storage: MemoryStorage,
  counts: Counts,
  timers: Timers,
): Promise<void> {
  const byName = new Map(populationPods(counts).map((pod) => [pod.name, pod]));
  const { records } = await storage.list(`${podKind.prefix}default/`);
  for (const [index, { key, value, revision }] of records.entries()) {
    if (index % breatheEvery === 0) await timers.breathe();
    const stored: unknown = JSON.parse(Buffer.from(value).toString("utf8"));
    const pod = byName.get(key.slice(key.lastIndexOf("/") + 1));
    if (!isJsonObject(stored) || pod === undefined) continue;
    const status = podStatus(pod.address, pod.isReady);
    await storage.put(key, Buffer.from(JSON.stringify({ ...stored, status })), revision);
  }
}

export function podStatus(address: string, isReady: boolean): object {
  return {
    phase: "Running",
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
  };
}

export function nodeName(index: number): string {
  return `node-${index}`;
}

function serviceObject(
  index: number,
  { isHeadless, isProbed }: { readonly isHeadless: boolean; readonly isProbed: boolean },
): object {
  const name = serviceName(index);
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, labels: isProbed ? { [probedLabel.name]: probedLabel.value } : {} },
    spec: {
      ...(isHeadless ? { clusterIP: "None" } : {}),
      selector: { app: name },
      ports: [{ port: 80, targetPort: containerPort }],
    },
  };
}

function serviceName(index: number): string {
  return `service-${index}`;
}

/** In 10.128.0.0/9, where no pod starts; more than a run can use. */
export function newAddress(index: number): string {
  return podAddress((128 << 16) + index);
}

/** In 10.0.0.0/8. */
function podAddress(index: number): string {
  const number = index + 1;
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}
