// Objects that name a Service: Ingresses, routes of the Gateway API, objects of ingress controllers,
// and anything else whose text contains the name. The API server says which resources it has, so
// unknown custom resources are searched too. A resource that cannot be listed is reported:
// then nothing proves that the Service is unused.
import { type KubeClient, parseJson, StatusError } from "../kube/client/client.ts";
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "../kube/kinds/fields.ts";
import type { StringMap } from "../kube/kinds/intern.ts";
import { collectionPath, type ResourcePlace } from "../kube/kinds/kind.ts";

export interface ServicePlace {
  readonly namespace: string;
  readonly name: string;
}

export interface ServiceUser {
  /** `Ingress`, `HTTPRoute`. */
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface ServiceUsers {
  /** By `namespace/name` of each Service that was asked for. */
  readonly users: ReadonlyMap<string, readonly ServiceUser[]>;
  /** Resources that could not be searched, each with the reason. */
  readonly unread: readonly string[];
}

interface Searched extends ResourcePlace {
  readonly kind: string;
}

/** Of one list request. */
const pageSize = 500;
const requestDeadlineMs = 30_000;

/**
 * Written by controllers from other objects, or about other objects, or secret. The names in a
 * Deployment are in its template, so its pods need no search.
 */
const ignoredResources = new Set([
  "bindings",
  "controllerrevisions",
  "endpoints",
  "endpointslices",
  "events",
  "leases",
  "localsubjectaccessreviews",
  "persistentvolumeclaims",
  "pods",
  "replicasets",
  "resourcequotas",
  "secrets",
  "serviceaccounts",
]);

/** Groups of computed objects. */
const ignoredGroups = new Set([
  "metrics.k8s.io",
  "custom.metrics.k8s.io",
  "external.metrics.k8s.io",
]);

/** Kubernetes' own groups: their objects name Services of their own namespace only. */
const coreGroups = new Set(["", "apps", "batch", "autoscaling", "policy"]);

export interface SearchOptions {
  readonly signal: AbortSignal;
  /** Objects with such labels are not users of Services. */
  readonly isIgnored: (labels: StringMap) => boolean;
}

export async function findServiceUsers(
  client: KubeClient,
  services: readonly ServicePlace[],
  { signal, isIgnored }: SearchOptions,
): Promise<ServiceUsers> {
  const users = new Map(services.map((place) => [keyOf(place), new Map<string, ServiceUser>()]));
  const unread: string[] = [];
  const read = (path: string) => readObject(client, path, signal);
  for (const resource of await searchedResources(read, unread)) {
    const namespaces = coreGroups.has(resource.group)
      ? [...new Set(services.map(({ namespace }) => namespace))]
      : [undefined];
    for (const namespace of namespaces) {
      const path = collectionPath(resource, namespace);
      try {
        for await (const object of listed(read, path)) {
          const labels = stringMapAt(recordAt(object, "metadata"), "labels");
          if (!isIgnored(labels)) noteUses(resource, object, services, users);
        }
      } catch (error) {
        unread.push(`${resource.resource}${inGroup(resource.group)}: ${refusal(error)}`);
        break;
      }
    }
  }
  const found = [...users].map(([key, own]): [string, readonly ServiceUser[]] => [
    key,
    [...own.values()],
  ]);
  return { users: new Map(found), unread };
}

type Read = (path: string) => Promise<RawRecord>;

async function readObject(
  client: KubeClient,
  path: string,
  signal: AbortSignal,
): Promise<RawRecord> {
  const limits = { deadlineMs: requestDeadlineMs, signal };
  const answer = parseJson(await client.request({ verb: "get", method: "GET", path, ...limits }));
  return isRecord(answer) ? answer : {};
}

/** Each once: a resource that two groups serve, such as Ingresses of old clusters, is one. */
async function searchedResources(read: Read, unread: string[]): Promise<readonly Searched[]> {
  const found = new Map<string, Searched>();
  const groups = listAt(await read("/apis"), "groups").filter(isRecord);
  const versions = groups.map((group) => ({
    group: optionalString(group, "name") ?? "",
    version: optionalString(recordAt(group, "preferredVersion"), "version") ?? "",
  }));
  for (const { group, version } of [{ group: "", version: "v1" }, ...versions]) {
    if (ignoredGroups.has(group)) continue;
    const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    try {
      for (const one of listAt(await read(path), "resources").filter(isRecord)) {
        const resource = optionalString(one, "name") ?? "";
        const kind = optionalString(one, "kind") ?? "";
        const isListed = listAt(one, "verbs").includes("list") && one["namespaced"] === true;
        if (!isListed || ignoredResources.has(resource) || resource.includes("/")) continue;
        found.set(`${resource}/${kind}`, { group, version, resource, kind, namespaced: true });
      }
    } catch (error) {
      unread.push(`${group}/${version}: ${refusal(error)}`);
    }
  }
  return [...found.values()];
}

async function* listed(read: Read, path: string): AsyncGenerator<RawRecord> {
  let next = "";
  do {
    const rest = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
    const page = await read(`${path}?limit=${pageSize}${rest}`);
    yield* listAt(page, "items").filter(isRecord);
    next = optionalString(recordAt(page, "metadata"), "continue") ?? "";
  } while (next !== "");
}

function noteUses(
  { kind, resource, group }: Searched,
  object: RawRecord,
  services: readonly ServicePlace[],
  users: ReadonlyMap<string, Map<string, ServiceUser>>,
): void {
  const metadata = recordAt(object, "metadata");
  const annotations = { ...recordAt(metadata, "annotations"), [lastApplied]: undefined };
  const namespace = optionalString(metadata, "namespace") ?? "";
  const name = optionalString(metadata, "name") ?? "";
  const isService = group === "" && resource === "services";
  for (const place of services) {
    if (isService && place.namespace === namespace && place.name === name) continue;
    // Of a Service, its labels and annotations say nothing about its traffic.
    const searched = isService
      ? { spec: object["spec"] }
      : { ...object, metadata: undefined, annotations };
    if (!names(searched, place, namespace)) continue;
    users.get(keyOf(place))?.set(`${kind} ${namespace}/${name}`, { kind, namespace, name });
  }
}

/** Of an earlier state; the present one is in the object itself. */
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";

function names(value: unknown, place: ServicePlace, namespace: string): boolean {
  if (typeof value === "string") return isNamedIn(value, place, namespace);
  if (Array.isArray(value)) return value.some((item) => names(item, place, namespace));
  if (!isRecord(value)) return false;
  if (value["name"] === place.name && value["namespace"] === place.namespace) return true;
  return Object.entries(value).some(
    ([field, item]) =>
      field !== "status" && (isNamedIn(field, place, namespace) || names(item, place, namespace)),
  );
}

/** The name alone in its own namespace, and its DNS name everywhere; never as a part of another. */
function isNamedIn(text: string, place: ServicePlace, namespace: string): boolean {
  const wanted = place.namespace === namespace ? place.name : `${place.name}.${place.namespace}`;
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + 1)) {
    const before = text[at - 1] ?? "";
    const after = text[at + wanted.length] ?? "";
    if (!/[a-z0-9-]/.test(before) && !/[a-z0-9-]/.test(after)) return true;
  }
  return false;
}

function refusal(error: unknown): string {
  if (error instanceof StatusError && error.code === 403) return "no permission to list";
  return error instanceof Error ? error.message : String(error);
}

function inGroup(group: string): string {
  return group === "" ? "" : `.${group}`;
}

function keyOf({ namespace, name }: ServicePlace): string {
  return `${namespace}/${name}`;
}
