// All that a verdict may rest on, put together from recordings and saved objects before the first
// request is judged: the lives of pods and nodes, what services listed, what they select, and from
// when to when anybody looked. An object that cannot be understood is counted and harms no other.
import {
  isRecord,
  MalformedObjectError,
  type RawRecord,
  recordAt,
  requiredString,
} from "../kube/kinds/fields.ts";
import { AddressLives, type PodLife } from "./address-lives.ts";
import { KnownServices } from "./known-services.ts";
import { NodeLives, readNode } from "./node-lives.ts";
import { readPod } from "./pod-facts.ts";
import type { Seen } from "./pod-life.ts";
import { Publications } from "./publications.ts";
import { readEndpoints, readSlice } from "./published-facts.ts";
import type { RecordedKindName } from "./recorded-kinds.ts";
import type { Span } from "./span.ts";

/** A version of an object, or its absence. */
export interface ObjectNews {
  readonly cluster: string;
  readonly kind: RecordedKindName;
  readonly isDeleted: boolean;
  readonly object: RawRecord;
  readonly seen: Seen;
}

/** A time during which every change of the pods of a cluster was seen. */
export interface Coverage {
  readonly cluster: string;
  readonly fromMs: number;
  toMs: number;
}

export interface EvidenceOptions {
  /** Only these clusters' objects count; all of them when undefined. */
  readonly clusters?: ReadonlySet<string>;
  readonly livesMax?: number;
  readonly listingsMax?: number;
}

export class Evidence {
  readonly lives: AddressLives;
  readonly publications: Publications;
  readonly nodes = new NodeLives();
  readonly services = new KnownServices();
  readonly #coverage: Coverage[] = [];
  /** Asked again for every request without a try; empty while the evidence still grows. */
  readonly #podsOf = new Map<string, readonly PodLife[]>();
  /** Clusters of which pods, and clusters of which lists of endpoints are known. */
  readonly #seen: Readonly<Record<"pods" | "published", Set<string>>> = {
    pods: new Set(),
    published: new Set(),
  };
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
    return this.#coverage;
  }

  /** Objects that could not be understood. */
  get malformed(): number {
    return this.#malformed;
  }

  /** Whether anything is known of what the cluster published. */
  hasPublished(cluster: string): boolean {
    return this.#seen.published.has(cluster);
  }

  get podClusters(): readonly string[] {
    return [...this.#seen.pods].sort();
  }

  /** A list begins: what is seen from now on is not older than it. */
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
      this.#seen.pods.add(cluster);
      const place = `${cluster} ${namespace ?? ""}`;
      if (!this.#podsListedMs.has(place)) this.#podsListedMs.set(place, seen.atMs);
      this.lives.listed(cluster, namespace, list, seen);
    } else if (kind === "EndpointSlice" || kind === "Endpoints") {
      this.#seen.published.add(cluster);
      this.publications.listed(cluster, kind, namespace, list, seen);
    }
  }

  /** Undefined where pods of the namespace were never listed as a whole. */
  podsListedMs(cluster: string, namespace: string): number | undefined {
    return (
      this.#podsListedMs.get(`${cluster} `) ?? this.#podsListedMs.get(`${cluster} ${namespace}`)
    );
  }

  /** Objects were saved, once: they tell of the past, and of nothing after that. */
  savedAt(cluster: string, atMs: number): void {
    this.#savedMs.set(cluster, Math.max(atMs, this.#savedMs.get(cluster) ?? atMs));
  }

  /** Whether changes of the cluster's pods were followed at that time. */
  isCovered(cluster: string, { fromMs, toMs }: Span): boolean {
    return this.#coverage.some(
      (one) => one.cluster === cluster && one.fromMs <= fromMs && toMs <= one.toMs,
    );
  }

  /** Until when anything is known of the cluster. */
  knownUntilMs(cluster: string): number {
    const covered = this.#coverage.filter((one) => one.cluster === cluster);
    return Math.max(this.#savedMs.get(cluster) ?? -Infinity, ...covered.map(({ toMs }) => toMs));
  }

  cover(cluster: string, fromMs: number): Coverage {
    const coverage = { cluster, fromMs, toMs: fromMs };
    if (this.#clusters?.has(cluster) !== false) this.#coverage.push(coverage);
    return coverage;
  }

  add(news: ObjectNews): void {
    if (this.#clusters?.has(news.cluster) === false) return;
    this.#podsOf.clear();
    try {
      this.#add(news);
    } catch (error) {
      if (!(error instanceof MalformedObjectError)) throw error;
      this.#malformed += 1;
    }
  }

  /** Those that the service selects, and those that it ever listed. */
  podsOf(service: string): readonly PodLife[] {
    const known = this.#podsOf.get(service);
    if (known !== undefined) return known;
    const namespace = service.slice(0, service.indexOf("/"));
    const selected = this.services.clustersOf(service).flatMap((cluster) => {
      const selector = this.services.selector(service, cluster);
      if (selector === undefined) return [];
      return this.lives.selected(namespace, selector).filter((life) => life.cluster === cluster);
    });
    const listed = this.publications
      .ofService(service)
      .flatMap(({ podUid }) => (podUid === undefined ? [] : (this.lives.byUid(podUid) ?? [])));
    const pods = [...new Set([...selected, ...listed])];
    this.#podsOf.set(service, pods);
    return pods;
  }

  #add({ cluster, kind, isDeleted, object, seen }: ObjectNews): void {
    const uid = requiredString(recordAt(object, "metadata"), "uid");
    switch (kind) {
      case "Pod":
        this.#seen.pods.add(cluster);
        if (isDeleted && this.lives.isGone(uid)) break;
        // The last version of a pod often is the first to say how its containers ended.
        if (!isDeleted || isRecord(object["status"])) {
          this.lives.see(cluster, readPod(object), seen, this.#list);
        }
        if (isDeleted) this.lives.gone(uid, seen);
        break;
      case "EndpointSlice":
      case "Endpoints": {
        this.#seen.published.add(cluster);
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
