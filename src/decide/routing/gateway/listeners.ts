// The listeners of Gateways: which of them the proxy can serve, and why it cannot serve the others. The
// ports are the proxy's, and so are the addresses unless a Gateway has one for itself. Pure.
import type { Gateway, GatewayListener, RouteKind } from "../../../kube/kinds/gateway.ts";
import { gatewayGroup } from "../../../kube/kinds/gateway-class.ts";
import type { RouteKindName } from "../../../kube/kinds/http-route.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import type { SecretReference } from "../../../sources/secret-source.ts";
import type { CheckedSecret } from "../checked-secret.ts";
import { anyHost, hostOf } from "../host-name.ts";
import type { RouteOrigin } from "../route.ts";
import { shown } from "../shown-text.ts";
import { condition, type GatewayCondition } from "./gateway-condition.ts";
import { namesOver } from "./gateway-hosts.ts";
import type { ReferenceGrants } from "./reference-grants.ts";

/**
 * By port that a listener may name, the port of the proxy where its requests come in. They are fixed when
 * the proxy starts. Where a load balancer is in front of it, the two are different.
 */
export interface ProxyPorts {
  readonly http: ReadonlyMap<number, number>;
  /** Without TLS, for HTTP/2 alone, which gRPC needs. None of `http`. */
  readonly grpc?: ReadonlyMap<number, number>;
  readonly https: ReadonlyMap<number, number>;
}

export interface ListenerFacts {
  readonly ports: ProxyPorts;
  /** Addresses of the proxy, of which each Gateway gets one; all share all addresses when absent. */
  readonly addresses?: readonly string[] | undefined;
  readonly grants: ReferenceGrants;
  /** By `namespace/name`, the state of a secret of certificates. */
  readonly certificate: (reference: SecretReference) => CheckedSecret;
}

export interface DecidedListener {
  readonly gateway: Gateway;
  readonly listener: GatewayListener;
  readonly origin: RouteOrigin;
  readonly host: string;
  /** Of the proxy. */
  readonly port: number;
  /** Of the proxy, and of this Gateway alone; undefined for all of the proxy's. */
  readonly address: string | undefined;
  /** Requests for it can come in, and routes be attached. */
  readonly isAccepted: boolean;
  readonly kinds: readonly RouteKindName[];
  /** The secret whose certificate it shows; undefined where it shows none. */
  readonly secret: SecretReference | undefined;
  /** Accepted, Programmed, ResolvedRefs, Conflicted. */
  readonly conditions: readonly GatewayCondition[];
}

export function gatewayOrigin(gateway: Gateway): RouteOrigin {
  const { namespace, name, creationTimestamp } = gateway.metadata;
  const createdAtMs = creationTimestamp ?? Number.POSITIVE_INFINITY;
  return { kind: "Gateway", namespace, name, createdAtMs };
}

export function decideListeners(
  gateway: Gateway,
  facts: ListenerFacts,
  address?: string,
): readonly DecidedListener[] {
  const origin = gatewayOrigin(gateway);
  return gateway.listeners.map((listener) => {
    const host = hostOf(listener.hostname);
    const hasAddress = address !== undefined || (facts.addresses ?? []).length === 0;
    const problem =
      acceptProblem(gateway, listener, host, facts) ?? (hasAddress ? undefined : noAddress);
    const conflict = problem === undefined ? conflictOf(gateway, listener) : undefined;
    const kinds = supportedKinds(listener, facts.ports);
    const references = referencesOf(gateway, listener, kinds, facts);
    const isAccepted = problem === undefined && conflict === undefined;
    const isProgrammed = isAccepted && references.problem === undefined;
    const [reason, message] = problem ?? conflict ?? ["Accepted", ""];
    const why = problem ?? conflict ?? references.problem;
    return {
      gateway,
      listener,
      origin,
      host: host ?? anyHost,
      port: openPorts(listener, facts.ports).get(listener.port) ?? listener.port,
      address,
      isAccepted,
      kinds,
      secret: isAccepted ? references.secret : undefined,
      conditions: [
        condition("Accepted", isAccepted, reason, message),
        isProgrammed
          ? condition("Programmed", true, "Programmed")
          : condition("Programmed", false, "Invalid", why?.[1]),
        references.problem === undefined
          ? condition("ResolvedRefs", true, "ResolvedRefs")
          : condition("ResolvedRefs", false, ...references.problem),
        conflict === undefined
          ? condition("Conflicted", false, "NoConflicts")
          : condition("Conflicted", true, ...conflict),
      ],
    };
  });
}

/** In one message of a status. */
const maxShownRanges = 20;

type Problem = readonly [reason: string, message: string];

/** At the addresses of others its routes would be reached beside theirs. */
const noAddress: Problem = ["PortUnavailable", "the Gateway has no address for itself"];

function acceptProblem(
  gateway: Gateway,
  { port, protocol, tls, hostname }: GatewayListener,
  host: string | undefined,
  { ports }: ListenerFacts,
): Problem | undefined {
  if (protocol !== "HTTP" && protocol !== "HTTPS") {
    return [
      "UnsupportedProtocol",
      `protocol ${shown(protocol)} is not supported: use HTTP or HTTPS`,
    ];
  }
  const open = openPorts({ protocol }, ports);
  if (!open.has(port)) {
    const flag = protocol === "HTTPS" ? "--gateway-https-port" : "--gateway-port";
    const what = `the proxy does not listen on port ${port} for ${protocol}`;
    const how = `it opens its ports when it starts (${rangesOf(open.keys())}): use one of them`;
    return ["PortUnavailable", `${what}; ${how}, or start it with ${flag} ${port}`];
  }
  if (host === undefined) return ["Invalid", `${shown(hostname)} is not a host name`];
  const strange = unsupportedAddress(gateway);
  if (strange !== undefined) return ["Invalid", strange];
  // Served without these, a listener would let in clients that it is to refuse.
  const unread = [...gateway.unread.map((one) => `spec.${one}`), ...(tls?.unread ?? [])];
  if (unread.length > 0) return ["Invalid", `${unread.join(", ")}: this is not supported`];
  if (protocol === "HTTPS" && tls?.mode !== "Terminate") {
    return ["Invalid", "an HTTPS listener needs tls with mode Terminate"];
  }
  return undefined;
}

/** In words, the address whose type nothing here can give; then the Gateway is not served. */
export function unsupportedAddress({ addresses }: Gateway): string | undefined {
  const found = addresses.find(({ type }) => type !== "IPAddress" && type !== "Hostname");
  if (found === undefined) return undefined;
  const { type } = found;
  return `spec.addresses: type ${shown(type)} is not supported: use IPAddress or Hostname`;
}

/** `80, 9000-9009`; of many the first ones. */
function rangesOf(ports: Iterable<number>): string {
  const ranges: [from: number, to: number][] = [];
  for (const port of [...ports].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last !== undefined && last[1] === port - 1) last[1] = port;
    else ranges.push([port, port]);
  }
  const texts = ranges.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`));
  const more = texts.length > maxShownRanges ? ["…"] : [];
  return [...texts.slice(0, maxShownRanges), ...more].join(", ") || "none";
}

function openPorts(
  { protocol }: Pick<GatewayListener, "protocol">,
  { http, grpc = new Map(), https }: ProxyPorts,
): ReadonlyMap<number, number> {
  return protocol === "HTTPS" ? https : new Map([...http, ...grpc]);
}

/** With an earlier listener of the Gateway: that one keeps its port, or its name. */
function conflictOf(gateway: Gateway, listener: GatewayListener): Problem | undefined {
  for (const other of gateway.listeners) {
    if (other === listener) return undefined;
    if (other.port !== listener.port) continue;
    const where = `listener ${shown(other.name)} has the same port`;
    if (other.protocol !== listener.protocol) {
      return ["ProtocolConflict", `${where} with another protocol`];
    }
    if (other.hostname === listener.hostname) {
      return ["HostnameConflict", `${where} and the same host name`];
    }
  }
  return undefined;
}

/** gRPC needs HTTP/2. Without TLS a port of the proxy has either that or HTTP/1.1. */
function possibleKinds(
  { protocol, port }: GatewayListener,
  { grpc }: ProxyPorts,
): readonly RouteKindName[] {
  if (protocol !== "HTTP" && protocol !== "HTTPS") return [];
  const hasHttp2 = protocol === "HTTPS" || grpc?.has(port) === true;
  return hasHttp2 ? ["HTTPRoute", "GRPCRoute"] : ["HTTPRoute"];
}

function supportedKinds(listener: GatewayListener, ports: ProxyPorts): readonly RouteKindName[] {
  const { kinds } = listener;
  return possibleKinds(listener, ports).filter(
    (one) =>
      kinds.length === 0 || kinds.some(({ group, kind }) => group === gatewayGroup && kind === one),
  );
}

interface References {
  readonly secret?: SecretReference;
  readonly problem?: Problem;
}

function referencesOf(
  gateway: Gateway,
  listener: GatewayListener,
  supported: readonly RouteKindName[],
  { grants, certificate, ports }: ListenerFacts,
): References {
  const { kinds, tls, protocol } = listener;
  const isSupported = ({ group, kind }: RouteKind): boolean =>
    group === gatewayGroup && supported.some((one) => one === kind);
  if (!kinds.every(isSupported)) {
    const possible = possibleKinds(listener, ports).join(" and ") || "nothing";
    const what = `allowedRoutes.kinds: only ${possible} is possible at a listener of this port`;
    return { problem: ["InvalidRouteKinds", what] };
  }
  if (protocol !== "HTTPS" || tls === undefined) return {};
  const [first, ...others] = tls.certificateRefs;
  if (first === undefined) {
    return { problem: ["InvalidCertificateRef", "tls.certificateRefs is empty"] };
  }
  if (others.length > 0) {
    const what = "one certificate per listener is supported: add a listener for the other names";
    return { problem: ["InvalidCertificateRef", what] };
  }
  const { namespace } = gateway.metadata;
  const target = { ...first, namespace: first.namespace ?? namespace };
  const key = objectKey(target);
  if (target.group !== "" || target.kind !== "Secret") {
    return { problem: ["InvalidCertificateRef", "certificateRefs must name a Secret"] };
  }
  const from = { group: gatewayGroup, kind: "Gateway", namespace };
  if (!grants.allow(from, target)) {
    return { problem: ["RefNotPermitted", `no ReferenceGrant allows the secret ${shown(key)}`] };
  }
  const reference = { namespace: target.namespace, name: target.name };
  const { found, problem } = certificate(reference);
  const isUsable = found !== undefined || problem === undefined;
  return {
    secret: reference,
    ...(isUsable ? {} : { problem: ["InvalidCertificateRef", problem] as const }),
  };
}

/**
 * The names of the listeners, by namespace, address and port. A listener of another namespace is not asked: it could
 * take a host from routes that are older than it is. Between namespaces the table of routes decides.
 */
export class ListenerNames {
  readonly #byPort = new Map<string, Set<string>>();
  /** By namespace, address, port and host, once asked for. */
  readonly #closest = new Map<string, string>();

  constructor(listeners: readonly DecidedListener[]) {
    for (const listener of listeners) {
      if (!listener.isAccepted) continue;
      const key = placeOf(listener);
      this.#byPort.set(key, (this.#byPort.get(key) ?? new Set()).add(listener.host));
    }
  }

  /**
   * Whether requests for the host, which is the listener's too, come at its port to another listener, which
   * names it more closely.
   */
  isOvershadowed(listener: DecidedListener, host: string): boolean {
    const port = placeOf(listener);
    const key = `${port} ${host}`;
    const names = this.#byPort.get(port);
    const closest =
      this.#closest.get(key) ?? namesOver(host).find((name) => names?.has(name)) ?? anyHost;
    this.#closest.set(key, closest);
    return closest !== listener.host;
  }
}

/** Its namespace, address and port. */
export function placeOf({ origin, address = "", port }: DecidedListener): string {
  return `${origin.namespace} ${address} ${port}`;
}
