// The evidence for verdicts, collected from recordings and saved objects before the first request
// is judged. It has the histories of pods and nodes, the endpoints and selectors of services, and
// the intervals in which objects were followed. A malformed object is counted and harms no other.
import {
  isRecord,
  MalformedObjectError,
  type RawRecord,
  recordAt,
  requiredString,
} from "../kube/kinds/fields.ts";
import { metadataText } from "../recording/metadata-text.ts";
import type { RecordedKindName } from "../recording/recorded-kinds.ts";
import { AddressLives, type PodHistory } from "./address-lives.ts";
import {
  type Coverage,
  type CoveredPlace,
  CoveredTimes,
  type NamespacePlace,
  placeKey,
} from "./coverage.ts";
import { KnownServices } from "./known-services.ts";
import { NodeLives, readNode } from "./node-lives.ts";
import { readPod } from "./pod-facts.ts";
import type { Seen } from "./pod-life.ts";
import { Publications } from "./publications.ts";
import { readEndpoints, readSlice } from "./published-facts.ts";
import type { Span } from "./span.ts";

/** A version of an object, or its absence. */
export interface ObjectNews {
  readonly cluster: string;
  readonly kind: RecordedKindName;
  readonly isDeleted: boolean;
  readonly object: RawRecord;
  readonly seen: Seen;
}

export interface EvidenceOptions {
  /** Only these clusters' objects count; all of them when undefined. */
  readonly clusters?: ReadonlySet<string>;
  readonly livesMax?: number;
  readonly listingsMax?: number;
}

/** Looked at for a request to a service: those of some hundred rollouts of a large one. */
export const podsOfServiceMax = 10_000;

/** Namespaces of which lists are known; ten times what large clusters have. */
const publishedMax = 100_000;

/** Remembered of all services together, in some 20 MB. */
const keptPodsMax = 1_000_000;

export class Evidence {
  readonly lives: AddressLives;
  readonly publications: Publications;
  readonly nodes = new NodeLives();
  readonly services = new KnownServices();
  readonly #covered = new CoveredTimes();
  /** Asked again for every try and every request without one; empty while the evidence grows. */
  readonly #podsOf = new Map<string, ReadonlySet<PodHistory>>();
  #keptPods = 0;
  readonly #podClusters = new Set<string>();
  /** Of which clusters, or namespaces of them, lists of endpoints are known, by `placeKey`. */
  readonly #published = new Set<string>();
  /** When all pods of a cluster, or of one namespace of it, were first listed while it was recorded. */
  readonly #podsListedMs = new Map<string, number>();
  readonly #savedMs = new Map<string, number>();
  readonly #clusters: ReadonlySet<string> | undefined;
  #list = 0;
  #malformed = 0;

  constructor(options: EvidenceOptions = {}) {
    this.lives = new AddressLives(options);
    this.publications = new Publications(options);
    this.#clusters = options.clusters;
  }

  get coverage(): readonly Coverage[] {
    return this.#covered.all;
  }

  /** Objects that could not be understood. */
  get malformed(): number {
    return this.#malformed;
  }

  /** Whether the evidence has any EndpointSlice or Endpoints object of this place. */
  hasPublished(place: NamespacePlace): boolean {
    const cluster = placeKey({ ...place, namespace: undefined });
    return this.#published.has(cluster) || this.#published.has(placeKey(place));
  }

  get podClusters(): readonly string[] {
    return [...this.#podClusters].sort();
  }

  /** A list begins: its objects are not older than it. */
  beginList(): number {
    this.#list += 1;
    return this.#list;
  }

  /** The list was whole. */
  endList(
    place: {
      readonly cluster: string;
      readonly kind: RecordedKindName;
      readonly namespace?: string;
    },
    list: number,
    seen: Seen,
  ): void {
    const { cluster, kind, namespace } = place;
    if (this.#clusters?.has(cluster) === false) return;
    if (kind === "Pod") {
      this.#podClusters.add(cluster);
      const key = placeKey({ cluster, namespace });
      if (!this.#podsListedMs.has(key)) this.#podsListedMs.set(key, seen.atMs);
      this.lives.listed(cluster, namespace, list, seen);
    } else if (kind === "EndpointSlice" || kind === "Endpoints") {
      this.#published.add(placeKey({ cluster, namespace }));
      this.publications.listed(cluster, kind, namespace, list, seen);
    }
  }

  /** Undefined where pods of the namespace were never listed as a whole. */
  podsListedMs(place: NamespacePlace): number | undefined {
    const ofCluster = this.#podsListedMs.get(placeKey({ ...place, namespace: undefined }));
    return ofCluster ?? this.#podsListedMs.get(placeKey(place));
  }

  /** Objects were saved once: they show the past, and nothing after that. */
  savedAt(cluster: string, atMs: number): void {
    this.#savedMs.set(cluster, Math.max(atMs, this.#savedMs.get(cluster) ?? atMs));
  }

  /** Whether changes of the pods there were followed at that time. */
  isCovered(place: NamespacePlace, instant: Span): boolean {
    return this.#covered.has(place, instant);
  }

  /** Whether they ever were. */
  isRecorded(place: NamespacePlace): boolean {
    return this.#covered.of(place).length > 0;
  }

  /** Until when anything is known of the place. */
  knownUntilMs(place: NamespacePlace): number {
    const savedMs = this.#savedMs.get(place.cluster) ?? -Infinity;
    return this.#covered.of(place).reduce((ms, { toMs }) => Math.max(ms, toMs), savedMs);
  }

  cover(place: CoveredPlace, fromMs: number): Coverage {
    const coverage = { ...place, fromMs, toMs: fromMs };
    if (this.#clusters?.has(place.cluster) !== false) this.#covered.add(coverage);
    return coverage;
  }

  /** Pods and their changes, lists, services, nodes and times that had to be left out. */
  get dropped(): number {
    const { lives, publications, services, nodes } = this;
    return (
      lives.dropped +
      lives.momentsDropped +
      publications.dropped +
      services.dropped +
      nodes.dropped +
      this.#covered.dropped
    );
  }

  add(news: ObjectNews): void {
    if (this.#clusters?.has(news.cluster) === false) return;
    this.#forgetPodsOf();
    try {
      this.#add(news);
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
      this.#malformed += 1;
    }
  }

  /** Those that the service selects, and those that it ever listed. */
  podsOf(service: string): ReadonlySet<PodHistory> {
    const known = this.#podsOf.get(service);
    if (known !== undefined) return known;
    const namespace = service.slice(0, service.indexOf("/"));
    const selected = this.services.clustersOf(service).flatMap((cluster) => {
      const selector = this.services.selector(service, cluster);
      return selector === undefined ? [] : this.lives.selected({ cluster, namespace }, selector);
    });
    const listed = this.publications
      .ofService(service)
      .flatMap(({ podUid }) => (podUid === undefined ? [] : (this.lives.byUid(podUid) ?? [])));
    const pods = new Set([...selected, ...listed].slice(0, podsOfServiceMax));
    // A log may name services without end; those without pods are found out again as fast.
    if (pods.size > 0) this.#keepPodsOf(service, pods);
    return pods;
  }

  #keepPodsOf(service: string, pods: ReadonlySet<PodHistory>): void {
    this.#keptPods += pods.size;
    if (this.#keptPods > keptPodsMax) this.#forgetPodsOf();
    this.#podsOf.set(service, pods);
  }

  #forgetPodsOf(): void {
    this.#podsOf.clear();
    this.#keptPods = 0;
  }

  #add({ cluster, kind, isDeleted, object, seen }: ObjectNews): void {
    const uid = requiredString(recordAt(object, "metadata"), "uid");
    switch (kind) {
      case "Pod":
        this.#podClusters.add(cluster);
        if (isDeleted && this.lives.isGone(uid)) break;
        // Often only the last version of a pod has the end of its containers.
        if (!isDeleted || isRecord(object["status"])) {
          this.lives.see(cluster, readPod(object), seen, this.#list);
        }
        if (isDeleted) this.lives.gone(uid, seen);
        break;
      case "EndpointSlice":
      case "Endpoints": {
        const namespace = metadataText(object, "namespace");
        if (this.#published.size < publishedMax) {
          this.#published.add(placeKey({ cluster, namespace }));
        }
        const facts = kind === "Endpoints" ? readEndpoints(object) : readSlice(object);
        if (isDeleted) this.publications.gone(cluster, uid, seen);
        else if (facts !== undefined) {
          this.services.hear(cluster, facts.service);
          this.publications.see(cluster, facts, seen, this.#list);
        }
        break;
      }
      case "Service":
        if (!isDeleted) this.services.see(cluster, object);
        break;
      case "Node":
        if (isDeleted) this.nodes.gone(cluster, readNode(object).name, seen);
        else this.nodes.see(cluster, readNode(object), seen);
        break;
    }
  }
}
