// The order of ports in a subset and of subsets in an object: that of the hash of how go-spew prints
// them. The print names Go's types, so that the controller, whose types are `v1`, and an API server
// that sorts again by its internal types arrive at different orders of the same ports. A controller
// that compares by place then finds them changed at each sync.
import { optionalString } from "../../../kube/kinds/fields.ts";
import { type DeepHash, sortedByHash } from "../deep-hash.ts";
import type { Subset, SubsetAddress, SubsetPort, TargetRef } from "./repack.ts";

/** The Go types whose printed form is hashed. */
export interface SubsetTypes {
  /** Go's package of the types: `v1` of the API, `core` or before 1.9 `api` inside a server. */
  readonly package: "v1" | "core" | "api";
  /** Whether a port has an appProtocol: since 1.18. */
  readonly appProtocol: boolean;
  readonly hash: DeepHash;
}

export function portsInOrder(
  ports: readonly SubsetPort[],
  types: SubsetTypes,
): readonly SubsetPort[] {
  const type = `(${types.package}.EndpointPort)`;
  return sortedByHash(ports, types.hash, (port) => type + printedPort(port, types));
}

/** The ports of each must be in order. */
export function subsetsInOrder(subsets: readonly Subset[], types: SubsetTypes): readonly Subset[] {
  return sortedByHash(subsets, types.hash, (subset) => printedSubset(subset, types));
}

/** `%#v` of go-spew, without methods and addresses. */
function printedSubset(subset: Subset, types: SubsetTypes): string {
  const list = (type: string, items: readonly string[]): string =>
    `([]${types.package}.${type})${items.length === 0 ? "<nil>" : `[${items.join(" ")}]`}`;
  const addresses = (all: readonly SubsetAddress[] = []): string =>
    list(
      "EndpointAddress",
      all.map((address) => printedAddress(address, types)),
    );
  const ports = (subset.ports ?? []).map((port) => printedPort(port, types));
  return (
    `(${types.package}.EndpointSubset){Addresses:${addresses(subset.addresses)} ` +
    `NotReadyAddresses:${addresses(subset.notReadyAddresses)} ` +
    `Ports:${list("EndpointPort", ports)}}`
  );
}

function printedPort({ name = "", port, protocol, appProtocol }: SubsetPort, types: SubsetTypes) {
  const last = types.appProtocol ? ` AppProtocol:(*string)${appProtocol ?? "<nil>"}` : "";
  const printedProtocol = `Protocol:(${types.package}.Protocol)${protocol}`;
  return `{Name:(string)${name} Port:(int32)${port} ${printedProtocol}${last}}`;
}

function printedAddress(
  { ip, hostname = "", nodeName, targetRef }: SubsetAddress,
  types: SubsetTypes,
): string {
  return (
    `{IP:(string)${ip} Hostname:(string)${hostname} NodeName:(*string)${nodeName ?? "<nil>"} ` +
    `TargetRef:(*${types.package}.ObjectReference)${printedTarget(targetRef)}}`
  );
}

function printedTarget(target: TargetRef | undefined): string {
  if (target === undefined) return "<nil>";
  const text = (field: string): string => optionalString(target, field) ?? "";
  return (
    `{Kind:(string)${text("kind")} Namespace:(string)${text("namespace")} ` +
    `Name:(string)${text("name")} UID:(types.UID)${text("uid")} ` +
    `APIVersion:(string)${text("apiVersion")} ResourceVersion:(string)${text("resourceVersion")} ` +
    `FieldPath:(string)${text("fieldPath")}}`
  );
}
