// Random writers, servers whose caches lag by changing amounts, watches that stall and break, and
// watchers that start anywhere: the events that a watcher received must always add up to the true
// state at the last version that it received.
import { expect } from "vitest";
import {
  hasApp,
  openStores,
  pod,
  type SimulatedServer,
  type SimulatedStores,
} from "../../../tests/apiserver/simulated-stores.ts";
import { type RecordedEvent, WatchRecording } from "../../../tests/apiserver/watch-recording.ts";
import { type Random, randomBetween, randomInt } from "../../environment/random.ts";
import { forEachSeed } from "../../simulation/seeds.ts";
import { type Simulation, simulate } from "../../simulation/simulation.ts";
import type { KubeObject } from "../kube-object.ts";
import type { WatchRequest } from "./watch-plan.ts";

type State = ReadonlyMap<string, KubeObject>;

/** The real state at every version. */
class Truth {
  readonly #states = new Map<number, State>([[1, new Map()]]);
  #latest = 1;

  get latest(): number {
    return this.#latest;
  }

  wrote(revision: number, path: string, object: KubeObject | undefined): void {
    const state = new Map(this.at(this.#latest));
    if (object === undefined) state.delete(path);
    else state.set(path, object);
    this.#states.set(revision, state);
    this.#latest = revision;
  }

  at(revision: number): State {
    const state = this.#states.get(revision);
    if (state === undefined) throw new Error(`there was no version ${revision}`);
    return state;
  }
}

interface Watcher {
  readonly watch: WatchRecording;
  readonly request: WatchRequest;
}

const namespaces = ["a", "b", "c"];
const steps = 400;

forEachSeed("a watcher's events add up to the state at its last version", { seeds: 10 }, (seed) =>
  simulate({ seed }, async (simulation) => {
    const stores = openStores(simulation);
    const { random } = simulation;
    const truth = new Truth();
    const servers = ["api-1", "api-2", "api-3"].map((name) => stores.server(name));
    const watchers: Watcher[] = [];
    for (let step = 0; step < steps; step++) {
      const server = pick(random, servers);
      const dice = random.next();
      if (dice < 0.7) await writeSomething(stores, server, truth);
      else if (dice < 0.8) watchers.push(await startWatch(random, server, truth));
      else if (dice < 0.85) server.faults.cacheLagMs = randomInt(random, 3) * 700;
      else if (dice < 0.88) pick(random, servers).faults.stalledWatches = someWatches(random);
      else if (dice < 0.9) server.faults.resetWatches(someWatches(random));
      else await simulation.sleep(randomBetween(random, 0, 3000));
    }
    for (const { faults } of servers) {
      faults.cacheLagMs = 0;
      faults.stalledWatches = undefined;
    }
    await stores.settle();
    checkAll(watchers, truth);
    for (const { watch } of watchers) watch.leave();
    await Promise.all(watchers.map(({ watch }) => watch.done));
  }),
);

async function writeSomething(
  stores: SimulatedStores<Simulation>,
  { pods }: SimulatedServer,
  truth: Truth,
): Promise<void> {
  const { random } = stores.simulation;
  if (random.next() < 0.2) {
    truth.wrote(await stores.writeElsewhere(), "", undefined);
    return;
  }
  const namespace = pick(random, namespaces);
  const name = String(randomInt(random, 5));
  const path = `${namespace}/${name}`;
  const note = random.uuid();
  const desired = pod(namespace, name, { app: pick(random, ["web", "db"]), note });
  const exists = truth.at(truth.latest).has(path);
  if (exists && random.next() < 0.4) {
    const removed = await pods.delete(namespace, name, () => undefined);
    truth.wrote(versionOf(removed), path, undefined);
    return;
  }
  const written = exists
    ? (await pods.update(namespace, name, () => desired)).object
    : await pods.create(desired);
  truth.wrote(versionOf(written), path, written);
}

/** From nowhere, from what is cached, from a version not too old, or from now. */
async function startWatch(
  random: Random,
  { pods }: SimulatedServer,
  truth: Truth,
): Promise<Watcher> {
  const recent = Math.max(1, truth.latest - randomInt(random, 50));
  const start = pick<Partial<WatchRequest>>(random, [
    {},
    { resourceVersion: "0" },
    { resourceVersion: String(recent) },
    { resourceVersion: (await pods.list({ resourceVersion: "0" })).resourceVersion },
    {
      resourceVersion: String(recent),
      resourceVersionMatch: "NotOlderThan",
      sendInitialEvents: true,
    },
  ]);
  const request: WatchRequest = {
    allowWatchBookmarks: true,
    timeoutSeconds: pick(random, [30, 100, 3600]),
    namespace: pick(random, [undefined, undefined, "a"]),
    matches: pick(random, [undefined, hasApp("web"), hasApp("db")]),
    clientName: String(randomInt(random, 4)),
    ...start,
  };
  return { watch: new WatchRecording(pods, request), request };
}

function checkAll(watchers: readonly Watcher[], truth: Truth): void {
  for (const watcher of watchers) check(watcher, truth);
  expect(watchers.some(({ watch }) => watch.ending === undefined)).toBe(true);
}

function check({ watch, request }: Watcher, truth: Truth): void {
  const { events } = watch;
  if (events[0]?.type === "ERROR" || watch.refusal !== undefined) return;
  const startsWithState = watch.summary.some((line) => line.endsWith("!"));
  const model = new Map<string, unknown>();
  let revision = 0;
  let inState = startsWithState;
  if (!startsWithState && events.length > 0) {
    revision = Number(request.resourceVersion);
    for (const [path, object] of seen(truth.at(revision), request)) model.set(path, object);
  }
  for (const event of events) {
    const version = Number(event.object.metadata.resourceVersion);
    apply(model, event);
    if (inState) {
      inState = event.object.metadata.annotations?.["k8s.io/initial-events-end"] !== "true";
      if (inState) continue;
    } else if (event.type === "BOOKMARK") {
      expect(version).toBeGreaterThanOrEqual(revision);
    } else {
      expect(version).toBeGreaterThan(revision);
    }
    revision = version;
    expect(model).toEqual(seen(truth.at(revision), request));
  }
  const isOpen = watch.ending === undefined && events.length > 0 && !inState;
  if (isOpen) expect(model).toEqual(seen(truth.at(truth.latest), request));
}

/** An ADDED for what is known, or a change of what is not, would be a lie as well. */
function apply(model: Map<string, unknown>, { type, object }: RecordedEvent): void {
  const path = `${object.metadata.namespace}/${object.metadata.name}`;
  switch (type) {
    case "BOOKMARK":
      return;
    case "ADDED":
      expect(model.has(path)).toBe(false);
      model.set(path, object);
      return;
    case "MODIFIED":
      expect(model.has(path)).toBe(true);
      model.set(path, object);
      return;
    case "DELETED":
      expect(model.delete(path)).toBe(true);
      return;
    default:
      throw new Error(`an event of type ${type}`);
  }
}

function seen(state: State, { namespace, matches }: WatchRequest): State {
  return new Map(
    [...state].filter(([, object]) => {
      const inside = namespace === undefined || object.metadata.namespace === namespace;
      return inside && (matches === undefined || matches(object));
    }),
  );
}

function someWatches(random: Random): (watch: { readonly clientName: string }) => boolean {
  const chosen = String(randomInt(random, 4));
  return ({ clientName }) => clientName === chosen;
}

function versionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion);
}

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[randomInt(random, items.length)];
  if (item === undefined && items.length === 0) throw new Error("there is nothing to choose from");
  return item as Item;
}
