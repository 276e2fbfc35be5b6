// All lines, found by service, address and port, and by address and port alone for requests of which
// the log does not name the service.
import { assertCostly } from "../environment/assert.ts";
import type { Line } from "./line.ts";
import { Place } from "./place.ts";
import {
  isCompatible,
  type ServiceRef,
  type TrafficReport,
  type WitnessedEndpoint,
} from "./witness.ts";

type Spot = Pick<WitnessedEndpoint, "service" | "address" | "port">;

const none: readonly Place[] = [];

/** Invariant: no place is without lines, and no map in it is empty. */
export class Places {
  readonly #byService = new Map<string, Map<string, Place>>();
  /** By address and port, whatever the service; made when a log or a proxy first needs it. */
  #byAddress: Map<string, Set<Place>> | undefined;
  #size = 0;

  /** How many lines there are. */
  get size(): number {
    return this.#size;
  }

  /** Names of services, `namespace/name`, that have lines. */
  get services(): Iterable<string> {
    return this.#byService.keys();
  }

  at(spot: Spot): Place | undefined {
    return this.#byService.get(spot.service)?.get(addressKey(spot));
  }

  *ofService(service: string): Generator<Place, void, undefined> {
    yield* this.#byService.get(service)?.values() ?? [];
  }

  /** All that a request may have been meant for. */
  atAddress({ service, address, port }: TrafficReport): readonly Place[] {
    if (service !== undefined) {
      const place = this.at({ service, address, port });
      return place === undefined ? none : [place];
    }
    return this.#atSpot({ address, port });
  }

  /** The services with a line there that `isKnown`. */
  servicesAt(spot: Omit<Spot, "service">, isKnown: (line: Line) => boolean): readonly string[] {
    return this.#atSpot(spot).flatMap(({ lines }) => {
      return lines.find(isKnown)?.endpoint.service ?? [];
    });
  }

  /**
   * The endpoint as it is known at its address or, for a copy that lists another one, by its pod;
   * undefined where no line that `isKnown` has either.
   */
  locate(
    endpoint: WitnessedEndpoint,
    isKnown: (line: Line) => boolean,
  ): WitnessedEndpoint | undefined {
    const canBe = (line: Line): boolean => isKnown(line) && isCompatible(line.endpoint, endpoint);
    if (this.at(endpoint)?.lines.some(canBe)) return endpoint;
    const { podUid, port } = endpoint;
    if (podUid === undefined) return undefined;
    for (const { pods } of this.ofService(endpoint.service)) {
      const found = pods.find((line) => line.endpoint.podUid === podUid && canBe(line));
      if (found?.endpoint.port === port) return found.endpoint;
    }
    return undefined;
  }

  /** Whether some line of the service, of any cluster where none is named, fits. */
  has({ cluster, service }: ServiceRef, fits: (line: Line) => boolean): boolean {
    for (const { lines } of this.ofService(service)) {
      const isOne = (line: Line): boolean =>
        fits(line) && (cluster === undefined || line.endpoint.cluster === cluster);
      if (lines.some(isOne)) return true;
    }
    return false;
  }

  add(endpoint: WitnessedEndpoint): Line {
    const places = this.#byService.get(endpoint.service) ?? new Map<string, Place>();
    this.#byService.set(endpoint.service, places);
    const key = addressKey(endpoint);
    const place = places.get(key) ?? new Place();
    places.set(key, place);
    if (this.#byAddress !== undefined) index(this.#byAddress, key, place);
    this.#size += 1;
    return place.add(endpoint);
  }

  remove(line: Line): void {
    const { endpoint } = line;
    const place = this.at(endpoint);
    if (place === undefined) return;
    const before = place.lines.length;
    place.remove(line);
    this.#size -= before - place.lines.length;
    if (place.lines.length > 0) return;
    const key = addressKey(endpoint);
    const places = this.#byService.get(endpoint.service);
    places?.delete(key);
    if (places?.size === 0) this.#byService.delete(endpoint.service);
    const others = this.#byAddress?.get(key);
    others?.delete(place);
    if (others?.size === 0) this.#byAddress?.delete(key);
    assertCostly(() => this.#isWithoutEmpty(), "no place is without lines", this.#size);
  }

  #atSpot(spot: Omit<Spot, "service">): readonly Place[] {
    this.#byAddress ??= this.#allByAddress();
    return [...(this.#byAddress.get(addressKey(spot)) ?? none)];
  }

  #isWithoutEmpty(): boolean {
    const all = [...this.#byService.values()].map((ofService) => [...ofService.values()]);
    const lines = all.flat().reduce((sum, place) => sum + place.lines.length, 0);
    const isNoneEmpty = all.every((ofService) => ofService.length > 0);
    return (
      isNoneEmpty && all.flat().every((place) => place.lines.length > 0) && lines === this.#size
    );
  }

  #allByAddress(): Map<string, Set<Place>> {
    const all = new Map<string, Set<Place>>();
    for (const places of this.#byService.values()) {
      for (const [key, place] of places) index(all, key, place);
    }
    return all;
  }
}

function addressKey({ address, port }: Pick<Spot, "address" | "port">): string {
  return `${address} ${port}`;
}

function index(all: Map<string, Set<Place>>, key: string, place: Place): void {
  const places = all.get(key) ?? new Set();
  all.set(key, places.add(place));
}
