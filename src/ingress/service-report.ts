// The truth about one service for people: of each of its routed ports every endpoint, with what the
// witnesses say, the state and its reason, and what requests did there.

import { nearestNames } from "../decide/nearest-names.ts";
import type { TruthEndpoint } from "../decide/truth/judged.ts";
import type { EndpointUse } from "../sources/endpoint-counters.ts";
import { endpointId } from "../sources/endpoint-id.ts";
import type { Decisions } from "./decisions.ts";

export type ServiceReport =
  | { readonly kind: "known"; readonly ports: readonly PortReport[] }
  /** No route leads there. */
  | { readonly kind: "unknown"; readonly near: readonly string[] };

export interface PortReport {
  /** The key of the decision: `namespace/name:port`. */
  readonly service: string;
  readonly problems: readonly string[];
  readonly endpoints: readonly ReportedEndpoint[];
}

export interface ReportedEndpoint extends TruthEndpoint {
  /** Absent if it was never used, or has no endpoint. */
  readonly use?: EndpointUse;
}

export type UseOf = (key: string) => EndpointUse | undefined;

/** `service` is `namespace/name` for all of its ports, or the key of one. */
export function serviceReport(
  service: string,
  { truths }: Pick<Decisions, "truths">,
  useOf: UseOf,
): ServiceReport {
  const keys = [...truths.keys()].filter((key) => key === service || serviceOf(key) === service);
  if (keys.length === 0) {
    const names = new Set([...truths.keys()].map(serviceOf));
    return { kind: "unknown", near: nearestNames(service, names) };
  }
  return { kind: "known", ports: keys.map((key) => portReport(key, { truths }, useOf)) };
}

/** The same of one port. */
export function portReport(
  service: string,
  { truths }: Pick<Decisions, "truths">,
  useOf: UseOf,
): PortReport {
  const truth = truths.get(service)?.truth;
  const endpoints = (truth?.endpoints ?? []).map((endpoint): ReportedEndpoint => {
    const use = useOf(endpointId(endpoint));
    return use === undefined ? endpoint : { ...endpoint, use };
  });
  return { service, problems: truth?.problems ?? [], endpoints };
}

function serviceOf(key: string): string {
  return key.slice(0, key.lastIndexOf(":"));
}
