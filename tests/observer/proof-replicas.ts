// Only for tests: proxy replicas that route by what the clusters have published, some time later.
// They come and go, some route to one port only, and some are asked now and then and know nothing but
// addresses; at times they do not answer. Whom each routes to is known here, whatever it tells.
import type { MonotonicMs } from "../../src/environment/clock.ts";
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import type { RoutedEndpoint, RoutedWitness } from "../../src/observe/routed-witness.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { Direction } from "../../src/timeline/witness.ts";
import type { ProofCluster } from "./proof-cluster.ts";
import { observerHost, type ProofRun } from "./proof-run.ts";
import { services } from "./proof-services.ts";
import { fromKey, placeOfKey, type ToldChange } from "./told-endpoints.ts";
import type { UnderWay } from "./under-way.ts";

export interface ProofReplicasOptions {
  readonly simulation: Simulation;
  readonly random: Random;
  readonly underWay: UnderWay;
  readonly clusters: readonly ProofCluster[];
  /** The run that is going on. */
  readonly run: () => ProofRun;
}

interface Replica {
  readonly name: string;
  readonly knowsPods: boolean;
  /** All of them where none is given. */
  readonly onlyPort: number | undefined;
  /** Without one nobody observes it. */
  witness: RoutedWitness | undefined;
  /** The keys of all that it routes to. */
  routes: ReadonlySet<string>;
  /** Of these it has told. */
  told: ReadonlySet<string>;
  toldAt: MonotonicMs;
  isSilent: boolean;
}

const routedLateMs = 2_000;

export class ProofReplicas {
  readonly #options: ProofReplicasOptions;
  readonly #replicas: Replica[];
  #isObserved = false;
  #made = 0;

  constructor(options: ProofReplicasOptions) {
    this.#options = options;
    this.#replicas = [this.#make(), this.#make()];
  }

  /** All of them are observed from now on. */
  beginAll(): void {
    this.#isObserved = true;
    for (const replica of this.#replicas) this.#begin(replica);
  }

  /** Nobody observes them any more. */
  endAll(): void {
    this.#isObserved = false;
    for (const replica of this.#replicas) replica.witness = undefined;
  }

  routeLater(): void {
    const { random, underWay } = this.#options;
    for (const replica of this.#replicas) {
      underWay.later(randomBetween(random, 0, routedLateMs), async () => this.#route(replica));
    }
  }

  /** One goes, and some time later another one comes. */
  async replace(): Promise<void> {
    const { simulation, random } = this.#options;
    const [gone] = this.#replicas.splice(randomInt(random, this.#replicas.length), 1);
    gone?.witness?.stop();
    if (gone !== undefined) gone.witness = undefined;
    await simulation.sleep(randomBetween(random, 0, 20_000));
    const replica = this.#make();
    this.#replicas.push(replica);
    if (this.#isObserved) this.#begin(replica);
  }

  /** One does not say for a while whom it routes to. */
  async silence(): Promise<void> {
    const { simulation, random } = this.#options;
    const replica = this.#replicas[randomInt(random, this.#replicas.length)];
    if (replica === undefined || replica.isSilent) return;
    const { witness } = replica;
    replica.isSilent = true;
    const silence = { from: this.#now(), to: Number.POSITIVE_INFINITY };
    this.#options.run().silences.push(silence);
    witness?.lost();
    await simulation.sleep(randomBetween(random, 1, 30_000));
    if (witness === undefined || replica.witness !== witness) return;
    replica.isSilent = false;
    silence.to = this.#now();
    this.#tell(replica, { isLate: true });
    witness.found();
  }

  #make(): Replica {
    const { random } = this.#options;
    this.#made += 1;
    const knowsPods = random.next() < 0.7;
    return {
      name: `r${this.#made}`,
      knowsPods,
      onlyPort: random.next() < 0.3 ? 8080 : undefined,
      witness: undefined,
      routes: new Set(),
      told: new Set(),
      toldAt: 0 as MonotonicMs,
      isSilent: false,
    };
  }

  #begin(replica: Replica): void {
    const run = this.#options.run();
    replica.witness = run.observer.replica(replica.name);
    replica.routes = this.#routesOf(replica);
    replica.told = replica.routes;
    replica.toldAt = this.#now();
    replica.isSilent = false;
    run.replicas.set(replica.name, { beganAt: replica.toldAt, knowsPods: replica.knowsPods });
    this.#note("routed", replica, new Set(), "baseline");
    replica.witness.began(toldRoutes(replica), replica.toldAt);
  }

  #route(replica: Replica): void {
    if (replica.witness === undefined) return;
    const before = replica.routes;
    replica.routes = this.#routesOf(replica);
    this.#note("rerouted", replica, before);
    if (!replica.isSilent) this.#tell(replica, { isLate: false });
  }

  #tell(replica: Replica, { isLate }: { readonly isLate: boolean }): void {
    const { witness, knowsPods, told, toldAt } = replica;
    const before = told;
    const at = this.#now();
    // Whoever is asked now and then changed its mind some time since it was last asked.
    const notBefore = isLate || !knowsPods ? toldAt : undefined;
    replica.told = replica.routes;
    replica.toldAt = at;
    this.#note("routed", replica, before, isLate ? "list" : "event");
    for (const [service, routes] of toldRoutes(replica)) {
      witness?.routed(service, routes, at, notBefore);
    }
  }

  /** Who knows only addresses says nothing where one pod has the address after the other. */
  #note(
    to: "routed" | "rerouted",
    replica: Replica,
    before: ReadonlySet<string>,
    how: ToldChange["how"] = "event",
  ) {
    const { name, knowsPods, routes } = replica;
    const namesOf = (keys: ReadonlySet<string>): ReadonlySet<string> =>
      knowsPods ? keys : new Set([...keys].map(placeOfKey));
    const names = { before: namesOf(before), after: namesOf(routes) };
    const isIn = (key: string, among: ReadonlySet<string>): boolean =>
      among.has(knowsPods ? key : placeOfKey(key));
    const at = this.#now();
    const note = (direction: Direction, key: string): void => {
      this.#options.run()[to].push({ hop: "routed", witness: name, key, direction, at, how });
    };
    for (const key of before) if (!isIn(key, names.after)) note("leave", key);
    for (const key of routes) if (!isIn(key, names.before)) note("join", key);
  }

  /** What every cluster has published, as a replica without delay would know it. */
  #routesOf({ onlyPort }: Replica): ReadonlySet<string> {
    const keys = this.#options.clusters.flatMap(({ truth }) => [...truth.keysAt("published")]);
    return new Set(keys.filter((key) => onlyPort === undefined || key.endsWith(` ${onlyPort}`)));
  }

  #now(): MonotonicMs {
    return this.#options.simulation.host(observerHost).clock.monotonicMs();
  }
}

/** By service, as far as it knows them; each address and port once. */
function toldRoutes({
  routes,
  knowsPods,
}: Replica): ReadonlyMap<string, readonly RoutedEndpoint[]> {
  const told = new Map(services.map(({ path }) => [path, new Map<string, RoutedEndpoint>()]));
  for (const key of routes) {
    const { cluster, service, uid, address, port } = fromKey(key);
    const podUid = uid === "" ? undefined : uid;
    const endpoint = knowsPods ? { cluster, address, port, podUid } : { address, port };
    told.get(service)?.set(knowsPods ? key : placeOfKey(key), endpoint);
  }
  return new Map([...told].map(([service, routes]) => [service, [...routes.values()]]));
}
