// An Ingress: which hosts and paths lead to which services, as written, and the addresses in its
// status. Here it only has to be readable; later stages check and interpret it.
import {
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
import { internStructure, type StringMap } from "./intern.ts";
import type { Kind, ObjectMeta } from "./kind.ts";
import { objectRecord, projectMetadata } from "./metadata.ts";

export interface IngressBackend {
  /** Undefined when the backend is some other resource. */
  readonly service: IngressServiceBackend | undefined;
}

export interface IngressServiceBackend {
  readonly name: string;
  /** Its number or its name in the Service; undefined when the object gives neither. */
  readonly port: number | string | undefined;
}

export interface IngressPath {
  /** Empty when the object gives none. */
  readonly path: string;
  readonly pathType: string;
  readonly backend: IngressBackend;
}

export interface IngressRule {
  /** Empty for every host. */
  readonly host: string;
  readonly paths: readonly IngressPath[];
}

export interface IngressTls {
  /** Empty for the hosts of the rules. */
  readonly hosts: readonly string[];
  /** Of the Ingress's own namespace; empty when the object gives none. */
  readonly secretName: string;
}

/** Where an Ingress can be reached; one of the two is empty. */
export interface LoadBalancerAddress {
  readonly ip: string;
  readonly hostname: string;
}

export interface Ingress {
  readonly metadata: ObjectMeta;
  readonly annotations: StringMap;
  readonly ingressClassName: string | undefined;
  readonly defaultBackend: IngressBackend | undefined;
  readonly rules: readonly IngressRule[];
  readonly tls: readonly IngressTls[];
  /** `status.loadBalancer.ingress`, in its order. */
  readonly loadBalancer: readonly LoadBalancerAddress[];
}

export const ingressKind: Kind<Ingress> = {
  group: "networking.k8s.io",
  version: "v1",
  kind: "Ingress",
  resource: "ingresses",
  namespaced: true,
  project: projectIngress,
};

function projectIngress(raw: unknown, similar?: Ingress): Ingress {
  const object = objectRecord(raw);
  const spec = recordAt(object, "spec");
  const defaultBackend = optionalRecordAt(spec, "defaultBackend");
  return {
    metadata: projectMetadata(object, ingressKind, similar?.metadata),
    annotations: stringMapAt(recordAt(object, "metadata"), "annotations", similar?.annotations),
    ingressClassName: optionalString(spec, "ingressClassName"),
    defaultBackend: defaultBackend === undefined ? undefined : backendOf(defaultBackend),
    rules: listAt(spec, "rules").map(ruleOf),
    tls: internStructure(listAt(spec, "tls").map(tlsOf), similar?.tls),
    loadBalancer: internStructure(
      listAt(recordAt(recordAt(object, "status"), "loadBalancer"), "ingress").map(addressOf),
      similar?.loadBalancer,
    ),
  };
}

function addressOf(entry: unknown): LoadBalancerAddress {
  const address = requiredRecord(entry, "an address");
  return {
    ip: optionalString(address, "ip") ?? "",
    hostname: optionalString(address, "hostname") ?? "",
  };
}

function ruleOf(entry: unknown): IngressRule {
  const rule = requiredRecord(entry, "a rule");
  return {
    host: optionalString(rule, "host") ?? "",
    paths: listAt(recordAt(rule, "http"), "paths").map(pathOf),
  };
}

function tlsOf(entry: unknown): IngressTls {
  const tls = requiredRecord(entry, "an entry of tls");
  return {
    hosts: stringsAt(tls, "hosts"),
    secretName: optionalString(tls, "secretName") ?? "",
  };
}

function pathOf(entry: unknown): IngressPath {
  const path = requiredRecord(entry, "a path");
  return {
    path: optionalString(path, "path") ?? "",
    pathType: optionalString(path, "pathType") ?? "",
    backend: backendOf(recordAt(path, "backend")),
  };
}

function backendOf(backend: RawRecord): IngressBackend {
  const service = optionalRecordAt(backend, "service");
  if (service === undefined) return { service: undefined };
  const port = recordAt(service, "port");
  const name = optionalString(port, "name") ?? "";
  const number = optionalInteger(port, "number") ?? 0;
  return {
    service: {
      name: optionalString(service, "name") ?? "",
      port: name !== "" ? name : number !== 0 ? number : undefined,
    },
  };
}
