// Only for tests: the real disagreements of pods, published objects and proxies in an incident,
// with their times, from the storage's commits and from each replica's reported routes.

import type { StorageEvent } from "../../src/apiserver/storage/storage.ts";
import { assert } from "../../src/environment/assert.ts";
import type { Clock } from "../../src/environment/clock.ts";
import { isRecord, type RawRecord } from "../../src/kube/kinds/fields.ts";
import type { StageTruth } from "../../src/lab/incidents/stage.ts";
import type { RoutedEndpoint, RoutedInput } from "../../src/observe/routed-witness.ts";
import type { PublishedForm } from "../../src/sources/published-form.ts";
import type { Direction, Hop } from "../../src/timeline/witness.ts";
import { storagePrefixes } from "./proof-cluster.ts";
import { fromKey, placeOfKey, ReportedEndpoints, resources } from "./reported-endpoints.ts";

/** The step of an endpoint at a witness, or one that is still missing there. */
export interface PlacedStep {
  readonly hop: Hop;
  /** The cluster, or the replica. */
  readonly witness: string;
  /** Service, address and port. */
  readonly place: string;
  readonly direction: Direction;
}

export interface PlacedChange extends PlacedStep {
  readonly at: number;
}

/** A witness has an endpoint that no pod makes true, or lacks one that a pod does. */
export interface Disagreement extends PlacedStep {
  readonly from: number;
  readonly to: number;
  /** The side that changed; `gone` when it was the replica that went away. */
  readonly endedBy: "witness" | "pods" | "gone" | undefined;
}

/** By service. */
export type Routes = ReadonlyMap<string, readonly RoutedEndpoint[]>;

export class IncidentTruth implements StageTruth {
  readonly #clock: Clock;
  readonly #cluster: string;
  readonly #reported: ReportedEndpoints;
  /** Services whose endpoints pods make. */
  readonly #ofPods = new Set<string>();
  /** By replica. */
  readonly #routes = new Map<string, Map<string, readonly RoutedEndpoint[]>>();
  readonly #open = new Map<string, Disagreement>();
  readonly #over: Disagreement[] = [];
  /** By place, all that happened to it at any hop. */
  readonly #changes = new Map<string, PlacedChange[]>();
  /** By place, the only pod that ever had it: so places name endpoints. */
  readonly #pods = new Map<string, string>();
  readonly #listeners = new Set<StageTruth["routed"]>();
  /** Called as one begins. */
  onDisagreement: () => void = () => undefined;

  constructor(clock: Clock, cluster: string, form: PublishedForm) {
    this.#clock = clock;
    this.#cluster = cluster;
    this.#reported = new ReportedEndpoints(cluster, { form, isWhole: true });
  }

  /** The current routes of each replica. */
  get routes(): ReadonlyMap<string, Routes> {
    return this.#routes;
  }

  /** All until now. */
  get disagreements(): readonly Disagreement[] {
    return [...this.#over, ...this.#open.values()];
  }

  /** Whether all agree now. */
  get isAgreed(): boolean {
    return this.#open.size === 0;
  }

  changesOf(place: string): readonly PlacedChange[] {
    return this.#changes.get(place) ?? [];
  }

  /** Whether pods make the endpoints of the service. */
  isOfPods(service: string): boolean {
    return this.#ofPods.has(service);
  }

  /** Returns a way to stop. */
  listen(listener: StageTruth["routed"]): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  readonly stored = (event: StorageEvent): void => {
    const key = event.type === "put" ? event.record.key : event.key;
    const resource = resources.find((one) => key.startsWith(storagePrefixes[one]));
    if (resource === undefined) return;
    const name = key.slice(storagePrefixes[resource].length);
    const object = event.type === "put" ? objectOf(event.record.value) : undefined;
    if (resource === "services") {
      if (hasSelector(object)) this.#ofPods.add(name);
      else this.#ofPods.delete(name);
    }
    const known = this.#reported.changes.length;
    this.#reported.reported(resource, name, object, this.#clock.monotonicMs());
    const changes = this.#reported.changes.slice(known);
    for (const { key: changed, ...change } of changes) {
      this.#note({ ...change, place: placeOfKey(changed) });
    }
    if (changes.length > 0 || resource === "services") this.#look();
  };

  readonly routed = (replica: string, input: RoutedInput): void => {
    const before = this.#placesOf(replica);
    this.#take(replica, input);
    const after = this.#placesOf(replica);
    const at = this.#clock.monotonicMs();
    for (const place of inOneOnly(before, after)) {
      const direction = after.has(place) ? "join" : "leave";
      this.#note({ hop: "routed", witness: replica, place, direction, at });
    }
    this.#look();
    for (const listener of this.#listeners) listener(replica, input);
  };

  #take(replica: string, input: RoutedInput): void {
    const routes = this.#routes.get(replica) ?? new Map<string, readonly RoutedEndpoint[]>();
    switch (input.type) {
      case "began":
        for (const [service, all] of Object.entries(input.services)) routes.set(service, all);
        break;
      case "routed":
        routes.set(input.service, input.endpoints);
        break;
      case "dropped":
        routes.delete(input.service);
        break;
      case "stop":
        this.#routes.delete(replica);
        return;
      case "gaveUp":
      case "lost":
      case "found":
        throw new Error(`no replica of an incident reports ${input.type}`);
    }
    this.#routes.set(replica, routes);
  }

  #placesOf(replica: string): ReadonlySet<string> {
    const routes = [...(this.#routes.get(replica) ?? [])];
    return new Set(
      routes.flatMap(([service, all]) =>
        all.map(({ address, port }) => `${service} ${address} ${port}`),
      ),
    );
  }

  #note(change: PlacedChange): void {
    const known = this.#changes.get(change.place) ?? [];
    this.#changes.set(change.place, [...known, change]);
  }

  #look(): void {
    const at = this.#clock.monotonicMs();
    const made = this.#placesAt("pod");
    const now = new Map(this.#allNow(made).map((one) => [nameOf(one), one]));
    for (const [name, one] of this.#open) {
      if (now.has(name)) continue;
      const isAsBefore = made.has(one.place) === (one.direction === "join");
      const isGone = one.hop === "routed" && !this.#routes.has(one.witness);
      const endedBy = isAsBefore ? (isGone ? "gone" : "witness") : "pods";
      this.#open.delete(name);
      this.#over.push({ ...one, to: at, endedBy });
    }
    for (const [name, one] of now) {
      if (this.#open.has(name)) continue;
      this.#open.set(name, { ...one, from: at, to: Number.POSITIVE_INFINITY, endedBy: undefined });
      this.onDisagreement();
    }
  }

  #allNow(made: ReadonlySet<string>): readonly PlacedStep[] {
    const published = this.#placesAt("published");
    const services = [...this.#ofPods];
    return [
      ...between(made, published, { hop: "published", witness: this.#cluster, services }),
      ...[...this.#routes].flatMap(([witness, routes]) =>
        between(made, this.#placesOf(witness), {
          hop: "routed",
          witness,
          services: [...routes.keys()],
        }),
      ),
    ];
  }

  #placesAt(hop: "pod" | "published"): ReadonlySet<string> {
    const places = new Set<string>();
    for (const key of this.#reported.keysAt(hop)) {
      const place = placeOfKey(key);
      const { uid } = fromKey(key);
      const known = this.#pods.get(place) ?? uid;
      assert(known === uid, "each address of an incident is of one pod");
      this.#pods.set(place, uid);
      places.add(place);
    }
    return places;
  }
}

/** The disagreements about these services. */
function between(
  made: ReadonlySet<string>,
  witnessed: ReadonlySet<string>,
  {
    services,
    ...where
  }: Pick<PlacedStep, "hop" | "witness"> & { readonly services: readonly string[] },
): readonly PlacedStep[] {
  return inOneOnly(made, witnessed)
    .filter((place) => services.some((service) => place.startsWith(`${service} `)))
    .map((place) => ({ ...where, place, direction: made.has(place) ? "join" : "leave" }));
}

function inOneOnly(one: ReadonlySet<string>, other: ReadonlySet<string>): readonly string[] {
  const without = (a: ReadonlySet<string>, b: ReadonlySet<string>): readonly string[] =>
    [...a].filter((place) => !b.has(place));
  return [...without(one, other), ...without(other, one)];
}

/** Names it among all that last at a time. */
export function nameOf({ hop, witness, place, direction }: PlacedStep): string {
  return `${hop} ${witness} ${direction} ${place}`;
}

function objectOf(value: Uint8Array): RawRecord | undefined {
  const object: unknown = JSON.parse(Buffer.from(value).toString("utf8"));
  return isRecord(object) ? object : undefined;
}

function hasSelector(service: RawRecord | undefined): boolean {
  const spec = service?.["spec"];
  return isRecord(spec) && isRecord(spec["selector"]);
}
