// A Gateway of the Gateway API: listeners with their ports, host names and certificates, and which
// routes may be attached to them. Here it only has to be readable; decide/routing/gateway/ judges it.
import {
  isRecord,
  listAt,
  optionalInteger,
  optionalRecordAt,
  optionalString,
  type RawRecord,
  recordAt,
  requiredRecord,
  stringMapAt,
  stringsAt,
} from "./fields.ts";
import { type GatewayVersion, gatewayGroup, generationOf } from "./gateway-class.ts";
import type { StringMap } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface Gateway {
  readonly metadata: ObjectMeta;
  readonly generation: number;
  readonly className: string;
  readonly listeners: readonly GatewayListener[];
  readonly addresses: readonly GatewayAddress[];
  /** Fields of the spec that say who may pass its listeners and that are not read here. */
  readonly unread: readonly string[];
  readonly status: unknown;
}

export interface GatewayAddress {
  readonly type: string;
  readonly value: string;
}

export interface GatewayListener {
  readonly name: string;
  /** Empty for every host. */
  readonly hostname: string;
  readonly port: number;
  readonly protocol: string;
  readonly tls: ListenerTls | undefined;
  /** `Same` unless given. */
  readonly from: string;
  readonly selector: LabelSelector | undefined;
  /** Empty for those of the protocol. */
  readonly kinds: readonly RouteKind[];
}

export interface ListenerTls {
  /** `Terminate` unless given. */
  readonly mode: string;
  readonly certificateRefs: readonly ObjectReference[];
  /** Further fields, which nothing here understands. */
  readonly unread: readonly string[];
}

export interface RouteKind {
  readonly group: string;
  readonly kind: string;
}

export interface ObjectReference {
  readonly group: string;
  readonly kind: string;
  /** Undefined for the namespace of the object that has the reference. */
  readonly namespace: string | undefined;
  readonly name: string;
}

export interface LabelSelector {
  readonly matchLabels: StringMap;
  readonly matchExpressions: readonly LabelRequirement[];
}

export interface LabelRequirement {
  readonly key: string;
  readonly operator: string;
  readonly values: readonly string[];
}

export function gatewayKind(version: GatewayVersion): Kind<Gateway> {
  const kind: Kind<Gateway> = {
    group: gatewayGroup,
    version,
    kind: "Gateway",
    resource: "gateways",
    namespaced: true,
    project: (raw, similar) => {
      const object = objectRecord(raw);
      const spec = recordAt(object, "spec");
      return {
        metadata: projectMetadata(object, kind, similar?.metadata),
        generation: generationOf(object),
        className: optionalString(spec, "gatewayClassName") ?? "",
        listeners: listAt(spec, "listeners").map(listenerOf),
        addresses: listAt(spec, "addresses").map(addressOf),
        unread: ["tls"].filter((name) => Object.keys(recordAt(spec, name)).length > 0),
        status: object["status"],
      };
    },
  };
  return kind;
}

/** As its status has them. */
export function addressesInStatus({ status }: Pick<Gateway, "status">): readonly string[] {
  if (!isRecord(status)) return [];
  return listAt(status, "addresses")
    .filter(isRecord)
    .map(({ value }) => String(value));
}

function addressOf(entry: unknown): GatewayAddress {
  const address = requiredRecord(entry, "an address");
  return {
    type: optionalString(address, "type") ?? "IPAddress",
    value: optionalString(address, "value") ?? "",
  };
}

function listenerOf(entry: unknown): GatewayListener {
  const listener = requiredRecord(entry, "a listener");
  const allowed = recordAt(listener, "allowedRoutes");
  const namespaces = recordAt(allowed, "namespaces");
  const tls = optionalRecordAt(listener, "tls");
  const selector = optionalRecordAt(namespaces, "selector");
  return {
    name: optionalString(listener, "name") ?? "",
    hostname: optionalString(listener, "hostname") ?? "",
    port: optionalInteger(listener, "port") ?? 0,
    protocol: optionalString(listener, "protocol") ?? "",
    tls: tls && tlsOf(tls),
    from: optionalString(namespaces, "from") ?? "Same",
    selector: selector && selectorOf(selector),
    kinds: listAt(allowed, "kinds").map(routeKindOf),
  };
}

const tlsFields: ReadonlySet<string> = new Set(["mode", "certificateRefs", "options"]);

function tlsOf(tls: RawRecord): ListenerTls {
  return {
    mode: optionalString(tls, "mode") ?? "Terminate",
    certificateRefs: listAt(tls, "certificateRefs").map((entry) => referenceOf(entry, "Secret")),
    unread: Object.keys(tls).filter((name) => !tlsFields.has(name) && tls[name] !== null),
  };
}

/** A reference to an object of the core group and this kind, unless it says otherwise. */
export function referenceOf(entry: unknown, usualKind: string): ObjectReference {
  const reference = requiredRecord(entry, "a reference");
  return {
    group: optionalString(reference, "group") ?? "",
    kind: optionalString(reference, "kind") ?? usualKind,
    namespace: optionalString(reference, "namespace"),
    name: optionalString(reference, "name") ?? "",
  };
}

function routeKindOf(entry: unknown): RouteKind {
  const kind = requiredRecord(entry, "a kind");
  return {
    group: optionalString(kind, "group") ?? gatewayGroup,
    kind: optionalString(kind, "kind") ?? "",
  };
}

function selectorOf(selector: RawRecord): LabelSelector {
  return {
    matchLabels: stringMapAt(selector, "matchLabels"),
    matchExpressions: listAt(selector, "matchExpressions").map((entry) => {
      const requirement = requiredRecord(entry, "a requirement");
      return {
        key: optionalString(requirement, "key") ?? "",
        operator: optionalString(requirement, "operator") ?? "",
        values: stringsAt(requirement, "values"),
      };
    }),
  };
}
