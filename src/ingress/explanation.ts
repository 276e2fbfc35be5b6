// Explains how a request would be served: its route with owner and policy, and the endpoints behind
// it with state and reason. Or why it would not be served, and similar names. Pure: it uses the
// same tables and the same matching as the proxy.
import { isRouted, type PathRule } from "../decide/decision.ts";
import { nearestNames } from "../decide/nearest-names.ts";
import type { Canary } from "../decide/route-policy.ts";
import type { ProxyPorts } from "../decide/routing/gateway/listeners.ts";
import { describeOrigin, type RouteOrigin, type RoutingProblem } from "../decide/routing/route.ts";
import { canaryWants } from "../outputs/nginx/canary-choice.ts";
import { compileHost, findRule, hostsFor } from "../outputs/nginx/route-match.ts";
import { tieredEndpoints } from "../outputs/nginx/service-entry.ts";
import { policySentences } from "./policy-sentences.ts";
import type { PortReport } from "./service-report.ts";

export interface Question {
  /** Lower case, without a port. */
  readonly host: string;
  /** Decoded, without a query. */
  readonly path: string;
  readonly isSecure: boolean;
  /** A gRPC call: a POST over HTTP/2. Else it is a GET. */
  readonly isCall?: boolean;
  /** As the client asks for it; undefined for the usual one. */
  readonly port?: number | undefined;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

export interface ExplainedTables {
  readonly hosts: ReadonlyMap<string, readonly PathRule[]>;
  readonly originOf: (host: string, rule: PathRule) => RouteOrigin | undefined;
  readonly problems: readonly RoutingProblem[];
  /** Of the proxy, without TLS, with it, and for gRPC without it; undefined where it has none. */
  readonly ports: Readonly<Record<keyof ProxyPorts, number | undefined>>;
  /** Those of listeners of Gateways too. */
  readonly listenerPorts: ProxyPorts;
  readonly portOf: (service: string) => PortReport;
  /** Matching rules of Ingresses of other classes, a sentence each; see `other-classes.ts`. */
  readonly leftAlone: (question: Question) => readonly string[];
}

export interface Explanation {
  /** The proxy's answer to such a request, in one sentence. */
  readonly verdict: string;
  /** The status a client would see that no endpoint has given; undefined when endpoints answer. */
  readonly status: number | undefined;
  /** As the object writes it; undefined when no host matches. */
  readonly host: string | undefined;
  readonly rule: PathRule | undefined;
  /** `Ingress shop/web`, `HTTPRoute shop/web` or `GRPCRoute shop/web`. */
  readonly origin: string | undefined;
  /** The policies of the route, a sentence each. */
  readonly asks: readonly string[];
  /** The service that would get it, and others that would get a share. */
  readonly services: readonly ExplainedService[];
  /** When nothing matches: hosts and paths that may have been meant. */
  readonly near: readonly string[];
  /** Of the object the route is from, and of those that name the host and do not have it. */
  readonly problems: readonly string[];
}

export interface ExplainedService extends PortReport {
  /** Why it gets the request. */
  readonly because: string;
}

export function explain(question: Question, tables: ExplainedTables): Explanation {
  if (portsFor(question) === "grpc" && tables.ports.grpc === undefined) return withoutCalls;
  const found = findRoute(question, tables);
  if (found === undefined) return unmatched(question, tables);
  const { host, rule } = found;
  const origin = tables.originOf(host, rule);
  const services = servicesOf(question, rule, tables);
  const answer = answeredByProxy(question, rule) ?? answeredByEndpoints(services);
  return {
    ...answer,
    host,
    rule,
    origin: origin && describeOrigin(origin),
    asks: policySentences(rule.policy),
    services,
    near: [],
    problems: [
      // A route for any host gets it because no Ingress of our class names the host.
      ...(host === "*" ? tables.leftAlone(question) : []),
      ...tables.problems
        .filter(
          (one) => origin !== undefined && describeOrigin(one.origin) === describeOrigin(origin),
        )
        .map(({ message }) => message),
      ...problemsOf(question.host, tables)
        .filter((one) => one.reason === "HostTaken" && one.origin !== origin)
        .map(problemText),
    ],
  };
}

/** A plain call where the proxy has no port for one. */
const withoutCalls: Explanation = {
  verdict: "this ingress has no --grpc-port, so calls need TLS: ask for grpcs://",
  status: 503,
  host: undefined,
  rule: undefined,
  origin: undefined,
  asks: [],
  services: [],
  near: [],
  problems: [],
};

type Answer = Pick<Explanation, "verdict" | "status">;

function answeredByProxy({ isSecure, path }: Question, { policy }: PathRule): Answer | undefined {
  if (policy === undefined) return undefined;
  const { closed, httpsRedirect, allowFrom, redirect, hostRedirect, appRoot } = policy;
  const { refuse, partRedirect } = policy;
  if (refuse !== undefined) {
    const verdict =
      refuse === 404
        ? "no route of the listener matches"
        : "the rule is not valid; the status of its route says why";
    return { status: refuse, verdict };
  }
  if (partRedirect !== undefined) {
    return { status: partRedirect.status, verdict: "redirect by the HTTPRoute" };
  }
  if (closed === true) {
    return {
      status: 503,
      verdict: "the route is closed because its access protection cannot be set up",
    };
  }
  if (httpsRedirect !== undefined && !isSecure) {
    return { status: httpsRedirect, verdict: "redirect to https" };
  }
  if (allowFrom?.length === 0) {
    return {
      status: 403,
      verdict: "all clients are denied: the list of allowed networks is empty",
    };
  }
  if (redirect !== undefined) {
    return { status: redirect.status, verdict: `redirect to ${redirect.location}` };
  }
  if (hostRedirect !== undefined) {
    return { status: hostRedirect.status, verdict: `redirect to ${hostRedirect.host}` };
  }
  if (appRoot !== undefined && path === "/") {
    return { status: 302, verdict: `redirect to ${appRoot}` };
  }
  return undefined;
}

function answeredByEndpoints([first]: readonly ExplainedService[]): Answer {
  const name = first?.service ?? "";
  const endpoints = first?.endpoints ?? [];
  const { tiers } = tieredEndpoints(endpoints);
  const [count = 0, ...others] = tiers;
  if (count === 0) {
    const why = first?.problems[0] ?? "it has no usable endpoint";
    return { status: 503, verdict: `no endpoint of ${name}: ${why}` };
  }
  const kind = endpoints.some(isRouted) ? "" : " (last resort)";
  const ones = count === 1 ? "endpoint" : "endpoints";
  const more = others.reduce((sum, one) => sum + one, 0);
  const standingBy = more === 0 ? "" : `, ${more} on standby`;
  return {
    status: undefined,
    verdict: `served by ${count} ${ones}${kind} of ${name}${standingBy}`,
  };
}

function servicesOf(
  question: Question,
  { service, policy }: PathRule,
  { portOf }: ExplainedTables,
): readonly ExplainedService[] {
  const explained = (name: string, because: string) => ({ ...portOf(name), because });
  const canaries = policy?.canaries ?? [];
  const taking = canaries.find((canary) => canaryTakes(question, canary) === "always");
  if (taking !== undefined) return [explained(taking.service, "chosen by the canary")];
  const sharing = canaries.filter((canary) => canaryTakes(question, canary) === "share");
  return [
    explained(service, "chosen by the route"),
    ...sharing.map(({ service: name, weight = 0, weightTotal = 100 }) =>
      explained(name, `canary for ${weight} of ${weightTotal} requests`),
    ),
  ];
}

/** Header and cookie decide; otherwise the canary may get a share, by chance. */
function canaryTakes({ headers }: Question, canary: Canary): "always" | "never" | "share" {
  const { wants, byShare } = canaryWants(canary, { headers, turn: 0 });
  return byShare ? "share" : wants ? "always" : "never";
}

/** Of the proxy, those that such a request can come to. */
function portsFor({ isSecure, isCall }: Question): keyof ProxyPorts {
  if (isSecure) return "https";
  return isCall === true ? "grpc" : "http";
}

function findRoute(question: Question, { hosts, ports, listenerPorts }: ExplainedTables) {
  const { host, path, headers, isCall, port } = question;
  const scheme = portsFor(question);
  const compiled = (name: string) => {
    const rules = hosts.get(name);
    return rules && compileHost(rules);
  };
  // Of rules for other methods or parameters nothing was asked.
  // Another one is that of a load balancer, which leads to the usual one.
  const reached = (port && listenerPorts[scheme]?.get(port)) ?? ports[scheme];
  const asked = { port: reached, method: isCall === true ? "POST" : "GET", headers, query: {} };
  return findRule(compiled, host, path, asked);
}

/** Those that name the host. */
function problemsOf(host: string, { problems }: ExplainedTables): readonly RoutingProblem[] {
  return problems.filter(({ message }) => message.split(/[^a-z0-9.*-]+/).includes(host));
}

function problemText({ origin, message }: RoutingProblem): string {
  return `${describeOrigin(origin)}: ${message}`;
}

function unmatched(question: Question, tables: ExplainedTables): Explanation {
  const { host, path } = question;
  const { hosts } = tables;
  const candidates = hostsFor(host).filter((one) => hosts.has(one));
  const known = candidates.flatMap((one) => hosts.get(one) ?? []);
  const verdict =
    candidates.length === 0
      ? `no served Ingress or route has the host ${host}`
      : `no path of host ${candidates.join(" or ")} matches ${path}`;
  const leftAlone = tables.leftAlone(question);
  // The name is known exactly, so similar names would not help.
  const names = leftAlone.length > 0 ? [] : nearestNames(host, hosts.keys());
  const near = candidates.length === 0 ? names : known.map((rule) => `${rule.type} ${rule.path}`);
  return {
    verdict,
    status: 404,
    host: undefined,
    rule: undefined,
    origin: undefined,
    asks: [],
    services: [],
    near,
    problems: [...leftAlone, ...problemsOf(host, tables).map(problemText)],
  };
}
