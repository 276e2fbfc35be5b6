// The endpoints of a service as they are to appear in a target: decided by truth over the source's
// pods, slices and nodes, port by port, and put together again per pod. An endpoint that should get no
// requests is left out, so that a change is one write; one that terminates and still serves stays, as
// Kubernetes' own controller has it.

import type { SlicePort } from "../../kube/kinds/endpoint-slice.ts";
import { isTerminating, type Pod } from "../../kube/kinds/pod.ts";
import type { Service, ServicePort } from "../../kube/kinds/service.ts";
import {
  type ListedEndpoint,
  listedInEndpoints,
  listedInSlice,
} from "../../model/published-endpoint.ts";
import type { RememberedEndpoint } from "../../model/remembered-endpoint.ts";
import type { Evidence, ServiceSnapshot, UnlistedCluster } from "../../model/service-snapshot.ts";
import type { Doubt } from "../../sources/probes.ts";
import type { PublishedObjects } from "../../sources/published-watch.ts";
import { isRouted } from "../decision.ts";
import { maxServicePorts } from "../truth/candidates.ts";
import type { TruthEndpoint } from "../truth/judged.ts";
import { truth } from "../truth/truth.ts";
import type { TruthPolicy } from "../truth/truth-policy.ts";

/** The pod stays in it, so that an observer can tell it from its successor with the same address. */
export type SyncedEndpoint = ListedEndpoint;

export interface DecideInput {
  /** Only clusters that offer the service, without `unlisted`. */
  readonly snapshot: ServiceSnapshot;
  /** By cluster that has not been listed, the copies that are there. */
  readonly copies: ReadonlyMap<string, readonly SyncedEndpoint[]>;
  readonly isUnreachable: (cluster: string) => boolean;
  readonly policy: TruthPolicy;
  /** By port as `portKeyOf` has it, the results of probes; absent without probes. */
  readonly evidence?: (port: string) => Evidence;
  /** The source's objects about an endpoint, beyond its state. */
  readonly detailsOf: (endpoint: TruthEndpoint) => EndpointDetails | undefined;
}

export interface EndpointDetails {
  readonly pod: Pod | undefined;
  readonly listed: SyncedEndpoint | undefined;
  readonly zone: string | undefined;
}

export interface DecidedService {
  /** By cluster; every cluster of the snapshot and of `copies` is there. */
  readonly endpoints: ReadonlyMap<string, readonly SyncedEndpoint[]>;
  /** By port as `portKeyOf` has it. */
  readonly probeRequests: ReadonlyMap<string, readonly Doubt[]>;
}

export function decideEndpoints(input: DecideInput): DecidedService {
  const { snapshot, copies } = input;
  const found = new Map<string, Map<string, { first: SyncedEndpoint; ports: SlicePort[] }>>();
  for (const cluster of [...snapshot.clusters.map((one) => one.cluster), ...copies.keys()]) {
    found.set(cluster, new Map());
  }
  const probeRequests = new Map<string, readonly Doubt[]>();
  for (const asked of portsOf(input)) {
    const decided = decidePort(input, asked);
    if (decided.requests.length > 0) {
      probeRequests.set(portKeyOf(asked), decided.requests);
    }
    for (const { cluster, endpoint, port } of decided.endpoints) {
      const { address, ready, serving, terminating, targetRef } = endpoint;
      // Where the ports of one pod differ in state, they go to slices of their own.
      const key = `${address} ${targetRef?.uid ?? ""} ${ready} ${serving} ${terminating}`;
      const ofCluster = found.get(cluster);
      const known = ofCluster?.get(key);
      if (known !== undefined) known.ports.push(...(port === undefined ? [] : [port]));
      else ofCluster?.set(key, { first: endpoint, ports: port === undefined ? [] : [port] });
    }
  }
  const endpoints = [...found].map(([cluster, ofCluster]) => {
    const all = [...ofCluster.values()].map(({ first, ports }) => ({ ...first, ports }));
    return [cluster, all] as const;
  });
  return { endpoints: new Map(endpoints), probeRequests };
}

/** One port of the service in one address family. */
interface AskedPort {
  /** As slices name it, which is empty for a port without a name; undefined without ports. */
  readonly name: string | undefined;
  /** Undefined where no cluster's service names one. */
  readonly family: string | undefined;
  readonly isFirstFamily: boolean;
}

/** Of a key of probes: `http/IPv4`. */
function portKeyOf({ name, family }: AskedPort): string {
  return `${name ?? "*"}/${family ?? ""}`;
}

/** Of all clusters, each once. */
function portsOf({ snapshot, copies }: DecideInput): readonly AskedPort[] {
  const services = snapshot.clusters.map(({ service }) => service);
  const copied = [...copies.values()].flat();
  const names = new Set<string | undefined>();
  for (const { ports } of [...services, ...copied]) {
    if (ports.length === 0) names.add(undefined);
    for (const { name } of ports.slice(0, maxServicePorts)) names.add(name);
  }
  const named = [
    ...services.flatMap(({ ipFamilies }) => ipFamilies),
    ...copied.map(({ addressType }) => addressType),
  ];
  const families = named.length === 0 ? [undefined] : [...new Set(named)];
  return [...names].flatMap((name) =>
    families.map((family, index) => ({ name, family, isFirstFamily: index === 0 })),
  );
}

/** The number by which truth is asked, whatever number the port has in each cluster. */
const askedNumber = 1;

function decidePort(input: DecideInput, asked: AskedPort) {
  const { snapshot, copies, isUnreachable, policy, evidence } = input;
  const { doubts, unreached } = evidence?.(portKeyOf(asked)) ?? {};
  const clusters = snapshot.clusters.flatMap((facts) => {
    const service = atPort(facts.service, asked);
    if (service === undefined) return [];
    const standing = doubts && (doubts.get(facts.cluster) ?? new Map());
    return [{ ...facts, service, doubts: standing, unreached: unreached ?? new Set() }];
  });
  const unlisted = [...copies].map(([cluster, listed]): UnlistedCluster => {
    const remembered = listed.flatMap((one) => rememberedOf(cluster, one, asked));
    const none = { doubts: undefined, unreached: new Set<never>() };
    return { cluster, isUnreachable: isUnreachable(cluster), remembered, ...none };
  });
  const number = asked.name === undefined ? 0 : askedNumber;
  const decided = truth({ ...snapshot, clusters, unlisted }, number, policy);
  const priorities = decided.endpoints.filter(isRouted).map(({ priority = 0 }) => priority);
  const first = priorities.toSorted((one, other) => one - other)[0] ?? 0;
  const services = new Map(clusters.map(({ cluster, service }) => [cluster, service.ports[0]]));
  return {
    requests: decided.probeRequests,
    endpoints: decided.endpoints.flatMap((one) => {
      const endpoint = syncedEndpoint(input, one, first);
      if (endpoint === undefined) return [];
      const port = slicePort(asked, one, services.get(one.cluster));
      return [{ cluster: one.cluster, endpoint, port }];
    }),
  };
}

/** The service with this port and family alone; undefined if it has not both. */
function atPort(service: Service, { name, family, isFirstFamily }: AskedPort): Service | undefined {
  const { ports, ipFamilies } = service;
  if (ipFamilies.length === 0 && !isFirstFamily) return undefined;
  if (ipFamilies.length > 0 && family !== undefined && !ipFamilies.includes(family)) {
    return undefined;
  }
  const families = ipFamilies.length === 0 || family === undefined ? ipFamilies : [family];
  if (name === undefined) {
    return ports.length === 0 ? { ...service, ipFamilies: families } : undefined;
  }
  const found = ports.slice(0, maxServicePorts).find((one) => one.name === name);
  if (found === undefined) return undefined;
  return { ...service, ports: [{ ...found, port: askedNumber }], ipFamilies: families };
}

/** A copy is remembered by what it was before its cluster was distrusted. */
function rememberedOf(
  cluster: string,
  { address, addressType, ports, ready, terminating, targetRef }: SyncedEndpoint,
  { name, family }: AskedPort,
): readonly RememberedEndpoint[] {
  if (family !== undefined && addressType !== family) return [];
  const found = name === undefined ? undefined : ports.find((one) => one.name === name);
  if (name === undefined ? ports.length > 0 : found === undefined) return [];
  return [
    {
      cluster,
      address,
      port: found?.port ?? 0,
      ...(targetRef?.uid === undefined ? {} : { podUid: targetRef.uid, podName: targetRef.name }),
      ...(terminating && !ready ? { state: "draining" } : {}),
    },
  ];
}

function slicePort(
  { name }: AskedPort,
  { port }: TruthEndpoint,
  servicePort: ServicePort | undefined,
): SlicePort | undefined {
  if (name === undefined) return undefined;
  const { protocol = "TCP", appProtocol } = servicePort ?? {};
  return { name, port, protocol, appProtocol };
}

/** Undefined for one that should get no requests. */
function syncedEndpoint(
  input: DecideInput,
  decided: TruthEndpoint,
  firstPriority: number,
): SyncedEndpoint | undefined {
  const { address, state, podUid, podName, priority = 0 } = decided;
  if (state === "out" || state === "suspect") return undefined;
  const { pod, listed, zone } = input.detailsOf(decided) ?? {};
  const isLeaving = pod === undefined ? (listed?.terminating ?? false) : isTerminating(pod);
  const terminating = isLeaving || state === "draining";
  // Its cluster only stands in for others, which a slice can say only so.
  const isBehind = isRouted(decided) && priority > firstPriority;
  const ready = isRouted(decided) && !isBehind;
  const serving = ready || terminating || isBehind;
  const { namespace } = input.snapshot;
  const pods = podUid === undefined ? undefined : { kind: "Pod", namespace, uid: podUid };
  return {
    addressType: address.includes(":") ? "IPv6" : "IPv4",
    address,
    ports: [],
    ready,
    serving,
    terminating,
    hostname: pod === undefined ? listed?.hostname : hostnameOf(pod, input.snapshot.name),
    zone: zone ?? listed?.zone,
    nodeName: pod === undefined || pod.nodeName === "" ? listed?.nodeName : pod.nodeName,
    targetRef: pods === undefined ? listed?.targetRef : { ...pods, name: podName ?? "" },
  };
}

/** DNS names a pod so within a service of its subdomain. */
function hostnameOf({ hostname, subdomain }: Pod, service: string): string | undefined {
  return hostname !== undefined && hostname !== "" && subdomain === service ? hostname : undefined;
}

/** By address and pod, what the published objects list, the readier entry first. */
export function listedByAddress({
  slices,
  endpoints,
}: Pick<PublishedObjects, "slices" | "endpoints">): ReadonlyMap<string, SyncedEndpoint> {
  const listed = new Map<string, SyncedEndpoint>();
  const all = slices.flatMap(listedInSlice);
  for (const one of endpoints === undefined ? all : [...all, ...listedInEndpoints(endpoints)]) {
    const key = listedKey(one.address, one.targetRef?.uid);
    if (listed.get(key)?.ready !== true) listed.set(key, one);
  }
  return listed;
}

export function listedKey(address: string, uid: string | undefined): string {
  return `${address} ${uid ?? ""}`;
}
