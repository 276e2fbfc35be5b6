// Ingresses and classes in a few words, and the table they make as plain lines.

import { Routing, type RoutingOptions } from "../../src/decide/routing/routing.ts";
import type { WallMs } from "../../src/environment/clock.ts";
import type { Ingress, IngressPath, IngressRule } from "../../src/kube/kinds/ingress.ts";
import type { IngressClass } from "../../src/kube/kinds/ingress-class.ts";
import { metadata } from "../truth/service-facts.ts";

export interface IngressFields extends Partial<Ingress> {
  readonly bornMs?: number;
  readonly namespace?: string;
}

export function ingress(
  name: string,
  rules: readonly IngressRule[],
  fields: IngressFields = {},
): Ingress {
  const { bornMs = 0, namespace = "shop", ...own } = fields;
  return {
    metadata: metadata(name, { namespace, creationTimestamp: bornMs as WallMs }),
    annotations: {},
    ingressClassName: "lockstep",
    defaultBackend: undefined,
    rules,
    tls: [],
    loadBalancer: [],
    ...own,
  };
}

export function path(
  text: string,
  name: string,
  pathType = "Prefix",
  port: number | string = 80,
): IngressPath {
  return { path: text, pathType, backend: { service: { name, port } } };
}

export function ingressClass(
  name: string,
  controller: string,
  fields: Partial<IngressClass> = {},
): IngressClass {
  const own = { metadata: metadata(name, { namespace: "" }), controller };
  return { ...own, isDefault: false, hasParameters: false, ...fields };
}

/** ingress-nginx's annotations by their names alone. */
export function annotated(annotations: Readonly<Record<string, string>>) {
  const entries = Object.entries(annotations);
  return {
    annotations: Object.fromEntries(
      entries.map(([name, text]) => [`nginx.ingress.kubernetes.io/${name}`, text]),
    ),
  };
}

export interface Routed {
  /** `host type path → service`. */
  readonly lines: readonly string[];
  /** `name: message`. */
  readonly problems: readonly string[];
}

export function routed(
  ingresses: readonly Ingress[],
  classes: readonly IngressClass[] = [],
  options: Partial<RoutingOptions> = {},
): Routed {
  const table = new Routing({ className: "lockstep", ...options }).decide({ ingresses, classes });
  const lines = [...table.hosts].flatMap(([host, rules]) =>
    rules.map((rule) => `${host} ${rule.type} ${rule.path} → ${rule.service}`),
  );
  const problems = table.problems.map(({ origin, message }) => `${origin.name}: ${message}`);
  return { lines, problems };
}
