// Takes objects over into the evidence that somebody saved with kubectl: lists of pods, services,
// nodes, Endpoints, EndpointSlices and events, as JSON or YAML. They show one moment, yet each
// carries the times of its last changes. A pod that a saved list of endpoints names and the saved
// pods lack had gone before they were saved.
import { type Document, parseAllDocuments } from "yaml";
import {
  isRecord,
  MalformedObjectError,
  optionalString,
  type RawRecord,
  recordAt,
} from "../kube/kinds/fields.ts";
import type { Evidence } from "./evidence.ts";
import type { Listing } from "./publications.ts";
import { type RecordedKindName, recordedKinds } from "./recorded-kinds.ts";

/** Everything in a set is of one cluster, saved at about one time. */
export class SavedObjects {
  readonly #cluster: string;
  readonly #objects: { readonly kind: RecordedKindName; readonly object: RawRecord }[] = [];
  /** When a pod was told to end, by the events. */
  readonly #killedMs = new Map<string, number>();
  #newestMs = -Infinity;

  constructor(cluster: string) {
    this.#cluster = cluster;
  }

  get size(): number {
    return this.#objects.length;
  }

  /** Of one file. Returns how many of its objects are of use; undefined when it is neither. */
  read(text: string): number | undefined {
    const documents = documentsOf(text);
    if (documents === undefined) return undefined;
    const before = this.#objects.length + this.#killedMs.size;
    for (const document of documents) this.#take(document, undefined, listsMost);
    return this.#objects.length + this.#killedMs.size - before;
  }

  /** All that was read becomes evidence. */
  addTo(evidence: Evidence): void {
    const cluster = this.#cluster;
    const atMs = this.#newestMs;
    if (this.#objects.length === 0) return;
    evidence.savedAt(cluster, atMs);
    const seen = { atMs, isWatched: false, afterMs: 0 };
    for (const { kind, object } of this.#objects) {
      evidence.add({ cluster, kind, isDeleted: false, object, seen });
    }
    if (this.#objects.some(({ kind }) => kind === "Pod")) this.#addGone(evidence);
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
    if (kind === "Event") this.#event(value);
    const known = Object.values(recordedKinds).find((one) => one.kind === kind);
    if (known !== undefined) this.#objects.push({ kind: known.kind, object: value });
    // Other kinds tell of the future, too: when a certificate ends, when a lease does.
    if (known !== undefined || kind === "Event") {
      this.#newestMs = Math.max(this.#newestMs, newestTimeMs(value, depthMost));
    }
  }

  #event(event: RawRecord): void {
    try {
      if (optionalString(event, "reason") !== "Killing") return;
      const uid = optionalString(recordAt(event, "involvedObject"), "uid");
      const time =
        optionalString(event, "firstTimestamp") ?? optionalString(event, "eventTime") ?? "";
      const atMs = timeMs(time);
      if (uid !== undefined && !Number.isNaN(atMs)) this.#killedMs.set(uid, atMs);
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
    }
  }

  #addGone(evidence: Evidence): void {
    for (const listing of evidence.publications.open()) {
      const { podUid, cluster } = listing;
      if (podUid === undefined || cluster !== this.#cluster) continue;
      if (evidence.lives.byUid(podUid) === undefined) this.#bury(evidence, listing, podUid);
    }
  }

  /** Listed as ready, so it was; and gone since, when exactly only an event can tell. */
  #bury(evidence: Evidence, { address, podName, service }: Listing, uid: string): void {
    const cluster = this.#cluster;
    const atMs = this.#newestMs;
    const namespace = service.slice(0, service.indexOf("/"));
    const metadata = { uid, namespace, name: podName ?? uid };
    const ready = { type: "Ready", status: "True", lastTransitionTime: new Date(0).toISOString() };
    const object = { metadata, status: { podIP: address, conditions: [ready] } };
    const seen = { atMs, isWatched: false, afterMs: 0 };
    evidence.add({ cluster, kind: "Pod", isDeleted: false, object, seen });
    const killedMs = this.#killedMs.get(uid);
    const gone = killedMs === undefined ? seen : { ...seen, atMs: killedMs, isWatched: true };
    evidence.add({ cluster, kind: "Pod", isDeleted: true, object: { metadata }, seen: gone });
  }
}

/** Undefined when the text is neither JSON nor YAML. */
function documentsOf(text: string): readonly unknown[] | undefined {
  try {
    return [JSON.parse(text)];
  } catch {
    // Most saved objects are JSON, which is parsed a hundred times faster; the others are YAML.
    const documents = parseAllDocuments(text);
    if (!Array.isArray(documents)) return [];
    if (documents.some(({ errors }) => errors.length > 0)) return undefined;
    return plainValues(documents);
  }
}

/** Undefined when they refer to each other without end. */
function plainValues(documents: readonly Document[]): readonly unknown[] | undefined {
  try {
    return documents.map((document): unknown => document.toJS());
  } catch {
    // The file is said to be neither.
    return undefined;
  }
}

/** `kubectl get` of several kinds makes lists of lists at the most. */
const listsMost = 3;

/** No object of these kinds is half as deep. */
const depthMost = 32;

const timeField = /(?:Time|Timestamp|At|^time)$/;

/** A deletion may be meant for the future. */
const futureField = "deletionTimestamp";

/** The newest time that the object mentions: it cannot have been saved before. */
function newestTimeMs(value: unknown, depthLeft: number): number {
  if (depthLeft === 0 || typeof value !== "object" || value === null) return -Infinity;
  let newestMs = -Infinity;
  for (const [field, inner] of Object.entries(value)) {
    if (field === futureField) continue;
    const isTime = typeof inner === "string" && timeField.test(field);
    const ms = isTime ? timeMs(inner) : newestTimeMs(inner, depthLeft - 1);
    if (ms > newestMs) newestMs = ms;
  }
  return newestMs;
}

/** With a year of four digits, as Kubernetes writes it; NaN for anything else. */
function timeMs(text: string): number {
  return /^\d{4}-/.test(text) ? Date.parse(text) : Number.NaN;
}
