// Every setting of `lockstep ingress`, and what they are together. The flags, the config file, the
// help and `--print-config` all come from this table.
import type { Backend } from "../../decide/routing/route.ts";
import { isLoadBalancerAddress } from "../../decide/status/load-balancer-address.ts";
import {
  defaultSpread,
  defaultUnreachable,
  defaultUnreachableAfterMs,
  spreads,
  unreachablePolicies,
} from "../../decide/truth/truth-policy.ts";
import type { LockReference } from "../../kube/leader/lease-record.ts";
import { accessLogPlaces } from "../../outputs/nginx/nginx-servers.ts";
import { list, one, onOff, optional, type Setting, SettingError } from "./setting.ts";
import {
  anyText,
  choice,
  duration,
  filePath,
  ipAddress,
  network,
  objectName,
  portNumber,
  portOrAny,
  whole,
} from "./setting-values.ts";

/** More than any machine has cores for. */
const maxWorkers = 64;

const hourMs = 3_600_000;

/** As long as nginx waits for its workers by itself (proxy/nginx.conf). */
const drainTimeoutMaxMs = 30_000;

/** Ten years; browsers remember no longer than some of them. */
const hstsMaxAgeMaxSeconds = 315_360_000;

export const logLevels = ["debug", "info", "warn", "error"] as const;

const settings = {
  // Clusters
  kubeconfig: optional("kubeconfig", filePath, {
    argument: "<file>",
    help: "instead of $KUBECONFIG or ~/.kube/config",
  }),
  contexts: list({ field: "contexts", flag: "--context" }, anyText, {
    argument: "<name>",
    help: "a cluster where pods run; repeatable",
  }),
  accessContext: optional("accessContext", anyText, {
    argument: "<name>",
    help: "the cluster with the Ingresses; the first --context if absent",
  }),
  class: one("class", anyText, "lockstep", {
    argument: "<name>",
    help: "the Ingress class to serve",
    aliases: ["--ingress-class"],
  }),
  // Truth
  followSlices: onOff("followSlices", false, {
    help: "route by the EndpointSlices alone",
    isLive: true,
  }),
  spread: one("spread", choice(spreads), defaultSpread, {
    argument: "<how>",
    help: "where several clusters have a service: local-first (the access cluster) or even",
    isLive: true,
  }),
  unreachable: one("unreachable", choice(unreachablePolicies), defaultUnreachable, {
    argument: "<policy>",
    help: "endpoints of a cluster that does not answer: keep, drop or distrust",
    isLive: true,
  }),
  unreachableAfter: one(
    "unreachableAfter",
    duration(24 * hourMs),
    `${defaultUnreachableAfterMs / 1_000}s`,
    { argument: "<time>", help: "how long a cluster may be silent before that", isLive: true },
  ),
  // Requests
  listen: list("listen", ipAddress, {
    argument: "<ip>",
    help: "address to serve on, with every port; repeatable",
    aliases: ["--http-address"],
    initial: ["0.0.0.0"],
  }),
  httpPort: one("httpPort", portNumber, "8080", {
    argument: "<port>",
    help: "port for requests without TLS",
  }),
  httpsPort: optional("httpsPort", portNumber, {
    argument: "<port>",
    help: "port for TLS, HTTP/1.1 and HTTP/2; none if absent",
  }),
  publicHttpsPort: one("publicHttpsPort", portNumber, "443", {
    argument: "<port>",
    help: "port of the https addresses that requests without TLS are sent to",
  }),
  grpcPort: optional("grpcPort", portNumber, {
    argument: "<port>",
    help: "port for HTTP/2 without TLS, as gRPC clients speak it; none if absent",
  }),
  proxyProtocol: onOff("proxyProtocol", false, {
    help: "expect the PROXY protocol at the beginning of every connection",
  }),
  trustedProxies: list({ field: "trustedProxies", flag: "--trusted-proxy" }, network, {
    argument: "<network>",
    help: "believe what these say of the client, as 10.0.0.0/8; repeatable",
  }),
  upstreamCa: optional("upstreamCa", filePath, {
    argument: "<file>",
    help: "PEM with the authorities that HTTPS endpoints are verified by",
  }),
  accessLog: one("accessLog", choice(accessLogPlaces), "file", {
    argument: "<where>",
    help: "file (logs/access.log in the prefix), stdout or off",
  }),
  // Routes
  defaultBackend: optional("defaultBackend", servicePort, {
    argument: "<service>",
    help: "namespace/name:port that gets what no route wants; 404 if absent",
  }),
  defaultCertificate: optional("defaultCertificate", objectName, {
    argument: "<secret>",
    help: "namespace/name, shown for names that no Ingress has a certificate for",
  }),
  shareHosts: onOff("shareHosts", false, {
    help: "let several namespaces have routes of one host",
  }),
  authNamespaces: list({ field: "authNamespaces", flag: "--auth-namespace" }, authNamespace, {
    argument: "<name>",
    help: "let auth-url of every namespace lead to this one; * for all; repeatable",
  }),
  allowLocalNames: onOff("allowLocalNames", false, {
    help: "let ExternalName services lead to loopback and link-local addresses",
    isLive: true,
  }),
  sslRedirect: onOff("sslRedirect", true, {
    help: "with --https-port, send requests to https where the Ingress has TLS",
    helpWhenOff: "serve requests without TLS also where the Ingress has it",
  }),
  hstsMaxAge: optional("hstsMaxAge", whole(0, hstsMaxAgeMaxSeconds), {
    argument: "<seconds>",
    help: "send Strict-Transport-Security with this max-age over https; none if absent",
  }),
  workers: one("workers", whole(1, maxWorkers), "2", { argument: "<n>", help: "nginx workers" }),
  prefix: optional("prefix", filePath, {
    argument: "<folder>",
    help:
      "nginx's own folder; ~/.lockstep/ingress-<http-port> if absent, " +
      "for root /var/lib/lockstep/ingress-<http-port>",
  }),
  // Life
  snapshot: onOff("snapshot", true, {
    help: "save the state, private keys included, for an nginx that comes back alone",
    helpWhenOff: "save nothing for an nginx that comes back alone, private keys neither",
  }),
  takeOver: onOff("takeOver", false, {
    help: "replace a Lockstep that serves with this prefix; it ends once the routes here are decided",
  }),
  replaceState: onOff("replaceState", false, {
    help: "serve another class or other contexts than the state saved in the prefix",
  }),
  keepNginx: onOff("keepNginx", false, { help: "leave nginx serving when stopped" }),
  drainDelay: optional("drainDelay", duration(hourMs), {
    argument: "<time>",
    help: "serve on for so long when stopped, no longer ready; 5s in a pod, else 0",
  }),
  drainTimeout: one("drainTimeout", duration(drainTimeoutMaxMs), "10s", {
    argument: "<time>",
    help: "then how long requests under way may take",
  }),
  // Questions
  statusAddress: one("statusAddress", ipAddress, "127.0.0.1", {
    argument: "<ip>",
    help: "where health, metrics and state are; in a pod 0.0.0.0 for the kubelet",
  }),
  statusPort: one("statusPort", portOrAny, "10260", {
    argument: "<port>",
    help: "port of health, metrics and state; 0 for any",
  }),
  statusHosts: list({ field: "statusHosts", flag: "--status-host" }, addressOrName, {
    argument: "<name>",
    help: "answer there for this name too, beside IP addresses and localhost; repeatable",
  }),
  readyRequiresFresh: onOff("readyRequiresFresh", false, {
    help: "be unready while a watch is older than --stale-after",
    isLive: true,
  }),
  staleAfter: one("staleAfter", duration(24 * hourMs), "5m", {
    argument: "<time>",
    help: "from when on /readyz says that a watch is stale",
    isLive: true,
  }),
  logLevel: one("logLevel", choice(logLevels), "info", {
    argument: "<level>",
    help: logLevels.join(", "),
    isLive: true,
  }),
  // Shadow
  shadow: onOff("shadow", false, {
    help: "decide and report, serve and write nothing; needs no nginx",
  }),
  shadowProbe: onOff("shadowProbe", false, {
    help: "with --shadow, ask the endpoints that slices and truth disagree about",
  }),
  // Status and leader
  publishAddresses: list({ field: "publishAddresses", flag: "--publish-address" }, addressOrName, {
    argument: "<address>",
    help: "write this IP or host name into the Ingresses' status; repeatable",
  }),
  lease: optional("lease", objectName, {
    argument: "<name>",
    help: "namespace/name; lockstep-ingress-<class> in the pod's own namespace if absent",
  }),
  deposeGhosts: onOff("deposeGhosts", false, {
    help: "take the Lease from a holder that provably does not exist",
  }),
  watchLocks: list({ field: "watchLocks", flag: "--watch-lock" }, watchedLock, {
    argument: "<lock>",
    help: "name ghosts here too: lease|configmap|endpoints/namespace/name; repeatable",
  }),
} as const;

export const ingressSettings: readonly Setting<unknown>[] = Object.values(settings);

/** What each setting is, of whoever says so. */
export type ReadSetting = <Value>(setting: Setting<Value>) => Value;

/** The settings together; see the table for what each is. */
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
    proxyProtocol: read(settings.proxyProtocol),
    nginx: nginxOptions(read),
    routing: {
      defaultBackend: read(settings.defaultBackend),
      shareHosts: read(settings.shareHosts),
      authNamespaces: read(settings.authNamespaces),
      // Without a port for TLS the way there would lead nowhere, unless an Ingress knows better.
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

/** As nginx takes them: what is not asked for is absent. */
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
  throw new SettingError("It must be namespace/name:port, with the number or name of the port.");
}

function authNamespace(text: string): string {
  if (text === "*" || /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text)) return text;
  throw new SettingError("It must be the name of a namespace, or * for all.");
}

function addressOrName(text: string): string {
  if (isLoadBalancerAddress(text)) return text;
  throw new SettingError("It must be an IP address or a host name in lower case.");
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
  throw new SettingError(
    "It must be kind/namespace/name, with lease, configmap or endpoints as its kind.",
  );
}
