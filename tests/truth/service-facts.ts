// Snapshots of a service, written in a few words.

import { truth } from "../../src/decide/truth/truth.ts";
import type { MonotonicMs, WallMs } from "../../src/environment/clock.ts";
import type { ObjectMeta } from "../../src/kube/kinds/kind.ts";
import type { Pod } from "../../src/kube/kinds/pod.ts";
import type { Service } from "../../src/kube/kinds/service.ts";
import type { PublishedEndpoint } from "../../src/model/published-endpoint.ts";
import type {
  PodFact,
  ServiceInCluster,
  ServiceSnapshot,
} from "../../src/model/service-snapshot.ts";
import type { Departure } from "../../src/sources/departed-pods.ts";
import { type EndpointId, endpointId } from "../../src/sources/endpoint-id.ts";
import { selects } from "../../src/sources/service-pods.ts";
import type { WatchStatus } from "../../src/sources/watch-status.ts";

export const seenAtMs = 1_000 as MonotonicMs;

export const freshWatch: WatchStatus = { state: "fresh", detail: "", currentAtMs: seenAtMs };

export const staleWatch: WatchStatus = {
  state: "stale",
  detail: "the server has not been reached for over 20 s",
  currentAtMs: undefined,
};

export const refusedWatch: WatchStatus = {
  state: "refused",
  detail: "pods is forbidden",
  currentAtMs: undefined,
};

export function metadata(name: string, fields: Partial<ObjectMeta> = {}): ObjectMeta {
  return {
    namespace: "shop",
    name,
    uid: `uid-${name}`,
    resourceVersion: "1",
    creationTimestamp: undefined,
    deletionTimestamp: undefined,
    deletionGracePeriodSeconds: undefined,
    labels: {},
    ...fields,
  };
}

export function service(fields: Partial<Service> = {}): Service {
  return {
    metadata: metadata("web"),
    annotations: {},
    type: "ClusterIP",
    clusterIP: "10.96.0.1",
    clusterIPs: ["10.96.0.1"],
    ipFamilies: ["IPv4"],
    externalName: undefined,
    selector: { app: "web" },
    ports: [
      { name: "http", port: 80, protocol: "TCP", targetPort: 8080, appProtocol: undefined },
      { name: "admin", port: 81, protocol: "TCP", targetPort: "manage", appProtocol: undefined },
    ],
    publishNotReadyAddresses: false,
    sessionAffinity: "None",
    ...fields,
  };
}

/** A ready pod `web-<number>` with the address 10.0.0.<number>, unless the fields say otherwise. */
export function pod(number: number, fields: Partial<Pod> & { terminating?: boolean } = {}): Pod {
  const { terminating, ...own } = fields;
  const deletionTimestamp = terminating === true ? (5_000 as WallMs) : undefined;
  return {
    metadata: metadata(`web-${number}`, { labels: { app: "web" }, deletionTimestamp }),
    nodeName: "n1",
    hostNetwork: false,
    phase: "Running",
    podIP: `10.0.0.${number}`,
    secondPodIP: undefined,
    hostname: undefined,
    subdomain: undefined,
    restartPolicy: "Always",
    ready: "True",
    readyTransitionTime: undefined,
    containersReady: "True",
    containersReadyTransitionTime: undefined,
    finishedAt: undefined,
    hasReadinessGates: false,
    ports: [{ name: "manage", containerPort: 9000 + number, protocol: "TCP" }],
    readinessProbe: undefined,
    ...own,
  };
}

/** How the slice lists the pod of this number. */
export function listed(number: number, fields: Partial<PublishedEndpoint> = {}): PublishedEndpoint {
  const ready = fields.ready ?? true;
  return {
    object: "endpointslices/web-abc",
    seenAtMs,
    address: `10.0.0.${number}`,
    ports: [
      { name: "http", port: 8080, protocol: "TCP" },
      { name: "admin", port: 9000 + number, protocol: "TCP" },
    ],
    ready,
    serving: ready,
    terminating: false,
    pod: { name: `web-${number}`, uid: `uid-web-${number}` },
    ...fields,
  };
}

export interface FactsInWords {
  readonly cluster?: string;
  readonly service?: Service;
  readonly podWatch?: WatchStatus;
  readonly pods?: readonly Pod[];
  readonly publishedWatch?: WatchStatus;
  readonly isUnreachable?: boolean;
  /** Uids of pods known to be gone, whose deletion was seen. */
  readonly gone?: readonly string[];
  /** Uids of pods known to be gone because a list came without them. */
  readonly lost?: readonly string[];
  /** Pods of other services, which may have the same addresses. */
  readonly strangers?: readonly Pod[];
  readonly published?: readonly PublishedEndpoint[];
  /** There are no probes when absent. */
  readonly doubts?: ServiceInCluster["doubts"];
  /** Numbers of pods that requests did not reach. */
  readonly unreached?: readonly number[];
}

export function inCluster(words: FactsInWords = {}): ServiceInCluster {
  const one = words.service ?? service();
  const pods = (words.pods ?? []).map(
    (each): PodFact => ({
      pod: each,
      seenAtMs,
      selected: selects(one.selector, each.metadata.labels),
    }),
  );
  return {
    cluster: words.cluster ?? "east",
    isUnreachable: words.isUnreachable ?? false,
    service: one,
    serviceSeenAtMs: seenAtMs,
    services: freshWatch,
    pods: {
      watch: words.podWatch ?? freshWatch,
      pods,
      gone: departures(words),
      addressClaimants: claimantsAmong([...(words.pods ?? []), ...(words.strangers ?? [])]),
    },
    published: {
      watch: words.publishedWatch ?? freshWatch,
      form: "endpointslices",
      endpoints: words.published ?? [],
    },
    doubts: words.doubts,
    unreached: new Set((words.unreached ?? []).map(podPeer)),
  };
}

function departures({ gone = [], lost = [] }: FactsInWords): ReadonlyMap<string, Departure> {
  const departed = new Map<string, Departure>();
  for (const uid of gone) departed.set(uid, { atMs: seenAtMs, isWitnessed: true });
  for (const uid of lost) departed.set(uid, { atMs: seenAtMs, isWitnessed: false });
  return departed;
}

/** Every address that more than one pod, or another service's, has. */
function claimantsAmong(pods: readonly Pod[]): ReadonlyMap<string, readonly Pod[]> {
  const at = new Map<string, Pod[]>();
  for (const one of pods) at.set(one.podIP, [...(at.get(one.podIP) ?? []), one]);
  return at;
}

/** The pod of this number at the service's first port. */
export function podPeer(number: number): EndpointId {
  return endpointId({ address: `10.0.0.${number}`, port: 8080, podUid: `uid-web-${number}` });
}

export function snapshot(...clusters: readonly ServiceInCluster[]): ServiceSnapshot {
  return { namespace: "shop", name: "web", clusters };
}

/** Each endpoint in one cluster as `address:port state (rule): reason`. */
export function rowsOf(
  words: FactsInWords,
  options: { readonly port?: number | string; readonly followSlices?: boolean } = {},
): readonly string[] {
  const { port = 80, followSlices = false } = options;
  const { endpoints } = truth(snapshot(inCluster(words)), port, { followSlices });
  return endpoints.map(
    ({ address, port: number, state, rule, reason }) =>
      `${address}:${number} ${state} (${rule}): ${reason}`,
  );
}
