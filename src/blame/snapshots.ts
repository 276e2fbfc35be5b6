// Objects that were saved once or several times: `kubectl get` before an incident and after it.
// Files that were given together are of one time unless an object is in two of them. An object of
// an earlier snapshot that a later one lacks was deleted at an unknown moment in between.
import type { RawRecord } from "../kube/kinds/fields.ts";
import { metadataText } from "../recording/metadata-text.ts";
import type { RecordedKindName } from "../recording/recorded-kinds.ts";
import type { Evidence } from "./evidence.ts";
import type { KilledPod, KillingEvents } from "./killing-events.ts";

export interface SavedObject {
  readonly kind: RecordedKindName;
  readonly object: RawRecord;
  /** The newest time in it. */
  readonly newestMs: number;
}

/** Objects that were saved together. */
interface Snapshot {
  readonly set: number;
  readonly objects: SavedObject[];
  readonly uids: Set<string>;
  /** Kinds of which it has a list, so that what is missing in it was missing. */
  readonly listed: Set<RecordedKindName>;
  newestMs: number;
}

export class Snapshots {
  /** One for each file, until they are put together. */
  readonly #files: Snapshot[] = [];
  #set = 0;

  get size(): number {
    return this.#files.reduce((sum, { objects }) => sum + objects.length, 0);
  }

  beginSet(): void {
    this.#set += 1;
  }

  beginFile(): void {
    const none = { objects: [], uids: new Set<string>(), listed: new Set<RecordedKindName>() };
    this.#files.push({ set: this.#set, ...none, newestMs: -Infinity });
  }

  add(saved: SavedObject, isInList: boolean): void {
    const file = this.#files.at(-1);
    if (file === undefined) return;
    file.objects.push(saved);
    file.uids.add(metadataText(saved.object, "uid"));
    if (isInList) file.listed.add(saved.kind);
    file.newestMs = Math.max(file.newestMs, saved.newestMs);
  }

  /** The oldest first. */
  addTo(
    evidence: Evidence,
    place: { readonly cluster: string; readonly killings: KillingEvents },
  ): void {
    const { cluster } = place;
    let earlierMs: number | undefined;
    const pods = new Map<string, KilledPod>();
    for (const snapshot of this.#inTime()) {
      for (const [uid, pod] of pods) {
        if (!snapshot.uids.has(uid)) place.killings.addTo(evidence, pod);
      }
      const list = evidence.beginList();
      const seen = { atMs: snapshot.newestMs, isWatched: false, afterMs: earlierMs ?? 0 };
      for (const { kind, object } of snapshot.objects) {
        evidence.add({ cluster, kind, isDeleted: false, object, seen });
        if (kind !== "Pod") continue;
        const uid = metadataText(object, "uid");
        pods.set(uid, { cluster, pod: object, uid, seenMs: snapshot.newestMs });
      }
      if (earlierMs !== undefined) {
        for (const kind of snapshot.listed) {
          evidence.endList({ cluster, kind, ...namespaceOf(snapshot, kind) }, list, seen);
        }
      }
      earlierMs = snapshot.newestMs;
    }
  }

  /** Files of one set put together as long as no object is in two of them. */
  #inTime(): readonly Snapshot[] {
    const snapshots: Snapshot[] = [];
    const files = this.#files.filter(({ objects }) => objects.length > 0);
    for (const file of files.toSorted((one, other) => one.newestMs - other.newestMs)) {
      const same = snapshots.findLast(({ set }) => set === file.set);
      if (same === undefined || [...file.uids].some((uid) => same.uids.has(uid))) {
        snapshots.push(file);
        continue;
      }
      for (const saved of file.objects) same.objects.push(saved);
      for (const uid of file.uids) same.uids.add(uid);
      for (const kind of file.listed) same.listed.add(kind);
      same.newestMs = file.newestMs;
    }
    return snapshots.sort((one, other) => one.newestMs - other.newestMs);
  }
}

/** A list with objects of one namespace says nothing of any other. */
function namespaceOf(
  { objects }: Snapshot,
  kind: RecordedKindName,
): { readonly namespace?: string } {
  const namespaces = new Set(
    objects
      .filter((one) => one.kind === kind)
      .map(({ object }) => metadataText(object, "namespace")),
  );
  const [only] = namespaces;
  return namespaces.size === 1 && only !== undefined && only !== "" ? { namespace: only } : {};
}
