// Writes Ready conditions at a given rate, or as fast as the API server takes them. At rest half of the
// pods are ready. Leaves and joins take turns and go round all pods, so every pod stays as it is for as many
// changes as there are pods, and every service keeps about half of its endpoints.
import { elapsedMs } from "../src/environment/clock.ts";
import type { Environment } from "../src/environment/environment.ts";
import type { KubeClient } from "../src/kube/client/client.ts";
import type { ChangeMeter, Direction } from "./ingress-meter.ts";
import { addressOf, type ClusterSize, writeReady } from "./ingress-objects.ts";

export interface FlipsOptions extends Pick<Environment, "clock" | "timers" | "random"> {
  readonly client: KubeClient;
  readonly meter: ChangeMeter;
  readonly size: ClusterSize;
  readonly signal: AbortSignal;
}

export interface Series {
  readonly name: string;
  /** Even, so that half of the pods are ready again at its end. */
  readonly changes: number;
  readonly perSecond: number;
}

interface Flip {
  readonly pod: number;
  readonly direction: Direction;
}

/** A server that has as many to answer cannot take the rate, and more would only wait in line. */
const underWayMax = 250;

export class Flips {
  readonly #options: FlipsOptions;
  #flipped = 0;
  #failure: unknown;

  constructor(options: FlipsOptions) {
    this.#options = options;
  }

  /** Resolves to the rate that was reached, when the last was answered; throws when one was refused. */
  async run({ name, changes, perSecond }: Series): Promise<number> {
    const { clock } = this.#options;
    const startedAt = clock.monotonicMs();
    const flips = Array.from({ length: changes }, (_, index) =>
      this.#flipAt(this.#flipped + index),
    );
    this.#flipped += changes;
    await this.#pace(name, flips, perSecond);
    return (changes * 1000) / elapsedMs(startedAt, clock.monotonicMs());
  }

  async #pace(series: string, flips: readonly Flip[], perSecond: number): Promise<void> {
    const { clock, timers, random, signal } = this.#options;
    const startedAt = clock.monotonicMs();
    const underWay = new Set<Promise<void>>();
    for (const [index, flip] of flips.entries()) {
      // Anywhere in its slot: in step with a poll of one second every change would wait the same.
      const dueMs = ((index + random.next()) * 1000) / perSecond;
      await timers.sleep(dueMs - elapsedMs(startedAt, clock.monotonicMs()), signal);
      if (underWay.size >= underWayMax) await Promise.race(underWay);
      const sent = this.#flip(series, flip).finally(() => underWay.delete(sent));
      underWay.add(sent);
    }
    await Promise.all(underWay);
    if (this.#failure !== undefined) {
      throw new Error("the API server refused a change", { cause: this.#failure });
    }
  }

  /** Never rejects: it is not awaited while the others are being sent. */
  async #flip(series: string, { pod, direction }: Flip): Promise<void> {
    const { client, clock, meter, size } = this.#options;
    const address = addressOf(size, pod);
    meter.begin(series, address, direction);
    try {
      await writeReady(client, clock, { size, pod, ready: direction === "join" });
      meter.accepted(address, direction, clock.monotonicMs());
    } catch (error) {
      this.#failure ??= error;
    }
  }

  #flipAt(number: number): Flip {
    const { pods } = this.#options.size;
    const turn = Math.floor(number / 2);
    return number % 2 === 0
      ? { pod: (pods / 2 + turn) % pods, direction: "leave" }
      : { pod: turn % pods, direction: "join" };
  }
}
