// A service whose selector matches no pod, or whose named target port no container has. The endpoint
// controllers work as they should and publish nothing.

import type { Cause, Sign } from "../cause.ts";
import type { Evidence } from "../evidence/evidence.ts";
import type { LabelledFacts, Labels, ServiceFacts } from "../evidence/objects.ts";
import { placeText } from "../evidence/sign-log.ts";

/** Shorter names are alike by chance. */
const mistypedMin = 4;

interface Mismatch {
  readonly service: ServiceFacts;
  readonly text: string;
  /** The service is known to have no endpoint, or nothing else can be meant by its selector. */
  readonly isSure: boolean;
  /** The change of the service, after `kubectl -n NAMESPACE`. */
  readonly change: string;
}

export const selectorMismatch: Cause = {
  name: "selector-mismatch",
  summary:
    "The selector of a service matches the labels of no pod, or its named target port is the name of " +
    "no container port. So it has no endpoints.",
  affected: "All versions, current ones included.",
  shownBy: ["services and endpoints"],
  hop: "published",
  explains: ["no-endpoints", "dead-endpoints"],

  signs(evidence) {
    const [first] = mismatches(evidence);
    if (first === undefined) return [];
    const { service, text, isSure } = first;
    const lines = [{ text, source: placeText(service.place) }];
    return [{ weight: isSure ? "proof" : "support", source: "objects", lines } satisfies Sign];
  },

  conclude(evidence) {
    const [first] = mismatches(evidence);
    const [namespace = "", name = ""] = (first?.service.key ?? "").split("/");
    const kubectl = `kubectl -n ${namespaceOr(namespace)}`;
    return {
      severity: "warning",
      cause: `${first?.text ?? "The selector of a service matches no pod"}.`,
      fix: {
        component: `service ${name}`,
        change: [
          `${kubectl} get pods --show-labels   # are these the pods that are meant?`,
          `${kubectl} ${first?.change ?? ""}`,
          `${kubectl} get endpoints ${name}   # has addresses now`,
        ].join("\n"),
        reason:
          "Each label of the selector has to be on the pods with the same value, and a targetPort that " +
          "is a name has to be the name of a container port. If the pods are wrong instead, change their " +
          "template. Restarts do not help.",
      },
      missing: ["kubectl get endpoints, and kubectl get pods --show-labels, in that namespace"],
    };
  },
};

function mismatches(evidence: Evidence): readonly Mismatch[] {
  const { objects } = evidence;
  const found = [...objects.services.values()].flatMap((service) => {
    if (Object.keys(service.selector).length === 0) return [];
    const namespace = namespaceOf(service.key);
    const near = objects.labelled.filter((one) => namespaceOr(one.namespace) === namespace);
    const matching = near.filter(({ labels }) => matches(service.selector, labels));
    return matching.length === 0
      ? selectorMismatches(evidence, service, near)
      : [...portMismatches(service, matching), ...refusedPorts(evidence, service, matching)];
  });
  return found.sort((a, b) => Number(b.isSure) - Number(a.isSure));
}

function selectorMismatches(
  evidence: Evidence,
  service: ServiceFacts,
  near: readonly LabelledFacts[],
): readonly Mismatch[] {
  if (hasEndpoints(evidence, service)) return [];
  // Pods of other services say nothing: one has to be meant by this selector.
  const free = unselected(evidence, near);
  const meant =
    free.find(({ labels }) => isSimilar(service.selector, labels)) ??
    free.find(({ labels }) => isMistyped(service.selector, labels));
  if (meant === undefined) return [];
  const text =
    `The selector ${textOf(service.selector)} of service ${nameOf(service)} does not match ` +
    `${meant.name.replace(/^(\S+) \//, "$1 ")} with ${textOf(meant.labels)}`;
  const isSure =
    isWithoutEndpoints(evidence, service) || isOtherKey(service.selector, meant.labels);
  return [{ service, text, isSure, change: selectorChange(service, meant.labels) }];
}

function portMismatches(
  service: ServiceFacts,
  matching: readonly LabelledFacts[],
): readonly Mismatch[] {
  const known = matching.flatMap(({ portNames }) => (portNames === undefined ? [] : [portNames]));
  const missing = service.portNames.find((name) => !known.some((names) => names.includes(name)));
  if (missing === undefined || known.length < matching.length) return [];
  const text = `Service ${nameOf(service)} has the target port ${missing}, which no container of its pods has`;
  const others = [...new Set(known.flat())].join(", ");
  return [{ service, text, isSure: true, change: portChange(service, others) }];
}

/** Container ports are only a note, so a number that is not among them counts if it is refused. */
function refusedPorts(
  { signs }: Evidence,
  service: ServiceFacts,
  matching: readonly LabelledFacts[],
): readonly Mismatch[] {
  const listed = matching.flatMap(({ portNumbers }) => portNumbers);
  const port = service.portNumbers.find((number) => !listed.includes(number));
  if (port === undefined || listed.length === 0) return [];
  const refused = [...(signs.get("upstream-refused")?.subjects.keys() ?? [])];
  if (!refused.some((address) => address.endsWith(`:${port}`))) return [];
  const text = `Service ${nameOf(service)} has the target port ${port}, which refuses connections; its pods list ${listed.join(", ")}`;
  const others = [...new Set(listed)].join(", ");
  return [{ service, text, isSure: true, change: portChange(service, others) }];
}

/** As Kubernetes allows them; pasted objects have anything. */
const plainLabel = /^[\w./-]{1,317}$/;

/** A label with another key or another value takes the place of the one that no pod has. */
function selectorChange({ key, selector }: ServiceFacts, labels: Labels): string {
  const name = nameIn(key);
  const wanted: Record<string, string | null> = {};
  for (const [label, value] of Object.entries(selector)) {
    if (labels[label] === value) continue;
    const other = Object.entries(labels).find(([one, its]) => its === value && !(one in selector));
    wanted[label] = other === undefined ? (labels[label] ?? null) : null;
    if (other !== undefined) wanted[other[0]] = value;
  }
  const isPlain = Object.entries(wanted).every(([label, value]) =>
    [label, value ?? label].every((text) => plainLabel.test(text)),
  );
  if (!isPlain) return `edit service ${name}   # selector`;
  const patch = JSON.stringify({ spec: { selector: wanted } });
  return `patch service ${name} --type=merge -p '${patch}'`;
}

function portChange({ key }: ServiceFacts, others: string): string {
  const oneOf = others === "" ? "" : `: one of ${others}`;
  return `edit service ${nameIn(key)}   # targetPort${oneOf}`;
}

/** Of pods that the text does not show. */
function hasEndpoints({ objects }: Evidence, { key }: ServiceFacts): boolean {
  const endpoints = objects.endpointsOf(key);
  return endpoints !== undefined && endpoints.ready + endpoints.notReady > 0;
}

function isWithoutEndpoints({ objects, signs }: Evidence, { key }: ServiceFacts): boolean {
  const endpoints = objects.endpointsOf(key);
  if (endpoints !== undefined) return endpoints.ready + endpoints.notReady === 0;
  return signs.get("no-active-endpoint")?.subjects.has(key) === true;
}

function matches(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => labels[key] === value);
}

/** A label of the selector is there under another key, or a part of them fits. */
function isSimilar(selector: Labels, labels: Labels): boolean {
  const values = new Set(Object.values(labels));
  return Object.values(selector).some((value) => values.has(value));
}

/** The one value of the selector is there, under a key that the selector does not have: `app` for `name`. */
function isOtherKey(selector: Labels, labels: Labels): boolean {
  const [only, ...others] = Object.entries(selector);
  if (only === undefined || others.length > 0) return false;
  const [key, value] = only;
  return !(key in labels) && Object.values(labels).includes(value);
}

/** Pods that no service selects: a mistyped selector is meant for one of these. */
function unselected(
  { objects }: Evidence,
  near: readonly LabelledFacts[],
): readonly LabelledFacts[] {
  const services = [...objects.services.values()].filter(
    ({ selector }) => Object.keys(selector).length > 0,
  );
  return near.filter(
    ({ namespace, labels }) =>
      !services.some(
        ({ key, selector }) =>
          namespaceOf(key) === namespaceOr(namespace) && matches(selector, labels),
      ),
  );
}

/** Each value of the selector is there, or is there with one letter more, less or different. */
function isMistyped(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([key, value]) => {
    const other = labels[key];
    return other !== undefined && (other === value || isOneLetterOff(value, other));
  });
}

/** `web-1` and `web-2` are two names, not one with a mistake. */
function isOneLetterOff(a: string, b: string): boolean {
  const [short, long] = a.length <= b.length ? [a, b] : [b, a];
  if (short.length < mistypedMin || long.length - short.length > 1) return false;
  const at = long.split("").findIndex((letter, index) => letter !== short[index]);
  const rest = short.slice(short.length === long.length ? at + 1 : at);
  const letters = [long[at], short.length === long.length ? short[at] : ""].join("");
  return long.slice(at + 1) === rest && /^[a-z]+$/i.test(letters);
}

function textOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}

function nameOf({ key }: ServiceFacts): string {
  return key.replace(/^\//, "");
}

function nameIn(key: string): string {
  return key.split("/")[1] ?? "";
}

function namespaceOf(key: string): string {
  return namespaceOr(key.split("/")[0] ?? "");
}

/** Pasted objects leave the namespace out. */
function namespaceOr(namespace: string): string {
  return namespace === "" ? "default" : namespace;
}
