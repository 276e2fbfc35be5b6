// Only for tests: proxy replicas that use the published endpoints of the clusters, some time later.
// They come and go, some route to one port only, and some are polled and know nothing but
// addresses; at times they do not answer. The real routes of each are known here.
import type { MonotonicMs } from "../../src/environment/clock.ts";
import { type Random, randomBetween, randomInt } from "../../src/environment/random.ts";
import type { RoutedEndpoint, RoutedWitness } from "../../src/observe/routed-witness.ts";
import type { Simulation } from "../../src/simulation/simulation.ts";
import type { Direction } from "../../src/timeline/witness.ts";
import type { ProofCluster } from "./proof-cluster.ts";
import { observerHost, type ProofRun } from "./proof-run.ts";
import { services } from "./proof-services.ts";
import { fromKey, placeOfKey, type ReportedChange } from "./reported-endpoints.ts";
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
  /** Absent while it is not observed. */
  witness: RoutedWitness | undefined;
  /** The keys of all that it routes to. */
  routes: ReadonlySet<string>;
  /** The reported part of these. */
  reported: ReadonlySet<string>;
  reportedAt: MonotonicMs;
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

  /** They are no longer observed. */
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

  /** One replica does not answer for a while. */
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
      reported: new Set(),
      reportedAt: 0 as MonotonicMs,
      isSilent: false,
    };
  }

  #begin(replica: Replica): void {
    const run = this.#options.run();
    replica.witness = run.observer.replica(replica.name);
    replica.routes = this.#routesOf(replica);
    replica.reported = replica.routes;
    replica.reportedAt = this.#now();
    replica.isSilent = false;
    run.replicas.set(replica.name, { beganAt: replica.reportedAt, knowsPods: replica.knowsPods });
    this.#note("routed", replica, new Set(), "baseline");
    replica.witness.began(reportedRoutes(replica), replica.reportedAt);
  }

  #route(replica: Replica): void {
    if (replica.witness === undefined) return;
    const before = replica.routes;
    replica.routes = this.#routesOf(replica);
    this.#note("rerouted", replica, before);
    if (!replica.isSilent) this.#tell(replica, { isLate: false });
  }

  #tell(replica: Replica, { isLate }: { readonly isLate: boolean }): void {
    const { witness, knowsPods, reported, reportedAt } = replica;
    const before = reported;
    const at = this.#now();
    // The change of a polled replica happened at some time since the last poll.
    const notBefore = isLate || !knowsPods ? reportedAt : undefined;
    replica.reported = replica.routes;
    replica.reportedAt = at;
    this.#note("routed", replica, before, isLate ? "list" : "event");
    for (const [service, routes] of reportedRoutes(replica)) {
      witness?.routed(service, routes, at, notBefore);
    }
  }

  /**
   * A replica that knows only addresses reports nothing if one pod has the address after the other.
   */
  #note(
    to: "routed" | "rerouted",
    replica: Replica,
    before: ReadonlySet<string>,
    how: ReportedChange["how"] = "event",
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

  /** The published endpoints of every cluster, as a replica without delay would know them. */
  #routesOf({ onlyPort }: Replica): ReadonlySet<string> {
    const keys = this.#options.clusters.flatMap(({ truth }) => [...truth.keysAt("published")]);
    return new Set(keys.filter((key) => onlyPort === undefined || key.endsWith(` ${onlyPort}`)));
  }

  #now(): MonotonicMs {
    return this.#options.simulation.host(observerHost).clock.monotonicMs();
  }
}

/** By service, as far as it knows them; each address and port once. */
function reportedRoutes({
  routes,
  knowsPods,
}: Replica): ReadonlyMap<string, readonly RoutedEndpoint[]> {
  const reported = new Map(services.map(({ path }) => [path, new Map<string, RoutedEndpoint>()]));
  for (const key of routes) {
    const { cluster, service, uid, address, port } = fromKey(key);
    const podUid = uid === "" ? undefined : uid;
    const endpoint = knowsPods ? { cluster, address, port, podUid } : { address, port };
    reported.get(service)?.set(knowsPods ? key : placeOfKey(key), endpoint);
  }
  return new Map([...reported].map(([service, routes]) => [service, [...routes.values()]]));
}
