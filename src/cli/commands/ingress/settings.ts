// Every setting of `lockstep ingress`. The flags, the config file, the help and `--print-config` all come
// from this table: to add a flag, add a row here and use it in `ingressConfig`.
import type { Backend } from "../../../decide/routing/route.ts";
import {
  isLoadBalancerAddress,
  loadBalancerAddress,
} from "../../../decide/status/load-balancer-address.ts";
import {
  defaultSpread,
  defaultUnreachable,
  defaultUnreachableAfterMs,
  spreads,
  unreachablePolicies,
} from "../../../decide/truth/truth-policy.ts";
import type { Environment } from "../../../environment/environment.ts";
import type { LeadershipSettings } from "../../../ingress/leadership.ts";
import { outsideIdentity, podIdentity } from "../../../kube/leader/leader-identity.ts";
import type { LockReference } from "../../../kube/leader/lease-record.ts";
import { accessLogPlaces } from "../../../outputs/nginx/nginx-servers.ts";
import {
  anyText,
  choice,
  duration,
  filePath,
  ipAddress,
  kubeconfigHelp,
  network,
  objectName,
  portNumber,
  portOrAny,
  portRange,
  refuse,
  wholeNumber,
} from "../../flags.ts";
import { list, one, onOff, optional, type Setting } from "./setting.ts";

const maxWorkers = 64;

const hourMs = 3_600_000;

/** nginx waits this long for its workers (proxy/nginx.conf). */
const drainTimeoutMaxMs = 30_000;

/** Ten years. */
const hstsMaxAgeMaxSeconds = 315_360_000;

const logLevels = ["debug", "info", "warn", "error"] as const;

const settings = {
  kubeconfig: optional("kubeconfig", filePath, {
    argument: "<file>",
    help: kubeconfigHelp,
  }),
  contexts: list({ field: "contexts", flag: "--context" }, anyText, {
    argument: "<name>",
    help: "context of a cluster with pods; repeatable",
  }),
  accessContext: optional("accessContext", anyText, {
    argument: "<name>",
    help: "context of the cluster with the Ingresses (default: the first --context)",
  }),
  class: one("class", anyText, "lockstep", {
    argument: "<name>",
    help: "Ingress class to serve",
    aliases: ["--ingress-class"],
  }),
  followSlices: onOff("followSlices", false, {
    help: "route by EndpointSlices only, ignore the pods",
    isLive: true,
  }),
  spread: one("spread", choice(spreads), defaultSpread, {
    argument: "<how>",
    help: "services in several clusters: local-first (prefer the access cluster) or even",
    isLive: true,
  }),
  unreachable: one("unreachable", choice(unreachablePolicies), defaultUnreachable, {
    argument: "<policy>",
    help: "endpoints of an unreachable cluster: keep, drop or distrust (use as a last resort)",
    isLive: true,
  }),
  unreachableAfter: one(
    "unreachableAfter",
    duration({ toMs: 24 * hourMs }),
    `${defaultUnreachableAfterMs / 1_000}s`,
    { argument: "<time>", help: "time until a silent cluster counts as unreachable", isLive: true },
  ),
  listen: list("listen", ipAddress, {
    argument: "<ip>",
    help: "listen address for all ports; repeatable",
    aliases: ["--http-address"],
    initial: ["0.0.0.0"],
  }),
  httpPort: one("httpPort", portNumber, "8080", {
    argument: "<port>",
    help: "port for requests without TLS",
  }),
  httpsPort: optional("httpsPort", portNumber, {
    argument: "<port>",
    help: "port for TLS, HTTP/1.1 and HTTP/2 (default: none)",
  }),
  publicHttpsPort: one("publicHttpsPort", portNumber, "443", {
    argument: "<port>",
    help: "port in redirects to https",
  }),
  grpcPort: optional("grpcPort", portNumber, {
    argument: "<port>",
    help: "port for HTTP/2 without TLS, for gRPC clients (default: none)",
  }),
  gatewayAddresses: list({ field: "gatewayAddresses", flag: "--gateway-address" }, ipAddress, {
    argument: "<ip>",
    help: "give each Gateway one of these addresses for itself; repeatable (default: all share)",
  }),
  gatewayPorts: list({ field: "gatewayPorts", flag: "--gateway-port" }, portRange, {
    argument: "<port>",
    help: "also open this port, or a range such as 9000-9009, for HTTP listeners of Gateways; repeatable",
  }),
  gatewayHttpsPorts: list({ field: "gatewayHttpsPorts", flag: "--gateway-https-port" }, portRange, {
    argument: "<port>",
    help: "the same for HTTPS listeners of Gateways; repeatable",
  }),
  proxyProtocol: onOff("proxyProtocol", false, {
    help: "expect the PROXY protocol on every connection",
  }),
  trustedProxies: list({ field: "trustedProxies", flag: "--trusted-proxy" }, network, {
    argument: "<network>",
    help: "trust forwarded headers from this network, such as 10.0.0.0/8; repeatable",
  }),
  upstreamCa: optional("upstreamCa", filePath, {
    argument: "<file>",
    help: "PEM file with the CA certificates for HTTPS endpoints",
  }),
  accessLog: one("accessLog", choice(accessLogPlaces), "file", {
    argument: "<where>",
    help: "file (logs/access.log in the prefix), stdout or off",
  }),
  defaultBackend: optional("defaultBackend", servicePort, {
    argument: "<service>",
    help: "namespace/name:port for requests without a matching route (default: answer 404)",
  }),
  defaultCertificate: optional("defaultCertificate", objectName, {
    argument: "<secret>",
    help: "namespace/name of the certificate for hosts without their own",
  }),
  shareHosts: onOff("shareHosts", false, {
    help: "allow routes of several namespaces for one host",
  }),
  authNamespaces: list({ field: "authNamespaces", flag: "--auth-namespace" }, authNamespace, {
    argument: "<name>",
    help: "allow auth-url of other namespaces to use services here; * for all; repeatable",
  }),
  allowLocalNames: onOff("allowLocalNames", false, {
    help: "allow ExternalName services with loopback and link-local addresses",
    isLive: true,
  }),
  sslRedirect: onOff("sslRedirect", true, {
    help: "with --https-port, redirect to https if the Ingress has TLS",
    helpWhenOff: "do not redirect to https",
  }),
  hstsMaxAge: optional("hstsMaxAge", wholeNumber(0, hstsMaxAgeMaxSeconds), {
    argument: "<seconds>",
    help: "max-age of the Strict-Transport-Security header over https (default: no header)",
  }),
  workers: one("workers", wholeNumber(1, maxWorkers), "2", {
    argument: "<n>",
    help: "number of nginx workers",
  }),
  prefix: optional("prefix", filePath, {
    argument: "<folder>",
    help:
      "folder of nginx (default: ~/.lockstep/ingress-<http-port>, " +
      "for root /var/lib/lockstep/ingress-<http-port>)",
  }),
  snapshot: onOff("snapshot", true, {
    help: "save the state with private keys, so that nginx can restart without Lockstep",
    helpWhenOff: "do not save the state and private keys",
  }),
  takeOver: onOff("takeOver", false, {
    help: "replace the Lockstep that uses this prefix; it ends when the new routes are ready",
  }),
  replaceState: onOff("replaceState", false, {
    help: "allow another class or other contexts than in the saved state",
  }),
  keepNginx: onOff("keepNginx", false, { help: "leave nginx running when Lockstep stops" }),
  drainDelay: optional("drainDelay", duration({ toMs: hourMs }), {
    argument: "<time>",
    help: "time to keep serving after a stop signal (default: 5s in a pod, else 0)",
  }),
  drainTimeout: one("drainTimeout", duration({ toMs: drainTimeoutMaxMs }), "10s", {
    argument: "<time>",
    help: "time for requests in progress after that",
  }),
  statusAddress: one("statusAddress", ipAddress, "127.0.0.1", {
    argument: "<ip>",
    help: "listen address of health, metrics and state; use 0.0.0.0 in a pod",
  }),
  statusPort: one("statusPort", portOrAny, "10260", {
    argument: "<port>",
    help: "port of health, metrics and state; 0: any free port",
  }),
  statusHosts: list({ field: "statusHosts", flag: "--status-host" }, addressOrName, {
    argument: "<name>",
    help: "also accept this host name there, besides IP addresses and localhost; repeatable",
  }),
  readyRequiresFresh: onOff("readyRequiresFresh", false, {
    help: "be unready while a watch is stale (see --stale-after)",
    isLive: true,
  }),
  staleAfter: one("staleAfter", duration({ toMs: 24 * hourMs }), "5m", {
    argument: "<time>",
    help: "age at which a watch counts as stale in /readyz",
    isLive: true,
  }),
  logLevel: one("logLevel", choice(logLevels), "info", {
    argument: "<level>",
    help: logLevels.join(", "),
    isLive: true,
  }),
  shadow: onOff("shadow", false, {
    help: "compare and report only, serve nothing, write nothing; needs no nginx",
  }),
  shadowProbe: onOff("shadowProbe", false, {
    help: "with --shadow, probe endpoints where the slices differ from the pods",
  }),
  publishAddresses: list({ field: "publishAddresses", flag: "--publish-address" }, addressOrName, {
    argument: "<address>",
    help: "IP address or host name for the status of the Ingresses; repeatable",
  }),
  lease: optional("lease", objectName, {
    argument: "<name>",
    help: "namespace/name of the Lease (default: lockstep-ingress-<class> in the pod's namespace)",
  }),
  deposeGhosts: onOff("deposeGhosts", false, {
    help: "take the Lease from a leader whose pod does not exist",
  }),
  watchLocks: list({ field: "watchLocks", flag: "--watch-lock" }, watchedLock, {
    argument: "<lock>",
    help: "also check this lock for ghosts: lease|configmap|endpoints/namespace/name; repeatable",
  }),
} as const;

/** The headings of the help, each by the first setting below it. */
export const settingGroups: Readonly<Record<string, string>> = {
  kubeconfig: "Clusters:",
  followSlices: "Endpoints:",
  listen: "Listeners and requests:",
  defaultBackend: "Routes:",
  workers: "nginx:",
  snapshot: "Start and stop:",
  statusAddress: "Health, metrics and log:",
  shadow: "Shadow mode:",
  publishAddresses: "Status of Ingresses and leader:",
};

export const ingressSettings: readonly Setting<unknown>[] = Object.values(settings);

/** Reads the value of a setting from the flags, the file or the default. */
type ReadSetting = <Value>(setting: Setting<Value>) => Value;

export type IngressConfig = ReturnType<typeof ingressConfig>;

export function ingressConfig(read: ReadSetting) {
  return {
    kubeconfig: read(settings.kubeconfig),
    contexts: read(settings.contexts),
    accessContext: read(settings.accessContext),
    class: read(settings.class),
    policy: {
      followSlices: read(settings.followSlices),
      spread: read(settings.spread),
      unreachable: read(settings.unreachable),
      unreachableAfterMs: read(settings.unreachableAfter),
      allowLocalNames: read(settings.allowLocalNames),
    },
    listen: read(settings.listen),
    httpPort: read(settings.httpPort),
    httpsPort: read(settings.httpsPort),
    grpcPort: read(settings.grpcPort),
    gatewayAddresses: read(settings.gatewayAddresses),
    gatewayPorts: read(settings.gatewayPorts).flat(),
    gatewayHttpsPorts: read(settings.gatewayHttpsPorts).flat(),
    proxyProtocol: read(settings.proxyProtocol),
    nginx: nginxOptions(read),
    routing: {
      defaultBackend: read(settings.defaultBackend),
      shareHosts: read(settings.shareHosts),
      authNamespaces: read(settings.authNamespaces),
      // Without a TLS port a redirect would fail; an Ingress can still ask for one.
      sslRedirect: read(settings.sslRedirect) && read(settings.httpsPort) !== undefined,
    },
    defaultCertificate: read(settings.defaultCertificate),
    prefix: read(settings.prefix),
    snapshot: read(settings.snapshot),
    takeOver: read(settings.takeOver),
    replaceState: read(settings.replaceState),
    keepNginx: read(settings.keepNginx),
    drainDelayMs: read(settings.drainDelay),
    drainTimeoutMs: read(settings.drainTimeout),
    statusAddress: read(settings.statusAddress),
    statusPort: read(settings.statusPort),
    statusHosts: read(settings.statusHosts),
    freshness: {
      readyRequiresFresh: read(settings.readyRequiresFresh),
      staleAfterMs: read(settings.staleAfter),
    },
    logLevel: read(settings.logLevel),
    shadow: read(settings.shadow),
    shadowProbe: read(settings.shadowProbe),
    leadership: {
      publishAddresses: read(settings.publishAddresses),
      lease: read(settings.lease),
      deposeGhosts: read(settings.deposeGhosts),
      watchLocks: read(settings.watchLocks),
    },
  };
}

/** Options that are not set are absent. */
function nginxOptions(read: ReadSetting) {
  const upstreamCa = read(settings.upstreamCa);
  const hstsMaxAgeSeconds = read(settings.hstsMaxAge);
  return {
    workers: read(settings.workers),
    publicHttpsPort: read(settings.publicHttpsPort),
    trustedProxies: read(settings.trustedProxies),
    accessLog: read(settings.accessLog),
    ...(upstreamCa !== undefined && { upstreamCa }),
    ...(hstsMaxAgeSeconds !== undefined && { hstsMaxAgeSeconds }),
  };
}

function servicePort(text: string): Backend {
  const [, namespace, name, port] = /^([^/:]+)\/([^/:]+):([^/:]+)$/.exec(text) ?? [];
  if (namespace !== undefined && name !== undefined && port !== undefined) {
    return { namespace, name, port: /^\d+$/.test(port) ? Number(port) : port };
  }
  return refuse("It must be namespace/name:port, with the number or name of the port.");
}

function authNamespace(text: string): string {
  if (text === "*" || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  return refuse("It must be the name of a namespace, or * for all.");
}

function addressOrName(text: string): string {
  if (isLoadBalancerAddress(text)) return text;
  return refuse("It must be an IP address or a host name in lower case.");
}

const lockKinds: ReadonlyMap<string, LockReference["kind"]> = new Map([
  ["lease", "Lease"],
  ["configmap", "ConfigMap"],
  ["endpoints", "Endpoints"],
]);

function watchedLock(text: string): LockReference {
  const [kindText = "", namespace, name, ...rest] = text.split("/");
  const kind = lockKinds.get(kindText.toLowerCase());
  if (kind !== undefined && namespace && name && rest.length === 0)
    return { kind, namespace, name };
  return refuse("It must be kind/namespace/name, with lease, configmap or endpoints as its kind.");
}

export const leadershipHelp = `
With --publish-address the leader writes that address into the status of every Ingress of the class.
The leader is the replica that holds the Lease. A replica that loses the Lease writes nothing more.
/state shows the leader and the time since it leads. In a pod, set POD_NAME, POD_NAMESPACE and POD_UID
with the downward API, so that other replicas can check that the leader exists.

A ghost is a leader whose pod no longer exists but still renews its lock, for example on a machine
that was removed from the cluster. Ghosts are logged and shown in /state, with --watch-lock also for
locks of other programs. With --depose-ghosts a replica takes Lockstep's own Lease from a ghost. A
replica that detects that it is the ghost gives up the Lease.`;

/** The identity for other replicas depends on whether this process is a pod of the access cluster. */
export function leadershipOf(
  { processes, random }: Pick<Environment, "processes" | "random">,
  config: IngressConfig["leadership"],
  options: { readonly className: string; readonly isOwnCluster: boolean },
): LeadershipSettings {
  const { publishAddresses, deposeGhosts, watchLocks: watchedLocks } = config;
  if (publishAddresses.length === 0) return { watchedLocks };
  const variable = (name: string): string | undefined => processes.variables[name] || undefined;
  // A pod of another cluster would look like a ghost in this cluster, and its namespace means nothing
  // here.
  const { isOwnCluster } = options;
  const ownNamespace = isOwnCluster ? variable("POD_NAMESPACE") : undefined;
  const [podName, podUid] = [variable("POD_NAME"), variable("POD_UID")];
  const isPod = isOwnCluster && podName !== undefined && podUid !== undefined;
  const identity = isPod
    ? podIdentity(podName, podUid)
    : outsideIdentity(variable("HOSTNAME") ?? "somewhere", random.uuid());
  const name = `lockstep-ingress-${options.className}`;
  const lease = config.lease ?? { namespace: ownNamespace ?? "default", name };
  // Replicas in other namespaces may use the same Lease.
  const podNamespace = config.lease === undefined ? ownNamespace : undefined;
  const addresses = publishAddresses.map(loadBalancerAddress);
  return { publish: { addresses, lease, identity, podNamespace, deposeGhosts }, watchedLocks };
}
