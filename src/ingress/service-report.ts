// The truth about one service for people: of each of its routed ports every endpoint, with what the
// witnesses say, the state and its reason, and what requests did there.

import { nearestNames } from "../decide/nearest-names.ts";
import { describeOrigin, type RouteOrigin } from "../decide/routing/route.ts";
import type { TruthEndpoint } from "../decide/truth/judged.ts";
import type { EndpointUse } from "../sources/endpoint-counters.ts";
import { endpointId } from "../sources/endpoint-id.ts";
import type { ProbeAnswer } from "../sources/probes.ts";
import type { Decisions } from "./decisions.ts";

export type ServiceReport =
  | { readonly kind: "known"; readonly ports: readonly RoutedPortReport[] }
  /** No route leads there. */
  | { readonly kind: "unknown"; readonly near: readonly string[] };

export interface PortReport {
  /** The key of the decision: `namespace/name:port`. */
  readonly service: string;
  readonly problems: readonly string[];
  readonly endpoints: readonly ReportedEndpoint[];
}

export interface RoutedPortReport extends PortReport {
  /**
   * The objects whose rules lead there, such as `HTTPRoute shop/web`; of many the first ones. Replicas of
   * earlier versions do not name them.
   */
  readonly routes?: readonly string[];
}

export interface ReportedEndpoint extends TruthEndpoint {
  /** Absent if it was never used, or has no endpoint. */
  readonly use?: EndpointUse;
  /** The last probe; absent while it is not in doubt, and before the first answer. */
  readonly probe?: ProbeAnswer;
}

export type UseOf = (key: string) => EndpointUse | undefined;

/** The last probe of an endpoint for `namespace/name:port`. */
export type ProbeOf = (key: string, endpoint: TruthEndpoint) => ProbeAnswer | undefined;

/** In one report. Thousands of Ingresses may lead to one service. */
const maxRoutes = 20;

/** `service` is `namespace/name` for all of its ports, or the key of one. */
export function serviceReport(
  service: string,
  decisions: Pick<Decisions, "truths" | "originsOf">,
  useOf: UseOf,
  probeOf?: ProbeOf,
): ServiceReport {
  const { truths } = decisions;
  const keys = [...truths.keys()].filter((key) => key === service || serviceOf(key) === service);
  if (keys.length === 0) {
    const names = new Set([...truths.keys()].map(serviceOf));
    return { kind: "unknown", near: nearestNames(service, names) };
  }
  const ports = keys.map((key) => ({
    ...portReport(key, { truths }, useOf, probeOf),
    routes: routesTo(decisions.originsOf(key)),
  }));
  return { kind: "known", ports };
}

function routesTo(origins: Iterable<RouteOrigin>): readonly string[] {
  const names: string[] = [];
  for (const origin of origins) {
    if (names.length === maxRoutes) return [...names, "…"];
    names.push(describeOrigin(origin));
  }
  return names;
}

/** The same of one port. */
export function portReport(
  service: string,
  { truths }: Pick<Decisions, "truths">,
  useOf: UseOf,
  probeOf?: ProbeOf,
): PortReport {
  const truth = truths.get(service)?.truth;
  const endpoints = (truth?.endpoints ?? []).map((endpoint): ReportedEndpoint => {
    const use = useOf(endpointId(endpoint));
    const probe = probeOf?.(service, endpoint);
    if (use === undefined && probe === undefined) return endpoint;
    return { ...endpoint, ...(use && { use }), ...(probe && { probe }) };
  });
  return { service, problems: truth?.problems ?? [], endpoints };
}

function serviceOf(key: string): string {
  return key.slice(0, key.lastIndexOf(":"));
}
