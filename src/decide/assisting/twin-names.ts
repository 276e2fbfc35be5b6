// Names and labels of twins: the Service beside a Service, with the same ports and without a
// selector, whose slices Lockstep writes in the same cluster. Copies of `lockstep sync` have another
// owner, so that neither command takes the objects of the other for its own.
import { createHash } from "node:crypto";
import { type EndpointSlice, managedByOf } from "../../kube/kinds/endpoint-slice.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import type { Projected } from "../../kube/kinds/kind.ts";
import { isHeadless, type Service } from "../../kube/kinds/service.ts";
import type { CopyNames } from "../syncing/copy-names.ts";

export const assistOwner = "assist.lockstep.dev";

const managedByLabel = "app.kubernetes.io/managed-by";
const headlessLabel = "service.kubernetes.io/headless";

/** On a Service: `true` gives it a twin, `false` never. */
export const assistLabel = "lockstep.dev/assist";

/** On a Service, to choose the name of its twin. */
export const twinNameAnnotation = "lockstep.dev/assist-name";

/** On a twin and its slices, the name of the Service. A Service's name always fits into a label. */
export const twinOfLabel = "lockstep.dev/twin-of";

/** On a twin that was handed back by hand: no replica takes it over again while it is there. */
export const handedBackAnnotation = "lockstep.dev/assist-off";

/** On a twin, `namespace/name` of the Lease whose holder writes it: replicas of another leave it. */
export const leaseAnnotation = "lockstep.dev/assist-lease";

const suffix = "-lockstep";

/** Of a Service, which is a DNS label. */
const nameLengthMax = 63;

const hashLength = 8;

/**
 * `web-lockstep`. A long name is cut and gets a hash of the whole name, so that two long names with
 * the same beginning have different twins.
 */
export function defaultTwinName(service: string): string {
  const name = `${service}${suffix}`;
  if (name.length <= nameLengthMax) return name;
  const hash = createHash("sha256").update(service).digest("hex").slice(0, hashLength);
  const room = nameLengthMax - suffix.length - hashLength - 1;
  return `${service.slice(0, room).replace(/-+$/, "")}-${hash}${suffix}`;
}

export type TwinName =
  | { readonly name: string; readonly problem?: undefined }
  | { readonly name?: undefined; readonly problem: string };

/** The name of the twin of a Service, as its annotation wants it or by default. */
export function twinNameOf({ metadata, annotations }: Service): TwinName {
  const wanted = annotations[twinNameAnnotation];
  if (wanted === undefined) return { name: defaultTwinName(metadata.name) };
  if (!isServiceName(wanted)) {
    return { problem: `${twinNameAnnotation}: "${wanted}" cannot be the name of a Service` };
  }
  if (wanted === metadata.name) {
    return { problem: `${twinNameAnnotation} names the Service itself` };
  }
  return { name: wanted };
}

/** RFC 1035 labels, which all versions of Kubernetes accept. */
function isServiceName(name: string): boolean {
  return /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(name) && name.length <= nameLengthMax;
}

/** Of every object that `lockstep assist` creates, but slices. */
export const assistLabels: StringMap = { [managedByLabel]: assistOwner };

export function twinLabels(service: string): StringMap {
  return { ...assistLabels, [twinOfLabel]: service };
}

/** The names by which the slices of this twin are planned. */
export function twinNames(twin: string, service: Service): CopyNames {
  return {
    owner: assistOwner,
    targetName: () => twin,
    sourceName: () => service.metadata.name,
    local: {
      sliceLabels: {
        [twinOfLabel]: service.metadata.name,
        // Only where the twin is headless: else every kube-proxy serves its cluster IP by the slices.
        ...(isHeadless(service) && { [headlessLabel]: "" }),
      },
    },
  };
}

/** The names of all objects in the cluster: each object is looked up by its own. */
export const ownNames: CopyNames = {
  owner: assistOwner,
  targetName: (name) => name,
  sourceName: (name) => name,
};

export function isTwin({ metadata }: Projected): boolean {
  return metadata.labels[managedByLabel] === assistOwner;
}

export function isTwinSlice(slice: EndpointSlice): boolean {
  return managedByOf(slice) === assistOwner;
}

/** The Service whose twin, or twin's slice, this is. */
export function originalOf({ metadata }: Projected): string | undefined {
  return metadata.labels[twinOfLabel];
}

export function isHandedBack({ annotations }: Pick<Service, "annotations">): boolean {
  return annotations[handedBackAnnotation] === "true";
}

export function leaseOf({ annotations }: Pick<Service, "annotations">): string | undefined {
  return annotations[leaseAnnotation];
}

const kubernetesOwners = [
  "endpointslice-controller.k8s.io",
  "endpointslicemirroring-controller.k8s.io",
];

/** Written by Kubernetes' own controllers. */
export function isKubernetesSlice(slice: EndpointSlice): boolean {
  return kubernetesOwners.includes(managedByOf(slice) ?? "");
}
