// Twins with their Services and slices, read once from the API server: `status`, `off` and `on` work
// without a running replica.
import { readyIn } from "../../../decide/assisting/plan-twin.ts";
import {
  assistOwner,
  isTwin,
  isTwinSlice,
  originalOf,
} from "../../../decide/assisting/twin-names.ts";
import { type KubeClient, parseJson, StatusError } from "../../../kube/client/client.ts";
import { type EndpointSlice, endpointSliceKind } from "../../../kube/kinds/endpoint-slice.ts";
import { isRecord, listAt, optionalString, recordAt } from "../../../kube/kinds/fields.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { collectionPath, type Kind, objectPath, type Projected } from "../../../kube/kinds/kind.ts";
import { type Service, serviceKind } from "../../../kube/kinds/service.ts";
import type { NamedObject } from "./command.ts";

export interface TwinObjects {
  readonly twin: Service;
  readonly original: Service | undefined;
  /** All slices with the twin's name. */
  readonly slices: readonly EndpointSlice[];
  /** The Service's own slices. */
  readonly published: readonly EndpointSlice[];
}

const requestDeadlineMs = 30_000;
const pageSize = 500;

/** Every twin, in the given namespaces or all. */
export async function listTwins(
  client: KubeClient,
  namespaces: readonly string[],
  signal: AbortSignal,
): Promise<readonly Service[]> {
  const selector = `app.kubernetes.io/managed-by=${assistOwner}`;
  const places = namespaces.length === 0 ? [undefined] : namespaces;
  const lists = places.map((namespace) => list(client, serviceKind, namespace, selector, signal));
  return (await Promise.all(lists)).flat();
}

/** The twin that a person means with the name of the Service or of the twin itself. */
export async function findTwins(
  client: KubeClient,
  wanted: readonly NamedObject[],
  signal: AbortSignal,
): Promise<{ readonly found: readonly Service[]; readonly missing: readonly NamedObject[] }> {
  const namespaces = [...new Set(wanted.map(({ namespace }) => namespace))];
  const twins = namespaces.length === 0 ? [] : await listTwins(client, namespaces, signal);
  const found = new Set<Service>();
  const missing: NamedObject[] = [];
  for (const { namespace, name } of wanted) {
    const meant = twins.filter(
      (twin) =>
        twin.metadata.namespace === namespace &&
        (twin.metadata.name === name || originalOf(twin) === name),
    );
    if (meant.length === 0) missing.push({ namespace, name });
    for (const twin of meant) found.add(twin);
  }
  return { found: [...found], missing };
}

/** With the newest version of the twin; undefined when it is gone. */
export async function readTwin(
  client: KubeClient,
  place: NamedObject,
  signal: AbortSignal,
): Promise<TwinObjects | undefined> {
  const { namespace, name } = place;
  const twin = await get(client, serviceKind, place, signal);
  if (twin === undefined || !isTwin(twin)) return undefined;
  const originalName = originalOf(twin) ?? "";
  const original = await get(client, serviceKind, { namespace, name: originalName }, signal);
  const slicesOf = (service: string) =>
    list(client, endpointSliceKind, namespace, `kubernetes.io/service-name=${service}`, signal);
  const published = (await slicesOf(originalName)).filter((slice) => !isTwinSlice(slice));
  return { twin, original, slices: await slicesOf(name), published };
}

/** Whether `lockstep assist` wrote an object with these labels. */
export function isTwinObject(labels: StringMap): boolean {
  return Object.values(labels).includes(assistOwner);
}

/** How many endpoints a list of slices names as ready. */
export function readyCount(slices: readonly EndpointSlice[]): number {
  return readyIn(slices).size;
}

async function get<T extends Projected>(
  client: KubeClient,
  kind: Kind<T>,
  place: NamedObject,
  signal: AbortSignal,
): Promise<T | undefined> {
  const limits = { deadlineMs: requestDeadlineMs, signal };
  try {
    const path = objectPath(kind, place);
    return kind.project(
      parseJson(await client.request({ verb: "get", method: "GET", path, ...limits })),
    );
  } catch (error) {
    if (error instanceof StatusError && error.code === 404) return undefined;
    throw error;
  }
}

async function list<T extends Projected>(
  client: KubeClient,
  kind: Kind<T>,
  namespace: string | undefined,
  selector: string,
  signal: AbortSignal,
): Promise<readonly T[]> {
  const limits = { deadlineMs: requestDeadlineMs, signal };
  const base = `${collectionPath(kind, namespace)}?labelSelector=${encodeURIComponent(selector)}`;
  const found: T[] = [];
  let next = "";
  do {
    const rest = next === "" ? "" : `&continue=${encodeURIComponent(next)}`;
    const path = `${base}&limit=${pageSize}${rest}`;
    const page = parseJson(await client.request({ verb: "list", method: "GET", path, ...limits }));
    if (!isRecord(page)) break;
    for (const item of listAt(page, "items")) found.push(kind.project(item));
    next = optionalString(recordAt(page, "metadata"), "continue") ?? "";
  } while (next !== "");
  return found;
}
