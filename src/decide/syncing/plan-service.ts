// The Service in the access cluster that the copied slices hang on: without a selector, so that no
// controller there writes endpoints for it, and headless, because no proxy has to know it.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { Service, ServicePort } from "../../kube/kinds/service.ts";
import { type CopyNames, ownedLabels } from "./copy-names.ts";
import { unitedPorts } from "./merge-exports.ts";
import type { ServiceOffer } from "./service-offer.ts";
import { deletion, type SyncWrite } from "./sync-write.ts";

export interface ServiceInput {
  readonly namespace: string;
  /** Of the Service in the access cluster. */
  readonly name: string;
  readonly names: CopyNames;
  /** In the order of preference: where two disagree about a port, the first is right. */
  readonly offers: readonly ServiceOffer[];
  /** Lockstep's own, or none. */
  readonly service: Service | undefined;
  /** Whether slices without an offer stay. */
  readonly isStillUsed: boolean;
}

/** One write at most. */
export function planService(input: ServiceInput): readonly SyncWrite[] {
  const { service, offers, isStillUsed } = input;
  const offering = offers.flatMap((offer) => (offer.service === undefined ? [] : [offer.cluster]));
  if (offering.length === 0) {
    if (service === undefined || isStillUsed) return [];
    return [deletion("Service", service.metadata, "no cluster has the service any more")];
  }
  const ports = portsToOffer(input);
  if (service === undefined) return [create(input, ports, offering)];
  const isRight = service.selector === undefined && samePorts(service.ports, ports);
  return isRight ? [] : [update(service, ports)];
}

/**
 * All ports of all clusters. The present ports may belong to a cluster that is not known yet, or to
 * slices that another Lockstep keeps. Until that is known no port is removed.
 */
function portsToOffer({ offers, service, isStillUsed }: ServiceInput): readonly ServicePort[] {
  const mayBeOthers = isStillUsed || offers.some(({ isKnown }) => !isKnown);
  const present = mayBeOthers ? (service?.ports ?? []) : [];
  return unitedPorts([...present, ...offers.flatMap((offer) => offer.service?.ports ?? [])]);
}

function create(
  { namespace, name, names }: ServiceInput,
  ports: readonly ServicePort[],
  offering: readonly string[],
): SyncWrite {
  const object = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace, name, labels: ownedLabels(names) },
    spec: { clusterIP: "None", ports: ports.map(rawPort) },
  };
  const summary = `synced from ${offering.join(", ")}`;
  return { type: "create", kind: "Service", namespace, name, object, summary };
}

function update({ metadata, selector }: Service, ports: readonly ServicePort[]): SyncWrite {
  const { namespace, name, resourceVersion } = metadata;
  const patch = {
    metadata: { resourceVersion },
    spec: { ...(selector === undefined ? {} : { selector: null }), ports: ports.map(rawPort) },
  };
  const summary = selector === undefined ? "its ports changed" : "its selector must be removed";
  const place = { kind: "Service", namespace, name } as const;
  return { type: "update", ...place, patch, resourceVersion, summary };
}

export function rawPort({ name, port, protocol, targetPort, appProtocol }: ServicePort): RawRecord {
  return {
    ...(name === "" ? {} : { name }),
    port,
    protocol,
    targetPort,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

export function samePorts(a: readonly ServicePort[], b: readonly ServicePort[]): boolean {
  return JSON.stringify(a.map(rawPort)) === JSON.stringify(b.map(rawPort));
}
