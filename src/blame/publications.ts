// Which service listed which address when, by Endpoints or EndpointSlices: the cluster's own, and in
// an access cluster the copies. An endpoint is listed as long as any object lists it as ready,
// however a service's endpoints are split over them. Bounded: beyond the limit what was listed first
// is forgotten, and counted.
import { endpointId } from "../sources/endpoint-id.ts";
import { type Seen, wentAt } from "./pod-life.ts";
import type { ListedEndpoint, PublishedFacts } from "./published-facts.ts";
import { between, exactly, type Span } from "./span.ts";

/** One unbroken time of one endpoint in one service's list. */
export interface Listing extends ListedEndpoint {
  readonly cluster: string;
  /** `namespace/name`. */
  readonly service: string;
  readonly from: Span;
  /** Undefined while it lasts, as far as the evidence goes. */
  readonly until: Span | undefined;
  /** The newest time in what listed it first; infinitely long ago where it has none. */
  readonly changedMs: number;
}

interface OpenListing extends Listing {
  until: Span | undefined;
  /** How many objects list it; it ends when there is none. */
  objects: number;
}

interface PublishedObject {
  readonly facts: PublishedFacts;
  readonly keys: ReadonlySet<string>;
  /** The list that it came with or after, and when. */
  readonly list: number;
  readonly seenMs: number;
  /** The last list that named it. */
  readonly namedIn: number;
}

/** At some 300 bytes each as much as the pods may take. */
const defaultListingsMax = 2_000_000;

/** Endpoints objects and slices at one time: twenty times what the largest clusters have. */
const objectsMax = 1_000_000;

/** All of these are compared for a request; an endpoint that flaps every minute, for most of a day. */
const listingsPerAddressMax = 1_000;

export class Publications {
  readonly #listingsMax: number;
  /** By cluster and uid of the object. */
  readonly #objects = new Map<string, PublishedObject>();
  /** The same by form and cluster, and then by namespace: a whole list is compared with them. */
  readonly #byPlace = new Map<string, Map<string, Map<string, PublishedObject>>>();
  readonly #open = new Map<string, OpenListing>();
  /** In the order in which the addresses were first listed. */
  readonly #byAddress = new Map<string, OpenListing[]>();
  /** The addresses that are to be forgotten next, once that has begun. */
  #oldest: Iterator<string> | undefined;
  readonly #byService = new Map<string, Set<OpenListing>>();
  /** Of the services that were asked for since they last changed. */
  readonly #latestFirst = new Map<string, readonly Listing[]>();
  #size = 0;
  #dropped = 0;

  constructor(options: { readonly listingsMax?: number } = {}) {
    this.#listingsMax = options.listingsMax ?? defaultListingsMax;
  }

  get size(): number {
    return this.#size;
  }

  get dropped(): number {
    return this.#dropped;
  }

  /** A version of an Endpoints object or of an EndpointSlice. */
  see(cluster: string, facts: PublishedFacts, seen: Seen, list: number): void {
    const id = `${cluster} ${facts.uid}`;
    const known = this.#objects.get(id);
    if (known !== undefined && known.list !== list && seen.atMs < known.seenMs) {
      // Of two recordings of the same time the second adds nothing.
      this.#keep(cluster, { ...known, namedIn: list });
      return;
    }
    if (known === undefined && this.#objects.size >= objectsMax) {
      this.#dropped += 1;
      return;
    }
    const before = known?.keys ?? none;
    const after = new Map(
      facts.endpoints.map((endpoint) => [listingKey(cluster, facts.service, endpoint), endpoint]),
    );
    const keys = new Set(after.keys());
    this.#keep(cluster, { facts, keys, list, namedIn: list, seenMs: seen.atMs });
    for (const key of before) if (!after.has(key)) this.#leave(key, wentAt(seen));
    for (const [key, endpoint] of after) {
      const { service, changedMs } = facts;
      if (!before.has(key)) this.#join(key, { ...endpoint, cluster, service, changedMs }, seen);
    }
  }

  gone(cluster: string, uid: string, seen: Seen): void {
    const id = `${cluster} ${uid}`;
    const object = this.#objects.get(id);
    if (object === undefined) return;
    for (const key of object.keys) this.#leave(key, wentAt(seen));
    this.#objects.delete(id);
    const { place, namespace } = placeOf(cluster, object.facts);
    const places = this.#byPlace.get(place);
    const there = places?.get(namespace);
    there?.delete(id);
    if (there?.size === 0) places?.delete(namespace);
  }

  #keep(cluster: string, object: PublishedObject): void {
    const id = `${cluster} ${object.facts.uid}`;
    this.#objects.set(id, object);
    const { place, namespace } = placeOf(cluster, object.facts);
    const places = this.#byPlace.get(place) ?? new Map<string, Map<string, PublishedObject>>();
    this.#byPlace.set(place, places);
    const there = places.get(namespace) ?? new Map<string, PublishedObject>();
    places.set(namespace, there.set(id, object));
  }

  /** A list was whole: objects of the form that it did not name are gone. */
  listed(
    cluster: string,
    form: PublishedFacts["form"],
    namespace: string | undefined,
    list: number,
    seen: Seen,
  ): void {
    const places = this.#byPlace.get(`${form} ${cluster}`);
    const there = namespace === undefined ? places?.values() : [places?.get(namespace)];
    for (const objects of there ?? []) {
      for (const object of objects?.values() ?? []) {
        if (object.namedIn >= list || object.seenMs > seen.atMs) continue;
        const { uid } = object.facts;
        this.gone(cluster, uid, { ...seen, afterMs: seen.afterMs ?? object.seenMs });
      }
    }
  }

  /** In the order in which they began. */
  ofAddress(address: string): readonly Listing[] {
    return this.#byAddress.get(address) ?? [];
  }

  /** Of all clusters, in the order in which they began. */
  ofService(service: string): readonly Listing[] {
    return [...(this.#byService.get(service) ?? [])];
  }

  /** Those that lasted longest first. */
  latestFirst(service: string): readonly Listing[] {
    const known = this.#latestFirst.get(service);
    if (known !== undefined) return known;
    const sorted = this.ofService(service).toSorted(byLastDescending);
    // A log may name services without end.
    if (sorted.length > 0) this.#latestFirst.set(service, sorted);
    return sorted;
  }

  /** Listings that are still open at the end of the evidence. */
  open(): readonly Listing[] {
    return [...this.#open.values()];
  }

  /** Listings found by a list: their start was not observed. */
  found(): readonly Listing[] {
    const all = [...this.#byService.values()].flatMap((listings) => [...listings]);
    return all.filter(({ from }) => from.fromMs < from.toMs);
  }

  #join(key: string, listed: Omit<Listing, "from" | "until">, seen: Seen): void {
    const open = this.#open.get(key);
    if (open !== undefined) {
      open.objects += 1;
      return;
    }
    const listing: OpenListing = { ...listed, from: joinedAt(seen), until: undefined, objects: 1 };
    this.#open.set(key, listing);
    const { address, service } = listing;
    const atAddress = this.#byAddress.get(address);
    if (atAddress === undefined) this.#byAddress.set(address, [listing]);
    else this.#addTo(atAddress, listing);
    const ofService = this.#byService.get(service) ?? new Set();
    this.#byService.set(service, ofService.add(listing));
    this.#latestFirst.delete(service);
    this.#size += 1;
    if (this.#size > this.#listingsMax) this.#forgetOldest();
  }

  #addTo(atAddress: OpenListing[], listing: OpenListing): void {
    atAddress.push(listing);
    if (atAddress.length <= listingsPerAddressMax) return;
    const oldest = atAddress.shift();
    if (oldest !== undefined) this.#forget(oldest);
  }

  #forget(listing: OpenListing): void {
    this.#size -= 1;
    this.#dropped += 1;
    this.#byService.get(listing.service)?.delete(listing);
    this.#latestFirst.delete(listing.service);
  }

  #leave(key: string, at: Span): void {
    const open = this.#open.get(key);
    if (open === undefined) return;
    open.objects -= 1;
    if (open.objects > 0) return;
    open.until = at;
    this.#open.delete(key);
    this.#latestFirst.delete(open.service);
  }

  #forgetOldest(): void {
    this.#oldest ??= this.#byAddress.keys();
    const { value: address, done } = this.#oldest.next();
    if (done === true) return;
    const listings = this.#byAddress.get(address) ?? [];
    this.#byAddress.delete(address);
    for (const listing of listings) this.#forget(listing);
  }
}

const none: ReadonlySet<string> = new Set();

/** An entry of a first list may be as old as the earliest list allows. */
function joinedAt({ atMs, isWatched, afterMs }: Seen): Span {
  return isWatched ? exactly(atMs) : between(Math.min(afterMs ?? 0, atMs), atMs);
}

function placeOf(cluster: string, { form, service }: PublishedFacts) {
  return { place: `${form} ${cluster}`, namespace: service.slice(0, service.indexOf("/")) };
}

function listingKey(cluster: string, service: string, endpoint: ListedEndpoint): string {
  return `${cluster} ${service} ${endpointId(endpoint)}`;
}

/** When it ended for certain; never, as far as is known, while it lasts. */
export function lastMs({ until }: Listing): number {
  return until?.toMs ?? Infinity;
}

function byLastDescending(one: Listing, other: Listing): number {
  const [oneMs, otherMs] = [lastMs(one), lastMs(other)];
  return oneMs === otherMs ? 0 : oneMs > otherMs ? -1 : 1;
}
