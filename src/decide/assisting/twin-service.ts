// The twin as a Service object: what it carries over from its Service, and the patch that makes an
// existing twin right again. It has no selector, so that no controller of Kubernetes writes endpoints
// for it. Its owner is the Service, so that both are deleted together, with or without Lockstep.
import type { RawRecord } from "../../kube/kinds/fields.ts";
import type { StringMap } from "../../kube/kinds/intern.ts";
import { isHeadless, type Service, type ServicePort } from "../../kube/kinds/service.ts";
import type { SyncWrite } from "../syncing/sync-write.ts";
import { handedBackAnnotation, leaseAnnotation, twinLabels } from "./twin-names.ts";

/** Which Service, and not only which name: one that was deleted and created again is another one. */
const originalUidAnnotation = "lockstep.dev/twin-of-uid";

/**
 * Annotations by which ingress controllers and proxies read how to talk to a Service. All others
 * belong to the object and not to its traffic: a copy would be scraped, published or adopted twice.
 */
const carriedPrefixes = [
  "traefik.ingress.kubernetes.io/",
  "ingress.kubernetes.io/",
  "nginx.ingress.kubernetes.io/",
  "projectcontour.io/",
  "haproxy.org/",
  "haproxy-ingress.github.io/",
  "konghq.com/",
  "service.kubernetes.io/",
] as const;

export function createTwin(name: string, original: Service, lease: string): SyncWrite {
  const { namespace } = original.metadata;
  const object = {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace,
      name,
      labels: twinLabels(original.metadata.name),
      annotations: wantedAnnotations(original, lease),
      ownerReferences: [ownedBy(original)],
    },
    spec: {
      type: "ClusterIP",
      ...(isHeadless(original) && { clusterIP: "None" }),
      ...familiesOf(original),
      ...wantedSpec(original),
    },
  };
  const summary = `the twin of ${original.metadata.name}`;
  return { type: "create", kind: "Service", namespace, name, object, summary };
}

/** Undefined when the twin is right. */
export function updateTwin(twin: Service, original: Service, lease: string) {
  const annotations = annotationChanges(twin, wantedAnnotations(original, lease));
  const spec: RawRecord = {
    ...(!isSame(wantedSpec(twin), wantedSpec(original)) && cleared(wantedSpec(original))),
    ...(twin.selector !== undefined && { selector: null }),
  };
  const reasons = [
    ...(twin.selector === undefined ? [] : ["Lockstep takes it over again"]),
    ...(isSame(wantedSpec(twin), wantedSpec(original)) ? [] : ["its ports or settings changed"]),
    ...(annotations === undefined ? [] : ["its annotations changed"]),
  ];
  if (reasons.length === 0) return undefined;
  const isNewOwner = annotations !== undefined && originalUidAnnotation in annotations;
  const metadata = {
    ...(annotations !== undefined && { annotations }),
    ...(isNewOwner && { ownerReferences: [ownedBy(original)] }),
  };
  return patchOf(twin, metadata, spec, reasons.join(", "));
}

/** Kubernetes' controllers serve a Service with a selector. Undefined when the twin has it already. */
export function handBackTwin(twin: Service, selector: StringMap, byHand: boolean) {
  const isMarked = !byHand || twin.annotations[handedBackAnnotation] === "true";
  if (isMarked && isSame(twin.selector, selector)) return undefined;
  const before = Object.keys(twin.selector ?? {}).filter((label) => !(label in selector));
  const removed = Object.fromEntries(before.map((label) => [label, null]));
  const marks = { [handedBackAnnotation]: "true", [leaseAnnotation]: null };
  const metadata = byHand ? { annotations: marks } : {};
  const spec = { selector: { ...removed, ...selector } };
  return patchOf(twin, metadata, spec, "it gets the selector of its Service back");
}

/** Removes the mark of a twin that was handed back by hand; its replica does the rest. */
export function takeOverTwin(twin: Service): SyncWrite {
  const metadata = { annotations: { [handedBackAnnotation]: null } };
  return patchOf(twin, metadata, undefined, "Lockstep may take it over again");
}

function patchOf(
  { metadata: { namespace, name, resourceVersion } }: Service,
  metadata: RawRecord,
  spec: RawRecord | undefined,
  summary: string,
): SyncWrite {
  const patch = {
    metadata: { resourceVersion, ...metadata },
    ...(spec !== undefined && Object.keys(spec).length > 0 && { spec }),
  };
  const place = { kind: "Service", namespace, name } as const;
  return { type: "update", ...place, patch, resourceVersion, summary };
}

/** Given once: slices have the addresses of all families in any case. */
function familiesOf({ ipFamilies, traffic }: Service): RawRecord {
  const policy = traffic?.ipFamilyPolicy;
  return {
    ...(ipFamilies.length > 0 && { ipFamilies }),
    ...(policy !== undefined && { ipFamilyPolicy: policy }),
  };
}

/** Settings that a twin has from its Service, as a Service object writes them. */
function wantedSpec(service: Service): RawRecord {
  const { ports, publishNotReadyAddresses, sessionAffinity, traffic = {} } = service;
  const { affinityTimeoutSeconds, internalTrafficPolicy, trafficDistribution } = traffic;
  return {
    ports: ports.map(rawPort),
    ...(publishNotReadyAddresses && { publishNotReadyAddresses }),
    ...(sessionAffinity !== "None" && { sessionAffinity }),
    ...(affinityTimeoutSeconds !== undefined && {
      sessionAffinityConfig: { clientIP: { timeoutSeconds: affinityTimeoutSeconds } },
    }),
    ...(internalTrafficPolicy !== undefined && { internalTrafficPolicy }),
    ...(trafficDistribution !== undefined && { trafficDistribution }),
  };
}

/** In a merge patch, `null` brings the default of a field back. */
function cleared(spec: RawRecord): RawRecord {
  const defaults = {
    publishNotReadyAddresses: null,
    sessionAffinity: "None",
    sessionAffinityConfig: null,
    internalTrafficPolicy: null,
    trafficDistribution: null,
  };
  return { ...defaults, ...spec };
}

function rawPort({ name, port, protocol, targetPort, appProtocol }: ServicePort): RawRecord {
  return {
    ...(name === "" ? {} : { name }),
    port,
    protocol,
    targetPort,
    ...(appProtocol === undefined ? {} : { appProtocol }),
  };
}

function wantedAnnotations({ metadata, annotations }: Service, lease: string): StringMap {
  const carried = Object.entries(annotations).filter(([name]) => isCarried(name));
  const own = { [originalUidAnnotation]: metadata.uid, [leaseAnnotation]: lease };
  return { ...Object.fromEntries(carried), ...own };
}

function isCarried(annotation: string): boolean {
  return carriedPrefixes.some((prefix) => annotation.startsWith(prefix));
}

/** As a merge patch has them: `null` removes one. */
function annotationChanges(twin: Service, wanted: StringMap): RawRecord | undefined {
  const changes = [
    ...Object.entries(wanted).filter(([name, value]) => twin.annotations[name] !== value),
    ...Object.keys(twin.annotations)
      .filter((name) => isCarried(name) && !(name in wanted))
      .map((name): [string, null] => [name, null]),
  ];
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

function ownedBy({ metadata: { name, uid } }: Service): RawRecord {
  return { apiVersion: "v1", kind: "Service", name, uid };
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
