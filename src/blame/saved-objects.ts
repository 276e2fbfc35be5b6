// Adds saved objects to the evidence: lists of pods, services, nodes, Endpoints, EndpointSlices and
// events from kubectl, saved once or several times, streams of `kubectl get --watch`, and audit
// logs. A list shows one moment, but each object has the times of its last changes. An object of an
// earlier list that a later list lacks was deleted in between.
import { isRecord, MalformedObjectError, type RawRecord } from "../kube/kinds/fields.ts";
import { savedDocuments } from "../kube/yaml/saved-documents.ts";
import { metadataText } from "../recording/metadata-text.ts";
import { type RecordedKindName, recordedKinds } from "../recording/recorded-kinds.ts";
import { auditedWrite, isAuditEvent } from "./audit-event.ts";
import type { Evidence } from "./evidence.ts";
import { KillingEvents } from "./killing-events.ts";
import { addListedGone } from "./listed-gone.ts";
import type { Seen } from "./pod-life.ts";
import { newestTimeMs } from "./saved-time.ts";
import { type SavedObject, Snapshots } from "./snapshots.ts";

/** A version in a stream or an audit log. */
interface Version extends SavedObject {
  readonly isDeleted: boolean;
  /** The time of writing, if known. */
  readonly atMs: number | undefined;
  readonly isCreated: boolean;
  /** The version before it; empty where its writer has not said so. */
  readonly basedOn: string;
  /** The file it is in: only those of one file follow each other. */
  readonly file: number;
}

export interface SavedCounts {
  /** Versions of objects of use. */
  readonly objects: number;
  /** Lines of an audit log in which the object is missing. */
  readonly withoutObject: number;
  /** Pods whose end is in an event. */
  readonly killed: number;
  /** Lists that break off in the middle. */
  readonly broken: number;
}

/** Everything is of one cluster. */
export class SavedObjects {
  readonly #cluster: string;
  readonly #snapshots = new Snapshots();
  /** In the order in which they were written. */
  readonly #versions: Version[] = [];
  readonly #killings = new KillingEvents();
  #file = 0;
  #newestMs = -Infinity;
  #withoutObject = 0;
  #broken = 0;
  #isRecording = false;

  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  get counts(): SavedCounts {
    const objects = this.#snapshots.size + this.#versions.length;
    const [withoutObject, broken] = [this.#withoutObject, this.#broken];
    return { objects, withoutObject, killed: this.#killings.size, broken };
  }

  /** It was made by `lockstep record` and is read by other means. */
  get isRecording(): boolean {
    return this.#isRecording;
  }

  /** The next files were saved together, at another time than the files before. */
  beginSet(): void {
    this.#snapshots.beginSet();
  }

  /** Of one file. Returns how many of its objects are of use; undefined when it is neither. */
  read(text: string): number | undefined {
    const saved = savedDocuments(text);
    if (saved.problems.length > 0) return undefined;
    const before = this.counts.objects + this.#killings.size;
    if (saved.isBroken === true) this.#broken += 1;
    this.#file += 1;
    this.#snapshots.beginFile();
    for (const document of saved.documents) this.#takeDocument(document, saved.isSequence);
    return this.counts.objects + this.#killings.size - before;
  }

  /** All that was read becomes evidence. */
  addTo(evidence: Evidence): void {
    if (this.counts.objects === 0) return;
    const cluster = this.#cluster;
    evidence.savedAt(cluster, this.#newestMs);
    this.#snapshots.addTo(evidence, { cluster, killings: this.#killings });
    this.#addVersions(evidence);
    if (evidence.podClusters.includes(cluster)) this.#addGone(evidence);
  }

  #takeDocument(document: unknown, isSequence: boolean): void {
    if (!isRecord(document)) return;
    this.#isRecording ||= document["kind"] === "lockstep-recording";
    if (this.#isRecording) return;
    const { type, object } = { type: document["type"], object: document["object"] };
    if (isAuditEvent(document)) this.#takeAudited(document);
    else if (typeof type === "string" && isRecord(object)) {
      if (type !== "BOOKMARK") this.#takeVersion(object, type === "DELETED");
    } else if (isSequence && !Array.isArray(document["items"])) this.#takeVersion(document, false);
    else this.#take(document, undefined, listsMost);
  }

  #take(value: unknown, kindOfList: string | undefined, listsLeft: number): void {
    if (!isRecord(value)) return;
    const kind = typeof value["kind"] === "string" ? value["kind"] : kindOfList;
    if (Array.isArray(value["items"])) {
      if (listsLeft === 0) return;
      const items = kind?.endsWith("List") ? kind.slice(0, -"List".length) : undefined;
      for (const item of value["items"]) this.#take(item, items, listsLeft - 1);
      return;
    }
    const known = this.#known(value, kind);
    const newestMs = this.#newest(value, kind);
    if (known === undefined) return;
    this.#snapshots.add({ kind: known, object: value, newestMs }, listsLeft < listsMost);
  }

  #takeVersion(object: RawRecord, isDeleted: boolean): void {
    const kind = typeof object["kind"] === "string" ? object["kind"] : undefined;
    const known = this.#known(object, kind);
    const newestMs = this.#newest(object, kind);
    if (known === undefined) return;
    const unsaid = { atMs: undefined, isCreated: false, basedOn: "", file: this.#file };
    this.#versions.push({ kind: known, object, newestMs, isDeleted, ...unsaid });
  }

  #takeAudited(event: RawRecord): void {
    try {
      const write = auditedWrite(event);
      if (write === undefined) {
        if (event["responseObject"] === undefined) this.#withoutObject += 1;
        return;
      }
      const kind = this.#known(write.object, write.kind);
      if (kind === undefined) return;
      this.#newestMs = Math.max(this.#newestMs, write.atMs);
      this.#versions.push({ ...write, kind, newestMs: write.atMs, file: this.#file });
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
    }
  }

  #known(object: RawRecord, kind: string | undefined): RecordedKindName | undefined {
    if (kind === "Event") this.#killings.see(object);
    return Object.values(recordedKinds).find((one) => one.kind === kind)?.kind;
  }

  /** Other kinds have future times too: the end of a certificate or of a lease. */
  #newest(object: RawRecord, kind: string | undefined): number {
    const isOfUse =
      kind === "Event" || Object.values(recordedKinds).some((one) => one.kind === kind);
    const newestMs = isOfUse ? newestTimeMs(object) : -Infinity;
    this.#newestMs = Math.max(this.#newestMs, newestMs);
    return newestMs;
  }

  /** A stream has no arrival times: a version came after every time in it and in those before it. */
  #addVersions(evidence: Evidence): void {
    const cluster = this.#cluster;
    const known = new Map<string, Version>();
    const reached = new Map<number, number>();
    evidence.beginList();
    for (const version of inTime(this.#versions)) {
      const { kind, object, isDeleted, atMs, isCreated, newestMs, file } = version;
      const uid = metadataText(object, "uid");
      const before = known.get(uid);
      const isFirst = before === undefined;
      known.set(uid, version);
      const reachedMs = Math.max(reached.get(file) ?? -Infinity, newestMs);
      reached.set(file, reachedMs);
      // Each of several API servers writes down only what was asked of it.
      const isNext = before === undefined || isSuccessor(before, version);
      const isWatched = atMs !== undefined && isNext && (isCreated || !isFirst);
      const sinceMs = isNext ? reachedMs : before.newestMs;
      const afterMs = isFirst ? 0 : sinceMs;
      const seen: Seen = { atMs: atMs ?? this.#newestMs, isWatched, afterMs };
      evidence.add({ cluster, kind, isDeleted, object, seen });
    }
  }

  /** A pod that a list names and that was nowhere among those saved had gone before. */
  #addGone(evidence: Evidence): void {
    for (const listing of evidence.publications.open()) {
      const { podUid, cluster } = listing;
      if (podUid === undefined || cluster !== this.#cluster) continue;
      if (evidence.lives.byUid(podUid) !== undefined) continue;
      const byMs = this.#newestMs;
      addListedGone({ evidence, listing, podUid, byMs, killings: this.#killings });
    }
  }
}

/** `kubectl get` of several kinds makes lists of lists at the most. */
const listsMost = 3;

/** Streams, which are in order already, and then what says when it was written. */
function inTime(versions: readonly Version[]): readonly Version[] {
  const isSaid = ({ atMs }: Version): boolean => atMs !== undefined;
  const said = versions.filter(isSaid).sort((one, other) => (one.atMs ?? 0) - (other.atMs ?? 0));
  return [...versions.filter((one) => !isSaid(one)), ...said];
}

/** Whether no other version is known to have been between the two. */
function isSuccessor(before: Version, { basedOn }: Version): boolean {
  return basedOn === "" || basedOn === metadataText(before.object, "resourceVersion");
}
