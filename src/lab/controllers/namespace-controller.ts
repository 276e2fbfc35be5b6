// Empties a namespace that is being deleted, then lets it go. An ordinary client of the API server:
// it learns from discovery what a namespace can hold.
import type { Environment } from "../../environment/environment.ts";
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import { isRecord, listAt, optionalString, recordAt } from "../../kube/kinds/fields.ts";
import {
  collectionPath,
  objectKey,
  objectPath,
  type ResourcePlace,
} from "../../kube/kinds/kind.ts";
import { type Namespace, namespaceKind } from "../../kube/kinds/namespace.ts";
import { Reflector } from "../../kube/reflector/reflector.ts";
import { noChecks } from "../../kube/reflector/reflector-parts.ts";
import type { Workqueue } from "../../kube/workqueue/workqueue.ts";
import { runWorkers } from "../../kube/workqueue/workqueue-workers.ts";

export interface NamespaceControllerOptions
  extends Pick<Environment, "clock" | "timers" | "random" | "log"> {
  readonly client: KubeClient;
  readonly cluster: string;
  readonly queue: Workqueue;
}

/** The API server adds it to every namespace, and only this controller removes it. */
const finalizer = "kubernetes";

const workers = 2;
const maxRetries = 15;

/** Contents with a grace period or finalizers of their own take their time. */
const lookAgainMs = 500;

const requestDeadlineMs = 30_000;

/** Runs until the signal aborts. */
export async function runNamespaceController(
  options: NamespaceControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { client, queue, ...rest } = options;
  const namespaces = new Reflector({
    ...rest,
    client,
    checks: noChecks,
    kind: namespaceKind,
    indexes: {},
    handlers: [
      ({ object }) => {
        if (isLeaving(object)) queue.add(objectKey(object.metadata));
      },
    ],
  });
  namespaces.start();
  const sync = async (name: string, stop: AbortSignal): Promise<void> => {
    const namespace = namespaces.store.get("", name);
    if (namespace === undefined || !isLeaving(namespace)) return;
    const isEmpty = await emptyNamespace(client, name, stop);
    if (isEmpty) await finalize(client, namespace, stop);
    else queue.addAfter(name, lookAgainMs);
  };
  await runWorkers({ queue, workers, sync, maxRetries, log: options.log, signal });
  queue.shutDown();
  await namespaces.stop();
}

function isLeaving({ metadata, finalizers }: Namespace): boolean {
  return metadata.deletionTimestamp !== undefined && finalizers.includes(finalizer);
}

/** Asks for everything in it to be deleted; true when nothing is left. */
async function emptyNamespace(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<boolean> {
  let left = 0;
  for (const place of await namespacedPlaces(client, signal)) {
    const path = collectionPath(place, namespace);
    const request = { path, deadlineMs: requestDeadlineMs, signal };
    await client.request({ ...request, verb: "delete", method: "DELETE" });
    const list = parseJson(await client.request({ ...request, verb: "list", method: "GET" }));
    left += isRecord(list) ? listAt(list, "items").length : 0;
  }
  return left === 0;
}

async function finalize(
  client: KubeClient,
  namespace: Namespace,
  signal: AbortSignal,
): Promise<void> {
  const limits = { deadlineMs: requestDeadlineMs, signal };
  try {
    const path = objectPath(namespaceKind, namespace.metadata);
    const current = parseJson(
      await client.request({ verb: "get", method: "GET", path, ...limits }),
    );
    if (!isRecord(current)) return;
    const spec = recordAt(current, "spec");
    const finalizers = listAt(spec, "finalizers").filter((one) => one !== finalizer);
    await client.request({
      verb: "update",
      method: "PUT",
      path: `${path}/finalize`,
      body: { ...current, spec: { ...spec, finalizers } },
      ...limits,
    });
  } catch (error) {
    // Gone already, by another's hand: that is what we wanted.
    if (!(error instanceof StatusError && error.code === 404)) throw error;
  }
}

/** Every namespaced resource whose objects can be deleted together. */
async function namespacedPlaces(
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly ResourcePlace[]> {
  const get = async (path: string) => {
    const limits = { deadlineMs: requestDeadlineMs, signal };
    const answer = parseJson(await client.request({ verb: "get", method: "GET", path, ...limits }));
    return isRecord(answer) ? answer : {};
  };
  const groups = listAt(await get("/apis"), "groups").filter(isRecord);
  const versions = groups.map(
    (group) => optionalString(recordAt(group, "preferredVersion"), "groupVersion") ?? "",
  );
  const places: ResourcePlace[] = [];
  for (const groupVersion of ["v1", ...versions]) {
    const [version = "", group = ""] = groupVersion.split("/").reverse();
    const root = group === "" ? "/api/v1" : `/apis/${groupVersion}`;
    for (const resource of listAt(await get(root), "resources").filter(isRecord)) {
      const name = optionalString(resource, "name") ?? "";
      const verbs = listAt(resource, "verbs");
      if (resource["namespaced"] !== true || !verbs.includes("deletecollection")) continue;
      places.push({ group, version, resource: name, namespaced: true });
    }
  }
  return places;
}
