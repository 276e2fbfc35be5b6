// A deletion with a policy for the dependents is held by a finalizer until that is done:
// `orphan` takes the owner's reference out of them, `foregroundDeletion` waits until those that
// block it are gone. Instead of the graph of a real garbage collector there are the informers'
// caches and the set of owners that wait.
import { type KubeClient, parseJson, StatusError } from "../../kube/client/client.ts";
import {
  isRecord,
  listAt,
  optionalString,
  type RawRecord,
  recordAt,
} from "../../kube/kinds/fields.ts";
import { type ObjectMeta, objectPath, type ResourcePlace } from "../../kube/kinds/kind.ts";
import { objectRecord } from "../../kube/kinds/metadata.ts";

const orphan = "orphan";
const foreground = "foregroundDeletion";

export interface Held {
  readonly metadata: ObjectMeta;
  /** Absent for kinds of which only some is kept: their finalizers are then read from the server. */
  readonly raw?: RawRecord;
}

export interface Dependent extends Held {
  readonly place: ResourcePlace;
}

export class HeldDeletions {
  readonly #client: KubeClient;
  /** Of objects that go once their dependents are gone. */
  readonly #waiting = new Set<string>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Whether a deletion of it has begun that may be held by what becomes of its dependents. */
  concerns({ metadata, raw }: Held): boolean {
    if (metadata.deletionTimestamp === undefined) return false;
    return (
      raw === undefined || finalizersOf(raw).some((name) => name === orphan || name === foreground)
    );
  }

  isWaiting(uid: string): boolean {
    return this.#waiting.has(uid);
  }

  gone(uid: string): void {
    this.#waiting.delete(uid);
  }

  /** Does what can be done now; gives the dependents that are to be deleted first. */
  async proceed(
    place: ResourcePlace,
    { metadata }: Held,
    dependents: readonly Dependent[],
    signal: AbortSignal,
  ): Promise<readonly Dependent[]> {
    const path = objectPath(place, metadata);
    const live = await this.#live(path, signal);
    if (live === undefined || uidOf(live) !== metadata.uid) return [];
    const finalizers = finalizersOf(live);
    if (finalizers.includes(orphan)) {
      for (const dependent of dependents) await this.#release(dependent, metadata.uid, signal);
      await this.#removeFinalizer(path, live, orphan, signal);
    } else if (finalizers.includes(foreground)) {
      this.#waiting.add(metadata.uid);
      const blocking = dependents.filter((dependent) => isBlocking(dependent, metadata.uid));
      if (blocking.length > 0) return blocking;
      await this.#removeFinalizer(path, live, foreground, signal);
    }
    return [];
  }

  async #live(path: string, signal: AbortSignal): Promise<RawRecord | undefined> {
    try {
      const answer = await this.#client.request({ verb: "get", method: "GET", path, signal });
      return objectRecord(parseJson(answer));
    } catch (error) {
      if (isGone(error)) return undefined;
      throw error;
    }
  }

  /** Takes the owner out of the dependent's references. */
  async #release(
    { place, metadata }: Dependent,
    owner: string,
    signal: AbortSignal,
  ): Promise<void> {
    const ownerReferences = [{ $patch: "delete", uid: owner }];
    await this.#patch(
      objectPath(place, metadata),
      "application/strategic-merge-patch+json",
      { metadata: { uid: metadata.uid, ownerReferences } },
      signal,
    );
  }

  /** Only from the version that was looked at: what another put there since must stay. */
  async #removeFinalizer(
    path: string,
    live: RawRecord,
    name: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { resourceVersion } = recordAt(live, "metadata");
    const finalizers = finalizersOf(live).filter((one) => one !== name);
    const body = { metadata: { resourceVersion, finalizers } };
    await this.#patch(path, "application/merge-patch+json", body, signal);
  }

  async #patch(
    path: string,
    contentType: string,
    body: object,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const how = { verb: "patch", method: "PATCH" } as const;
      await this.#client.request({ ...how, path, contentType, body, signal });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }
}

export function isGone(error: unknown): boolean {
  return error instanceof StatusError && error.code === 404;
}

function finalizersOf(raw: RawRecord): readonly string[] {
  return listAt(recordAt(raw, "metadata"), "finalizers").filter((name) => typeof name === "string");
}

function uidOf(raw: RawRecord): string | undefined {
  return optionalString(recordAt(raw, "metadata"), "uid");
}

function isBlocking({ raw = {} }: Dependent, owner: string): boolean {
  return listAt(recordAt(raw, "metadata"), "ownerReferences").some(
    (reference) =>
      isRecord(reference) && reference["uid"] === owner && reference["blockOwnerDeletion"] === true,
  );
}
