// An observer of a cluster to which the way is bad: whatever it could have seen has exactly one
// journey, nothing else has any, and what a journey says about when it happened is true.
import { expect } from "vitest";
import {
  inObserverWorld,
  type ObserverWorld,
  observerHost,
} from "../../tests/observer/observer-world.ts";
import type { MonotonicMs } from "../environment/clock.ts";
import { randomBetween, randomInt } from "../environment/random.ts";
import { quorumReadEveryMs } from "../kube/reflector/reflector-prover.ts";
import { applyFaultPlan, type FaultKind, randomFaultPlan } from "../simulation/faults.ts";
import { forEachSeed } from "../simulation/seeds.ts";
import type { Journey } from "../timeline/journey.ts";
import type { Direction } from "../timeline/witness.ts";

const kinds: readonly FaultKind[] = ["latency", "reset", "partition", "one-way", "stall"];
const troubleMs = 240_000;
/** Time until a watch that was cut off is connected again, and one that is behind has listed. */
const recoveryMs = 240_000;
/** A stream that stalls and comes back by itself between two quorum reads goes unnoticed. */
const unnoticedMs = 1.2 * quorumReadEveryMs + 15_000;

/** Something happened between two instants: a request was under way. */
interface Span {
  readonly from: MonotonicMs;
  readonly to: MonotonicMs;
}

/** The true history of one pod, which has its address to itself. */
interface Life {
  readonly name: string;
  readonly address: string;
  /** Undefined for a pod that existed before the observation. */
  readonly join: Span | undefined;
  leave: Span | undefined;
}

class Shop {
  readonly lives: Life[] = [];
  readonly #world: ObserverWorld;

  constructor(world: ObserverWorld) {
    this.#world = world;
  }

  async furnish(): Promise<void> {
    await this.#world.addService("east", "web");
    for (let count = 0; count < 3; count += 1) await this.add({ isNew: false });
    await this.publish();
  }

  async add({ isNew }: { readonly isNew: boolean }): Promise<void> {
    const number = this.lives.length + 1;
    const [name, address] = [`web-${number}`, `10.0.1.${number}`];
    const span = await this.#timed(() => this.#world.addPod("east", name, address));
    this.lives.push({ name, address, join: isNew ? span : undefined, leave: undefined });
  }

  async remove(life: Life): Promise<void> {
    life.leave = await this.#timed(() => this.#world.removePod("east", life.name));
  }

  get living(): readonly Life[] {
    return this.lives.filter(({ leave }) => leave === undefined);
  }

  publish(): Promise<void> {
    return this.#world.publish(
      "east",
      "web",
      this.living.map(({ address }) => address),
    );
  }

  async #timed(act: () => Promise<void>): Promise<Span> {
    const { clock } = this.#world.simulation.host(observerHost);
    const from = clock.monotonicMs();
    await act();
    return { from, to: clock.monotonicMs() };
  }
}

forEachSeed(
  "every change that could be seen has one journey, and none is invented",
  { seeds: 6, regressions: [86] },
  (seed) =>
    inObserverWorld(async (world) => {
      const { simulation } = world;
      const { random } = simulation;
      await world.startCluster("east");
      const shop = new Shop(world);
      await shop.furnish();
      const { observer, over } = world.watch({ clusters: ["east"], nodes: false });
      observer.start();
      await observer.waitForSync();
      await simulation.sleep(randomBetween(random, 0, 30_000));
      const plan = randomFaultPlan(random, {
        hosts: [observerHost, "east"],
        quietAfterMs: troubleMs,
        kinds,
      });
      applyFaultPlan(simulation, plan);
      const quietAt = simulation.now() + troubleMs;
      while (simulation.now() < quietAt) {
        await simulation.sleep(randomBetween(random, 0, 8_000));
        const victim = shop.living[randomInt(random, shop.living.length + 1)];
        if (victim === undefined || shop.living.length < 2) await shop.add({ isNew: true });
        else await shop.remove(victim);
        await simulation.sleep(randomBetween(random, 0, 3_000));
        await shop.publish();
      }
      await simulation.sleep(recoveryMs);
      expect(observer.journeys.pending()).toEqual([]);
      expect(observer.clusters().map(({ state }) => state.type)).toEqual(["watching"]);
      for (const life of shop.lives) judge(life, over);
      const known = new Set(shop.lives.map(({ address }) => address));
      expect(over.filter(({ endpoint }) => !known.has(endpoint.address))).toEqual([]);
    }, seed),
);

function judge(life: Life, journeys: readonly Journey[]): void {
  const of = (direction: Direction) =>
    journeys.filter(
      (journey) => journey.endpoint.address === life.address && journey.direction === direction,
    );
  const [joins, leaves] = [of("join"), of("leave")];
  const wasSeen = life.join === undefined || joins.length > 0;
  const found = { ...life, joins: joins.length, leaves: leaves.length };
  // A pod that came and went while the watch was cut off was never seen.
  const mustHaveJoined = life.join !== undefined && (wasSeen || life.leave === undefined);
  expect(found).toEqual({
    ...life,
    joins: mustHaveJoined ? 1 : 0,
    leaves: life.leave !== undefined && wasSeen ? 1 : 0,
  });
  for (const [journey, span] of [
    [joins[0], life.join],
    [leaves[0], life.leave],
  ] as const) {
    if (journey !== undefined && span !== undefined) judgeOrigin(journey, span);
  }
}

/** It happened before it was seen, and after the reported lower bound. */
function judgeOrigin({ origin }: Journey, { from, to }: Span): void {
  expect(origin.at).toBeGreaterThanOrEqual(from);
  if (origin.notBefore !== undefined) expect(origin.notBefore).toBeLessThanOrEqual(to);
  else expect(origin.at - to).toBeLessThanOrEqual(unnoticedMs);
}
