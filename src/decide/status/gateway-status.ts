// The desired status of GatewayClasses, Gateways, HTTPRoutes and GRPCRoutes, from the decisions about
// them. Parts of other controllers stay: conditions of other types, and parents that are not ours.
// Pure.
import { isDeepStrictEqual } from "node:util";
import { toTime, type WallMs } from "../../environment/clock.ts";
import { isRecord, type RawRecord } from "../../kube/kinds/fields.ts";
import { type GatewayClass, gatewayGroup } from "../../kube/kinds/gateway-class.ts";
import type { HttpRoute, ParentRef } from "../../kube/kinds/http-route.ts";
import type { LoadBalancerAddress } from "../../kube/kinds/ingress.ts";
import type { DecidedPolicy } from "../routing/gateway/backend-policies.ts";
import { condition, type GatewayCondition } from "../routing/gateway/gateway-condition.ts";
import {
  type DecidedGateway,
  type DecidedHttpRoute,
  gatewayController,
} from "../routing/gateway/gateway-front-end.ts";
import { unsupportedAddress } from "../routing/gateway/listeners.ts";
import { shown } from "../routing/shown-text.ts";

/** The names that the specification gives to what is supported and tested; see docs/gateway.md. */
export const supportedFeatures: readonly string[] = [
  "GRPCRoute",
  "GRPCRouteNamedRouteRule",
  "Gateway",
  "GatewayAddressEmpty",
  "GatewayHTTPListenerIsolation",
  "GatewayHTTPSListenerDetectMisdirectedRequests",
  "GatewayPort8080",
  "GatewayStaticAddresses",
  "HTTPRoute",
  "HTTPRoute303RedirectStatusCode",
  "HTTPRoute307RedirectStatusCode",
  "HTTPRoute308RedirectStatusCode",
  "HTTPRouteBackendProtocolWebSocket",
  "HTTPRouteBackendRequestHeaderModification",
  "HTTPRouteBackendTimeout",
  "HTTPRouteCORS",
  "HTTPRouteDestinationPortMatching",
  "HTTPRouteHostRewrite",
  "HTTPRouteMethodMatching",
  "HTTPRouteNamedRouteRule",
  "HTTPRouteParentRefPort",
  "HTTPRoutePathRedirect",
  "HTTPRoutePathRewrite",
  "HTTPRoutePortRedirect",
  "HTTPRouteQueryParamMatching",
  "HTTPRouteRequestMirror",
  "HTTPRouteRequestMultipleMirrors",
  "HTTPRouteRequestPercentageMirror",
  "HTTPRouteRequestTimeout",
  "HTTPRouteResponseHeaderModification",
  "HTTPRouteRetry",
  "HTTPRouteSchemeRedirect",
  "ReferenceGrant",
];

/** Of a condition's message, by the API server. */
const maxMessageLength = 32_768;

/** Of a route's parents, by the API server; those of other controllers stay. */
const maxParents = 32;

/** The whole status, or undefined where it already is as it should be. */
export type DesiredStatus = RawRecord | undefined;

export function gatewayClassStatus(
  { status, generation, hasParameters }: GatewayClass,
  now: WallMs,
): DesiredStatus {
  const before = recordOf(status);
  const accepted = hasParameters
    ? condition("Accepted", false, "InvalidParameters", "spec.parametersRef is not supported")
    : condition("Accepted", true, "Accepted");
  const desired = {
    ...before,
    conditions: withConditions(before["conditions"], [accepted], generation, now),
    supportedFeatures: supportedFeatures.map((name) => ({ name })),
  };
  return isDeepStrictEqual(before, desired) ? undefined : desired;
}

export function gatewayStatus(
  { gateway, address, lacksAddress, listeners, attached }: DecidedGateway,
  status: unknown,
  addresses: readonly LoadBalancerAddress[],
  now: WallMs,
): DesiredStatus {
  const before = recordOf(status);
  const { generation } = gateway;
  const known = new Map(listOf(before["listeners"]).map((one) => [one["name"], one["conditions"]]));
  const accepted = listeners.filter(({ isAccepted }) => isAccepted);
  const isServed = listeners.some(({ conditions }) =>
    conditions.some(({ type, isTrue }) => type === "Programmed" && isTrue),
  );
  const shared = addresses.map(({ ip, hostname }) =>
    ip === "" ? { type: "Hostname", value: hostname } : { type: "IPAddress", value: ip },
  );
  const own = lacksAddress
    ? []
    : address === undefined
      ? shared
      : [{ type: "IPAddress", value: address }];
  const asked = gateway.addresses.filter(({ value }) => value !== "");
  const isOwn = (one: object) => own.some((other) => isDeepStrictEqual(one, other));
  const foreign = asked.find((one) => !isOwn(one));
  const strange = unsupportedAddress(gateway);
  const areListenersValid = accepted.length === listeners.length;
  const conditions = [
    strange !== undefined
      ? condition("Accepted", false, "UnsupportedAddress", strange)
      : areListenersValid
        ? condition("Accepted", true, "Accepted")
        : condition("Accepted", accepted.length > 0, "ListenersNotValid", "see the listeners"),
    programmed({ foreign: foreign?.value, lacksAddress, isServed }),
  ];
  const desired = {
    ...before,
    addresses: asked.length > 0 ? asked.filter(isOwn) : own,
    conditions: withConditions(before["conditions"], conditions, generation, now),
    listeners: listeners.map((one) => ({
      name: one.listener.name,
      supportedKinds: one.kinds.map((kind) => ({ group: gatewayGroup, kind })),
      attachedRoutes: attached.get(one.listener.name) ?? 0,
      conditions: withConditions(known.get(one.listener.name), one.conditions, generation, now),
    })),
  };
  return isDeepStrictEqual(before, desired) ? undefined : desired;
}

function programmed(found: {
  readonly foreign: string | undefined;
  readonly lacksAddress: boolean;
  readonly isServed: boolean;
}): GatewayCondition {
  const { foreign, lacksAddress, isServed } = found;
  if (foreign !== undefined) {
    const what = lacksAddress ? "not a free one" : "not one";
    const message = `address ${shown(foreign)} is ${what} of the proxy's`;
    return condition("Programmed", false, "AddressNotUsable", message);
  }
  if (lacksAddress) {
    const message = "all addresses of --gateway-address are in use";
    return condition("Programmed", false, "AddressNotAssigned", message);
  }
  return isServed
    ? condition("Programmed", true, "Programmed")
    : condition("Programmed", false, "Invalid", "no listener is served");
}

export interface HostProblems {
  /** Why names of the route are another's. */
  readonly messages: readonly string[];
  /** None of its names is its own. */
  readonly isWhole: boolean;
}

export function httpRouteStatus(
  { route, parents, rules }: DecidedHttpRoute,
  status: unknown,
  taken: HostProblems,
  now: WallMs,
): DesiredStatus {
  const before = recordOf(status);
  const ofParents = listOf(before["parents"]);
  const others = ofParents.filter((one) => one["controllerName"] !== gatewayController);
  const own = parents.slice(0, maxParents - others.length).map(({ parentRef, accepted }) => {
    const written = writtenParent(parentRef);
    const known = ofParents.find(
      (one) =>
        one["controllerName"] === gatewayController && isDeepStrictEqual(one["parentRef"], written),
    );
    const conditions = [...acceptedOf(accepted, rules, taken), referencesOf(rules)];
    return {
      parentRef: written,
      controllerName: gatewayController,
      conditions: withConditions(known?.["conditions"], conditions, route.generation, now, [
        "PartiallyInvalid",
      ]),
    };
  });
  const desired = { ...before, parents: [...others, ...own] };
  return isDeepStrictEqual(before, desired) ? undefined : desired;
}

/** The parents of other controllers alone: of a route that is attached to no Gateway of ours now. */
export function leftRouteStatus({ status }: HttpRoute): DesiredStatus {
  const before = recordOf(status);
  const parents = listOf(before["parents"]);
  const others = parents.filter((one) => one["controllerName"] !== gatewayController);
  return others.length === parents.length ? undefined : { ...before, parents: others };
}

/** Of a policy's Gateways, by the API server; those of other controllers stay. */
const maxAncestors = 16;

export function backendTlsPolicyStatus(
  { policy, gateways }: DecidedPolicy,
  status: unknown,
  now: WallMs,
): DesiredStatus {
  const before = recordOf(status);
  const ancestors = listOf(before["ancestors"]);
  const others = ancestors.filter((one) => one["controllerName"] !== gatewayController);
  const message =
    "the proxy cannot verify endpoints by the CA of a policy, so nothing is sent to its Services";
  const own = gateways.slice(0, Math.max(0, maxAncestors - others.length)).map((gateway) => {
    const [namespace = "", name = ""] = gateway.split("/");
    const ancestorRef = { group: gatewayGroup, kind: "Gateway", namespace, name };
    const known = ancestors.find(
      (one) =>
        one["controllerName"] === gatewayController &&
        isDeepStrictEqual(one["ancestorRef"], ancestorRef),
    );
    const conditions = [condition("Accepted", false, "Invalid", message)];
    return {
      ancestorRef,
      controllerName: gatewayController,
      conditions: withConditions(known?.["conditions"], conditions, policy.generation, now),
    };
  });
  if (own.length === 0 && others.length === ancestors.length) return undefined;
  const desired = { ...before, ancestors: [...others, ...own] };
  return isDeepStrictEqual(before, desired) ? undefined : desired;
}

function acceptedOf(
  accepted: GatewayCondition,
  { refused, ignored, ruleCount }: DecidedHttpRoute["rules"],
  taken: HostProblems,
): readonly GatewayCondition[] {
  if (!accepted.isTrue) return [accepted];
  if (taken.isWhole) {
    return [condition("Accepted", false, "HostTaken", taken.messages.join("; "))];
  }
  const messages = [...refused, ...ignored, ...taken.messages];
  if (messages.length === 0) return [accepted];
  const message = messages.join("; ");
  if (refused.length >= ruleCount && ruleCount > 0) {
    return [condition("Accepted", false, "UnsupportedValue", message)];
  }
  return [accepted, condition("PartiallyInvalid", true, "UnsupportedValue", message)];
}

function referencesOf({ references }: DecidedHttpRoute["rules"]): GatewayCondition {
  const [first] = references;
  if (first?.reason === undefined) return condition("ResolvedRefs", true, "ResolvedRefs");
  const message = references.map((one) => one.message).join("; ");
  return condition("ResolvedRefs", false, first.reason, message);
}

/** As the route has it: who reads the status compares both. */
function writtenParent({ group, kind, namespace, name, sectionName, port }: ParentRef): RawRecord {
  return {
    group,
    kind,
    ...(namespace !== undefined && { namespace }),
    name,
    ...(sectionName !== undefined && { sectionName }),
    ...(port !== undefined && { port }),
  };
}

/** Ours in place of those of their types; a time stays while its condition does. */
function withConditions(
  present: unknown,
  wanted: readonly GatewayCondition[],
  observedGeneration: number,
  now: WallMs,
  gone: readonly string[] = [],
): readonly RawRecord[] {
  const before = listOf(present);
  const own = new Set([...gone, ...wanted.map(({ type }) => type)]);
  const others = before.filter((one) => !own.has(String(one["type"])));
  const ours = wanted.map(({ type, isTrue, reason, message }) => {
    const status = isTrue ? "True" : "False";
    const known = before.find((one) => one["type"] === type);
    const isSame = known?.["status"] === status;
    return {
      lastTransitionTime: isSame ? known?.["lastTransitionTime"] : toTime(now),
      message: message.slice(0, maxMessageLength),
      observedGeneration,
      reason,
      status,
      type,
    };
  });
  return [...others, ...ours];
}

function recordOf(value: unknown): RawRecord {
  return isRecord(value) ? value : {};
}

function listOf(value: unknown): readonly RawRecord[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}
