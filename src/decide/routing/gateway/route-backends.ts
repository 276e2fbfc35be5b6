// The services of a route's rule with their shares of the requests, and what is wrong with the
// others. An invalid one keeps its share, which is answered with an error. Also the services that get
// copies. Pure.
import { gatewayGroup } from "../../../kube/kinds/gateway-class.ts";
import type {
  BackendReference,
  HttpRoute,
  HttpRouteRule,
  RouteKindName,
} from "../../../kube/kinds/http-route.ts";
import { objectKey } from "../../../kube/kinds/kind.ts";
import { multiclusterGroup } from "../../../kube/kinds/service-export.ts";
import type { ImportedService } from "../../../model/imported-services.ts";
import type { BackendHeaders, Mirror } from "../../route-policy.ts";
import { type Backend, type BackendShare, backendKey } from "../route.ts";
import { shown } from "../shown-text.ts";
import type { BackendPolicies } from "./backend-policies.ts";
import type { ReferenceGrants } from "./reference-grants.ts";
import { headersOfBackend } from "./route-filters.ts";

export interface BackendFacts {
  readonly grants: ReferenceGrants;
  readonly policies?: Pick<BackendPolicies, "of">;
  /** Whether any cluster has the service. */
  readonly hasService: (namespace: string, name: string) => boolean;
  /** Of a service's port; undefined where no cluster has one. */
  readonly appProtocol?: (namespace: string, name: string, port: number) => string | undefined;
  /** A ServiceImport; undefined where that kind is not installed, as when absent. */
  readonly importOf?: (namespace: string, name: string) => ImportedService | undefined;
}

export interface RuleBackends {
  /** Gets what the shares leave. */
  readonly backend: Backend | undefined;
  /** Changes of headers for it alone. */
  readonly headers: BackendHeaders;
  readonly shares: readonly BackendShare[];
  readonly problems: readonly BackendProblem[];
}

export interface BackendProblem {
  /** As the specification names it; undefined for what it leaves open. */
  readonly reason:
    | "InvalidKind"
    | "RefNotPermitted"
    | "BackendNotFound"
    | "UnsupportedProtocol"
    | undefined;
  readonly message: string;
}

/** Standard protocols (KEP-3726) that the proxy cannot speak to endpoints of a route of this kind. */
const unspoken: Readonly<Record<RouteKindName, readonly string[]>> = {
  HTTPRoute: ["kubernetes.io/h2c", "kubernetes.io/wss"],
  GRPCRoute: ["kubernetes.io/ws", "kubernetes.io/wss"],
};

const serviceName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

export function backendsOfRule(
  rule: Pick<HttpRouteRule, "backendRefs">,
  route: Pick<HttpRoute, "kind" | "metadata">,
  facts: BackendFacts,
): RuleBackends {
  const problems: BackendProblem[] = [];
  const weighed = rule.backendRefs.map((reference) => {
    const found = backendOf(reference, route, facts);
    const isBackend = "port" in found;
    if (!isBackend) problems.push(found);
    const headers = headersOfBackend(reference.filters);
    if (typeof headers === "string") {
      problems.push({ reason: undefined, message: `backend ${shown(reference.name)}: ${headers}` });
    }
    return {
      backend: isBackend ? found : undefined,
      headers: typeof headers === "string" ? {} : headers,
      weight: Math.max(0, reference.weight),
    };
  });
  const serving = weighed.filter(({ weight }) => weight > 0);
  const [first, ...others] = serving;
  let left = serving.reduce((sum, { weight }) => sum + weight, 0);
  const shares = others.map(({ backend, headers, weight }) => {
    const share = { backend, ...headers, weight, weightTotal: left };
    left -= weight;
    return share;
  });
  return { backend: first?.backend, headers: first?.headers ?? {}, shares, problems };
}

export interface RuleMirrors {
  readonly mirrors: readonly Mirror[];
  readonly backends: readonly Backend[];
  readonly problems: readonly BackendProblem[];
}

/** The services that get copies of a rule's requests. An invalid one gets none; the rule is served. */
export function mirrorsOfRule(
  { filters }: Pick<HttpRouteRule, "filters">,
  route: Pick<HttpRoute, "kind" | "metadata">,
  facts: BackendFacts,
): RuleMirrors {
  const mirrors: Mirror[] = [];
  const backends: Backend[] = [];
  const problems: BackendProblem[] = [];
  for (const { mirror } of filters) {
    if (mirror === undefined) continue;
    const { backend, numerator: weight, denominator } = mirror;
    const found = backendOf(backend, route, facts);
    if (!("port" in found)) problems.push(found);
    else if (weight === undefined || weight > 0) {
      const share = weight !== undefined && { weight, weightTotal: Math.max(1, denominator) };
      mirrors.push({ service: backendKey(found), ...share });
      backends.push(found);
    }
  }
  return { mirrors, backends, problems };
}

function backendOf(
  { group, kind, namespace, name, port }: BackendReference,
  route: Pick<HttpRoute, "kind" | "metadata">,
  { grants, hasService, appProtocol, importOf, policies }: BackendFacts,
): Backend | BackendProblem {
  const own = route.metadata.namespace;
  const target = { group, kind, namespace: namespace ?? own, name };
  const what = `backend ${shown(objectKey(target))}`;
  const isImport = group === multiclusterGroup && kind === "ServiceImport";
  if (!isImport && (group !== "" || kind !== "Service")) {
    const message = `${what}: only Services and ServiceImports are supported`;
    return { reason: "InvalidKind", message };
  }
  const imported = isImport ? importOf?.(target.namespace, name) : undefined;
  if (isImport && imported === undefined) {
    return { reason: "InvalidKind", message: `${what}: ServiceImports are not installed` };
  }
  const from = { group: gatewayGroup, kind: route.kind, namespace: own };
  if (!grants.allow(from, target)) {
    return { reason: "RefNotPermitted", message: `${what}: no ReferenceGrant allows it` };
  }
  const isPort = port !== undefined && port >= 1 && port <= 65_535;
  const isThere = imported?.isThere ?? hasService(target.namespace, name);
  if (!isPort || !serviceName.test(name) || !isThere) {
    const absent = isImport ? "there is no such ServiceImport" : "no cluster has this service";
    return { reason: "BackendNotFound", message: `${what}: ${absent}` };
  }
  const policy = policies?.of(target);
  if (policy !== undefined) {
    const message = `${what}: BackendTLSPolicy ${shown(policy)} is not supported, so nothing is sent there`;
    return { reason: "UnsupportedProtocol", message };
  }
  const protocol = isImport
    ? imported?.appProtocols?.get(port)
    : appProtocol?.(target.namespace, name, port);
  if (protocol !== undefined && unspoken[route.kind].includes(protocol)) {
    const message = `${what}: appProtocol ${shown(protocol)} of port ${port} is not supported for ${route.kind}s, so nothing is sent there`;
    return { reason: "UnsupportedProtocol", message };
  }
  return { namespace: target.namespace, name, port, ...(isImport && { isImport }) };
}
