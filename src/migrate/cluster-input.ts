// Reads the objects from a cluster, read-only: lists of Ingresses, IngressClasses, Services and workloads,
// the ConfigMaps of the controllers, and the secrets that Ingresses name. A missing permission costs
// what it is for, and is reported.
import { wantedSecrets } from "../decide/routing/certificates.ts";
import { wantedPasswords } from "../decide/routing/user-lists.ts";
import { type KubeClient, parseJson, StatusError } from "../kube/client/client.ts";
import { isRecord, optionalString, type RawRecord, recordAt } from "../kube/kinds/fields.ts";
import { ingressKind } from "../kube/kinds/ingress.ts";
import { ingressClassKind } from "../kube/kinds/ingress-class.ts";
import {
  collectionPath,
  objectPath,
  type ResourcePlace,
  splitObjectKey,
} from "../kube/kinds/kind.ts";
import { secretKind } from "../kube/kinds/secret.ts";
import { serviceKind } from "../kube/kinds/service.ts";
import type { FoundKind, FoundObjects } from "./found-objects.ts";

const pageSize = 500;
const maxPages = 400;
const deadlineMs = 60_000;

/** Each is one request; Lockstep would list them beyond that. */
const maxNamedSecrets = 500;

interface ListedKind {
  readonly place: ResourcePlace;
  readonly kind: string;
  readonly as?: FoundKind;
  /** The report without these objects. */
  readonly cost: string;
}

const workloads = ["deployments", "daemonsets"].map((resource) => ({
  place: { group: "apps", version: "v1", resource, namespaced: true },
  kind: resource === "deployments" ? "Deployment" : "DaemonSet",
  cost: "the flags of ingress-nginx are unknown",
}));

const listed: readonly ListedKind[] = [
  { place: ingressKind, kind: "Ingress", cost: "nothing can be checked" },
  {
    place: ingressClassKind,
    kind: "IngressClass",
    as: "ingressClasses",
    cost: "only the class nginx is checked",
  },
  {
    place: serviceKind,
    kind: "Service",
    as: "services",
    cost: "missing Services and ports are not reported",
  },
  ...workloads,
];

const configMapPlace: ResourcePlace = {
  group: "",
  version: "v1",
  resource: "configmaps",
  namespaced: true,
};

export interface ClusterInputOptions {
  readonly client: KubeClient;
  readonly signal: AbortSignal;
  /** Read nothing but Ingresses and IngressClasses. */
  readonly onlyIngresses: boolean;
  /** Read the secrets that Ingresses name. */
  readonly withSecrets: boolean;
  /** `namespace/name` of the controller's ConfigMap, where the user says so. */
  readonly configMap: string | undefined;
  readonly onProgress: (step: string, count: number) => void;
}

export async function readCluster(
  found: FoundObjects,
  options: ClusterInputOptions,
): Promise<void> {
  const asked = options.onlyIngresses ? listed.slice(0, 2) : listed;
  for (const kind of asked) await listAll(found, kind, options);
  if (options.onlyIngresses) return;
  for (const key of configMapsOf(found, options.configMap)) {
    const raw = await getObject(found, configMapPlace, key, options);
    if (raw !== undefined) found.add({ ...raw, kind: "ConfigMap" }, "the cluster");
  }
  if (options.withSecrets) await readSecrets(found, options);
}

async function listAll(
  found: FoundObjects,
  { place, kind, as, cost }: ListedKind,
  { client, signal, onProgress }: ClusterInputOptions,
): Promise<void> {
  let next = "";
  let count = 0;
  try {
    for (let page = 0; page < maxPages; page += 1) {
      const more = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
      const path = `${collectionPath(place)}?limit=${pageSize}${more}`;
      const list = parseJson(
        await client.request({ verb: "list", method: "GET", path, deadlineMs, signal }),
      );
      if (!isRecord(list)) return;
      found.add(list, "the cluster", `${kind}List`);
      count += Array.isArray(list["items"]) ? list["items"].length : 0;
      onProgress(`reading ${place.resource}`, count);
      next = optionalString(recordAt(list, "metadata"), "continue") ?? "";
      if (next === "") {
        if (as !== undefined) found.sawAll(as);
        return;
      }
    }
    found.addProblem(`${place.resource}: only the first ${count} were read`);
  } catch (error) {
    if (!isRefused(error) || kind === "Ingress") throw error;
    found.addProblem(`no permission to list ${place.resource}: ${cost}`);
  }
}

/** Undefined if it does not exist or may not be read. */
async function getObject(
  found: FoundObjects,
  place: ResourcePlace,
  key: string,
  { client, signal }: ClusterInputOptions,
): Promise<RawRecord | undefined> {
  const path = objectPath(place, splitObjectKey(key));
  try {
    const raw = parseJson(
      await client.request({ verb: "get", method: "GET", path, deadlineMs, signal }),
    );
    return isRecord(raw) ? raw : undefined;
  } catch (error) {
    if (!(error instanceof StatusError) || (error.code !== 404 && error.code !== 403)) throw error;
    const isSecret = place.resource === "secrets";
    if (error.code === 403) {
      if (isSecret) found.refuseSecret(key, error.message);
      else found.addProblem(`no permission to get ${place.resource.slice(0, -1)} ${key}`);
    } else if (isSecret) found.missSecret(key);
    return undefined;
  }
}

const configMapFlags = ["configmap", "tcp-services-configmap", "udp-services-configmap"];

function configMapsOf(
  { controllers }: FoundObjects,
  asked: string | undefined,
): ReadonlySet<string> {
  const named = controllers.flatMap(({ flags }) =>
    configMapFlags.flatMap((flag) => flags.get(flag) ?? []),
  );
  return new Set(
    [...(asked === undefined ? [] : [asked]), ...named].filter((key) => key.includes("/")),
  );
}

async function readSecrets(found: FoundObjects, options: ClusterInputOptions): Promise<void> {
  const ingresses = [...found.ingresses.values()];
  const keys = new Set([...wantedSecrets(ingresses).keys, ...wantedPasswords(ingresses).keys]);
  let read = 0;
  let refused = 0;
  for (const key of [...keys].slice(0, maxNamedSecrets)) {
    const raw = await getObject(found, secretKind, key, options);
    read += 1;
    options.onProgress("reading secrets", read);
    if (raw !== undefined) found.add({ ...raw, kind: "Secret" }, "the cluster");
    else if (found.isSecretRefused(key)) refused += 1;
  }
  if (refused > 0) {
    found.addProblem(
      `no permission to get ${refused} of ${keys.size} secrets that Ingresses name: ` +
        "their certificates and passwords are not checked",
    );
  }
  if (keys.size > maxNamedSecrets) {
    for (const key of [...keys].slice(maxNamedSecrets)) found.refuseSecret(key, "not read");
    found.addProblem(`only ${maxNamedSecrets} of ${keys.size} secrets were read`);
  }
  found.sawAll("secrets");
}

function isRefused(error: unknown): error is StatusError {
  return error instanceof StatusError && (error.code === 403 || error.code === 404);
}
