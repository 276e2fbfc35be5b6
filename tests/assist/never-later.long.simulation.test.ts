// Replicas crash, come back and are replaced at random moments, while pods and the Service's own slices
// change at random lags. The judge reads only the storage: from the moment the Service's own slices
// show a change, with a living replica throughout, the twin must show it within the bound.
import { expect } from "vitest";
import { randomBetween } from "../../src/environment/random.ts";
import { forEachSeed } from "../../src/simulation/seeds.ts";
import {
  type AssistWorld,
  inAssistWorld,
  type RunningReplica,
  type StoredChange,
} from "./assist-world.ts";

/** 0.3 s of patience of a standby, one read of the conflict, and a few messages. */
const boundMs = 1_000;

/** A replica is of use when everything is listed, which takes so long here. */
const startMs = 3_000;

const playMs = 60_000;
const pods = 6;

/** A replica that was of use from one moment to another. */
interface Life {
  readonly fromMs: number;
  toMs: number;
}

forEachSeed(
  "while a replica lives, a twin is never later than the Service's own slices",
  { seeds: 3, regressions: [20] },
  (seed) => inAssistWorld((world) => play(world), seed),
);

async function play(world: AssistWorld): Promise<void> {
  const { simulation } = world;
  const { random } = simulation;
  await world.createService("web");
  await world.publish("web", []);
  const lives: Life[] = [];
  const running: { readonly replica: RunningReplica; readonly life: Life }[] = [];
  const start = (): void => {
    const life = { fromMs: simulation.now() + startMs, toMs: Number.POSITIVE_INFINITY };
    lives.push(life);
    running.push({ replica: world.startReplica(), life });
  };
  start();
  start();
  await simulation.sleep(2 * startMs);
  const from = simulation.now();
  const history = world.follow();
  const isOver = () => simulation.now() - from > playMs;
  const crashing = async (): Promise<void> => {
    while (!isOver()) {
      await simulation.sleep(randomBetween(random, 1_000, 20_000));
      const index =
        random.next() < 0.7 ? running.findIndex(({ replica }) => replica.replica.isLeading) : 0;
      const [gone] = running.splice(Math.max(0, index), 1);
      if (gone !== undefined) {
        gone.life.toMs = simulation.now();
        if (random.next() < 0.5) gone.replica.crash();
        else await gone.replica.stop();
      }
      await simulation.sleep(randomBetween(random, 0, 4_000));
      start();
    }
  };
  const changing = async (number: number): Promise<void> => {
    let isUp = false;
    while (!isOver()) {
      await simulation.sleep(randomBetween(random, 200, 15_000));
      if (isUp) await world.deletePod("web", number);
      else await world.createPod("web", number);
      isUp = !isUp;
    }
  };
  // The controller: behind by milliseconds, or by many seconds.
  const publishing = async (): Promise<void> => {
    while (!isOver()) {
      const lagMs =
        random.next() < 0.7 ? randomBetween(random, 5, 300) : randomBetween(random, 0, 20_000);
      await simulation.sleep(lagMs);
      await world.publish("web", await world.readyPods());
      await simulation.sleep(randomBetween(random, 0, 500));
    }
  };
  await Promise.all([
    crashing(),
    publishing(),
    ...Array.from({ length: pods }, (_, index) => changing(index + 1)),
  ]);
  // Else the last changes are judged before their time is over.
  await simulation.sleep(boundMs);
  history.stop();
  const problems = lateChanges(history.changes, lives);
  expect(problems.late).toEqual([]);
  expect(problems.judged).toBeGreaterThan(5);
  for (const { replica } of running.splice(0)) await replica.stop();
}

/** Every change of the Service's own slices that the twin did not show in time. */
function lateChanges(changes: readonly StoredChange[], lives: readonly Life[]) {
  const late: string[] = [];
  let judged = 0;
  let published: ReadonlySet<number> = new Set();
  for (const change of changes.filter(({ of }) => of === "web")) {
    const before = published;
    published = change.ready;
    const untilMs = change.atMs + boundMs;
    if (!lives.some(({ fromMs, toMs }) => fromMs <= change.atMs && toMs >= untilMs)) continue;
    const own = stateAt(changes, "web", untilMs);
    const twin = stateAt(changes, "web-lockstep", untilMs);
    for (const number of new Set([...before, ...published])) {
      if (before.has(number) === published.has(number)) continue;
      // Only changes that still hold, and that the pods have shown all that time.
      if (own.has(number) !== published.has(number)) continue;
      if (!isSteady(changes, number, published.has(number), change.atMs, untilMs)) continue;
      judged += 1;
      if (twin.has(number) !== published.has(number)) {
        const what = published.has(number) ? "joined" : "left";
        late.push(
          `at ${Math.round(change.atMs)} ms, ${number} ${what} and the twin does not show it`,
        );
      }
    }
  }
  return { late, judged };
}

function stateAt(changes: readonly StoredChange[], of: StoredChange["of"], atMs: number) {
  const last = changes.findLast((change) => change.of === of && change.atMs <= atMs);
  return last?.ready ?? new Set<number>();
}

function isSteady(
  changes: readonly StoredChange[],
  number: number,
  isReady: boolean,
  fromMs: number,
  toMs: number,
): boolean {
  const during = changes.filter(({ of, atMs }) => of === "pods" && atMs > fromMs && atMs <= toMs);
  const states = [stateAt(changes, "pods", fromMs), ...during.map(({ ready }) => ready)];
  return states.every((ready) => ready.has(number) === isReady);
}
