// The Services that get a twin. The owner of a Service decides with a label on it; for the rest the
// operator names namespaces and Services.
import { objectKey } from "../../kube/kinds/kind.ts";
import type { Service } from "../../kube/kinds/service.ts";
import { isCopy } from "../syncing/copy-names.ts";
import { assistLabel } from "./twin-names.ts";

export interface TwinSelection {
  /** Where every Service with a selector gets a twin, unless its label says no. */
  readonly namespaces: "all" | ReadonlySet<string>;
  /** By `namespace/name`, Services that get a twin, unless their label says no. */
  readonly services: ReadonlySet<string>;
}

/** Why a Service that the operator names gets no twin; undefined when it gets one. */
export function whyNotTwinned(
  service: Service | undefined,
  selection: TwinSelection,
): string | undefined {
  if (service === undefined) return "there is no such Service";
  if (isTwinned(service, selection)) return undefined;
  return cannotBeTwinned(service) ?? `it has the label ${assistLabel}=false`;
}

export function isTwinned(service: Service, { namespaces, services }: TwinSelection): boolean {
  if (cannotBeTwinned(service) !== undefined) return false;
  const wish = service.metadata.labels[assistLabel];
  if (wish === "true" || wish === "false") return wish === "true";
  const { namespace } = service.metadata;
  return (
    namespaces === "all" || namespaces.has(namespace) || services.has(objectKey(service.metadata))
  );
}

/** The reason in words; undefined for a Service that can have one. */
export function cannotBeTwinned(service: Service): string | undefined {
  // A twin, or a copy from another cluster.
  if (isCopy(service)) return "Lockstep created it";
  if (service.type === "ExternalName") return "it is an external name, which has no endpoints";
  // Without a selector no pod is known to belong to it, so nothing is fresher than its slices.
  if (service.selector === undefined) return "it has no selector";
  return undefined;
}
