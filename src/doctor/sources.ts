// The sources of evidence, of which each cause names those that can show it: whether a body of evidence has
// one, and how to provide it. A cause without any of its sources was not examined.
import type { Evidence } from "./evidence/evidence.ts";
import type { Hop } from "./finding.ts";

/** An entry stands for all texts or samples of its kind. */
export type SourceName =
  | "access log"
  | "apiserver log"
  | "audit log"
  | "client log"
  | "copied changes"
  | "endpoints"
  | "etcd log"
  | "headless services"
  | "heartbeats"
  | "ingresses"
  | "kubelet log"
  | "kubernetes addresses"
  | "locks"
  | "locks and pods"
  | "manager log"
  | "manager metrics"
  | "proxy log"
  | "published changes"
  | "removed endpoints"
  | "routed changes"
  | "server caches"
  | "services and endpoints"
  | "version"
  | "version up to 1.7";

interface Source {
  isIn(evidence: Evidence): boolean;
  /** A command or a file; sources that are provided by the same have the same text. */
  readonly provide: string;
}

const provide = {
  objects: "kubectl get services,endpoints,pods,ingresses,leases,configmaps -A -o yaml",
  apiserver: "log of each API server",
  etcd: "log of each etcd member",
  manager: "log of kube-controller-manager",
  kubelet: "logs of kubelets",
  proxy: "log and access log of the ingress controller",
  client: "logs of the components that read EndpointSlices",
  audit: "audit log of each API server",
  live: "lockstep doctor --context NAME",
  changes: "lockstep record, while endpoints change",
  version: "kubectl version",
} as const;

/** All that a report can ask for. */
export const provisions: readonly string[] = Object.values(provide);

const sources: Readonly<Record<SourceName, Source>> = {
  "access log": {
    isIn: ({ requests }) => requests.isRead,
    provide: provide.proxy,
  },
  "apiserver log": { isIn: hasLog(/kube-apiserver/), provide: provide.apiserver },
  "audit log": { isIn: ({ objects }) => objects.audit.events > 0, provide: provide.audit },
  "client log": { isIn: hasLog(/^/), provide: provide.client },
  "copied changes": { isIn: hasHop("synced"), provide: provide.changes },
  endpoints: { isIn: hasKinds("Endpoints"), provide: provide.objects },
  "etcd log": { isIn: hasLog(/etcd/), provide: provide.etcd },
  "headless services": { isIn: hasKinds("Service", "Endpoints"), provide: provide.objects },
  heartbeats: {
    isIn: ({ objects }) => objects.observed.heartbeats.size > 0,
    provide: provide.live,
  },
  ingresses: { isIn: hasKinds("Ingress"), provide: provide.objects },
  "kubelet log": { isIn: hasLog(/kubelet/), provide: provide.kubelet },
  "kubernetes addresses": {
    isIn: ({ objects, signs }) =>
      objects.observed.kubernetes !== undefined ||
      signs.get("kubernetes-endpoints-seen") !== undefined,
    provide: provide.live,
  },
  locks: { isIn: hasLocks, provide: provide.objects },
  "locks and pods": {
    isIn: (evidence) => hasLocks(evidence) && evidence.objects.pods.size > 0,
    provide: provide.objects,
  },
  "manager log": { isIn: hasLog(/controller-manager/), provide: provide.manager },
  "manager metrics": {
    isIn: ({ metrics }) => metrics.some(({ component }) => component === "kube-controller-manager"),
    provide: provide.live,
  },
  "proxy log": {
    isIn: (evidence) =>
      evidence.requests.isRead ||
      hasLog(/ingress|nginx|traefik|envoy|haproxy|kong|apisix|linkerd|contour/)(evidence),
    provide: provide.proxy,
  },
  "published changes": { isIn: hasHop("published"), provide: provide.live },
  "removed endpoints": { isIn: hasHop("published"), provide: provide.live },
  "routed changes": { isIn: hasHop("routed"), provide: provide.changes },
  "server caches": {
    isIn: ({ objects }) => objects.apiServers.all.some(({ object }) => object !== undefined),
    provide: provide.live,
  },
  "services and endpoints": {
    isIn: ({ objects }) =>
      objects.kinds.has("Service") &&
      (objects.kinds.has("Endpoints") || objects.pods.size > 0 || objects.labelled.length > 0),
    provide: provide.objects,
  },
  version: { isIn: ({ settings }) => settings.version !== undefined, provide: provide.version },
  "version up to 1.7": {
    isIn: ({ settings }) => settings.version !== undefined,
    provide: provide.version,
  },
};

/** Causes that were not examined, and the evidence that all of them lack. */
export interface Unexamined {
  readonly rules: readonly string[];
  /** A command or a file that provides it. */
  readonly provide: string;
}

/** Those without any of their sources, by the first of them; the evidence for most causes comes first. */
export function unexaminedCauses(
  causes: readonly { readonly name: string; readonly shownBy: readonly SourceName[] }[],
  evidence: Evidence,
): readonly Unexamined[] {
  const byProvider = new Map<string, string[]>();
  for (const { name, shownBy } of causes) {
    if (shownBy.some((source) => sources[source].isIn(evidence))) continue;
    const [first] = shownBy;
    if (first === undefined) continue;
    const how = sources[first].provide;
    byProvider.set(how, [...(byProvider.get(how) ?? []), name]);
  }
  return [...byProvider]
    .map(([how, rules]) => ({ rules, provide: how }))
    .sort((a, b) => b.rules.length - a.rules.length);
}

function hasLog(program: RegExp): Source["isIn"] {
  return ({ signs }) => [...signs.programs].some((name) => program.test(name));
}

function hasKinds(...kinds: readonly string[]): Source["isIn"] {
  return ({ objects }) => kinds.every((kind) => objects.kinds.has(kind));
}

function hasHop(hop: Hop): Source["isIn"] {
  return ({ journeys }) =>
    journeys !== undefined &&
    (hop === "published" ||
      journeys.journeys.some(({ hops }) => hops.some((one) => one.hop === hop)));
}

function hasLocks({ objects }: Evidence): boolean {
  return (
    objects.leaders.length > 0 || objects.observed.locks.size > 0 || objects.kinds.has("Lease")
  );
}
