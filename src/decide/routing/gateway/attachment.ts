// To which listeners a route is attached by each of its parentRefs, for which hosts, and why not to
// others. Pure.
import type { LabelSelector } from "../../../kube/kinds/gateway.ts";
import { gatewayGroup } from "../../../kube/kinds/gateway-class.ts";
import type { HttpRoute, ParentRef } from "../../../kube/kinds/http-route.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { anyHost, hostOf } from "../host-name.ts";
import { shown } from "../shown-text.ts";
import { condition, type GatewayCondition } from "./gateway-condition.ts";
import { intersection } from "./gateway-hosts.ts";
import type { DecidedListener } from "./listeners.ts";

export interface Attachment {
  readonly listener: DecidedListener;
  /** Of the listener and the route both. */
  readonly hosts: readonly string[];
}

export interface DecidedParent {
  readonly parentRef: ParentRef;
  readonly attachments: readonly Attachment[];
  /** Accepted; what its rules refer to is judged once for all parents. */
  readonly accepted: GatewayCondition;
}

/** Undefined while the labels of namespaces are not known. */
export type LabelsOf = (namespace: string) => StringMap | undefined;

/** By `namespace/name`, the listeners of each Gateway of ours. */
export type ListenersOf = (gateway: string) => readonly DecidedListener[] | undefined;

/** Undefined for a parent that is not a Gateway of ours: its own controller says what it thinks. */
export function decideParent(
  route: HttpRoute,
  parentRef: ParentRef,
  listenersOf: ListenersOf,
  labelsOf: LabelsOf,
): DecidedParent | undefined {
  if (parentRef.group !== gatewayGroup || parentRef.kind !== "Gateway") return undefined;
  const { namespace } = route.metadata;
  const listeners = listenersOf(`${parentRef.namespace ?? namespace}/${parentRef.name}`);
  if (listeners === undefined) return undefined;
  const refused = (reason: string, message: string): DecidedParent => ({
    parentRef,
    attachments: [],
    accepted: condition("Accepted", false, reason, message),
  });
  const { sectionName, port } = parentRef;
  const named = listeners.filter(
    ({ listener }) =>
      (sectionName === undefined || listener.name === sectionName) &&
      (port === undefined || listener.port === port),
  );
  if (named.length === 0) {
    return refused("NoMatchingParent", "the Gateway has no listener of this name and port");
  }
  const allowing = named.filter((one) => allows(one, route, labelsOf));
  if (allowing.length === 0) {
    const what = "allowedRoutes of the listeners does not allow this kind or this namespace";
    return refused("NotAllowedByListeners", what);
  }
  const asked = askedHosts(route);
  const attachments = allowing
    .map((listener) => ({ listener, hosts: hostsOf(asked, listener) }))
    .filter(({ hosts }) => hosts.length > 0);
  if (attachments.length === 0) {
    const hosts = route.hostnames.slice(0, 3).map(shown).join(", ");
    return refused("NoMatchingListenerHostname", `no listener has a host name that fits ${hosts}`);
  }
  const served = attachments.filter(({ listener }) => listener.isAccepted);
  if (served.length === 0) {
    return refused("NoMatchingParent", "no listener that it fits is accepted; see the Gateway");
  }
  return { parentRef, attachments: served, accepted: condition("Accepted", true, "Accepted") };
}

const known = new WeakMap<HttpRoute, readonly string[]>();

/** Found once: a route may ask for them at thousands of listeners. Undefined for those of the listener. */
function askedHosts(route: HttpRoute): readonly string[] | undefined {
  if (route.hostnames.length === 0) return undefined;
  const before = known.get(route);
  if (before !== undefined) return before;
  const asked = route.hostnames
    .flatMap((one) => hostOf(one) ?? [])
    .filter((one) => one !== anyHost);
  known.set(route, asked);
  return asked;
}

function hostsOf(
  asked: readonly string[] | undefined,
  { host }: DecidedListener,
): readonly string[] {
  if (asked === undefined) return [host];
  const found = asked.map((one) => intersection(host, one));
  return [...new Set(found.filter((one) => one !== undefined))];
}

function allows(
  { listener, origin, kinds }: DecidedListener,
  { kind, metadata: { namespace } }: HttpRoute,
  labelsOf: LabelsOf,
): boolean {
  if (!kinds.includes(kind)) return false;
  if (listener.from === "All") return true;
  if (listener.from === "Same") return namespace === origin.namespace;
  if (listener.from !== "Selector" || listener.selector === undefined) return false;
  const labels = labelsOf(namespace);
  return labels !== undefined && selects(listener.selector, labels);
}

function selects({ matchLabels, matchExpressions }: LabelSelector, labels: StringMap): boolean {
  const hasLabels = Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
  return (
    hasLabels &&
    matchExpressions.every(({ key, operator, values }) => {
      const value = labels[key];
      if (operator === "In") return value !== undefined && values.includes(value);
      if (operator === "NotIn") return value === undefined || !values.includes(value);
      if (operator === "Exists") return value !== undefined;
      return operator === "DoesNotExist" && value === undefined;
    })
  );
}
