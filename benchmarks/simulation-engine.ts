// The cost of the simulator itself, without a program in it: timers that re-arm themselves, and
// exchanges with a server that does nothing. The reference is the least that can order events and
// settle promises between them: a binary heap turned by setImmediate.
import type { Environment } from "../src/environment/environment.ts";
import { simulate } from "../src/simulation/simulation.ts";

/** Timers pending at any time, about as many as a small cluster has. */
const pendingTimers = 1_000;
const longestDelayMs = 10_000;

const seed = 1;
const port = 80;

/** Taken before a run forbids them: the measurements go on in real time. */
const realNow = performance.now.bind(performance);
const realSetImmediate = setImmediate;

/** Seconds for so many events in the simulator: each timer re-arms itself with a drawn delay. */
export function engineSeconds(events: number): Promise<number> {
  return simulate({ seed }, async (simulation) => {
    const { timers, random } = simulation.host("machine");
    const startedAt = realNow();
    await new Promise<void>((resolve) => {
      const fire = (): void => {
        timers.after(random.next() * longestDelayMs, fire);
        if (simulation.events >= events) {
          resolve();
        }
      };
      for (let timer = 0; timer < pendingTimers; timer += 1) {
        fire();
      }
    });
    return (realNow() - startedAt) / 1000;
  });
}

/** Seconds for as many events in the bare loop. */
export async function bareLoopSeconds(events: number): Promise<number> {
  const heap = new BareHeap();
  for (let timer = 0; timer < pendingTimers; timer += 1) {
    heap.push(bareDelay(timer));
  }
  const startedAt = realNow();
  await new Promise<void>((resolve) => {
    let turned = 0;
    const turn = (): void => {
      heap.push(heap.pop() + bareDelay(turned));
      turned += 1;
      if (turned === events) {
        resolve();
      } else {
        realSetImmediate(turn);
      }
    };
    turn();
  });
  return (realNow() - startedAt) / 1000;
}

/** Seconds for so many exchanges, one after the other. */
export function exchangeSeconds(exchanges: number): Promise<number> {
  return simulate({ seed }, async (simulation) => {
    const server = simulation.host("server");
    const client = simulation.host("client");
    const answer = Buffer.from("{}");
    const listener = await server.network.listen({ host: "server", port }, (exchange) =>
      exchange.respond(200, { "content-type": "application/json" }).end(answer),
    );
    const startedAt = realNow();
    for (let exchange = 0; exchange < exchanges; exchange += 1) {
      await get(client);
    }
    const seconds = (realNow() - startedAt) / 1000;
    await listener.close();
    return seconds;
  });
}

async function get(client: Environment): Promise<void> {
  const url = `http://server:${port}/`;
  const { status, body } = await client.network.request({ method: "GET", url });
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.length;
  }
  if (status !== 200 || bytes === 0) {
    throw new Error(`answered with ${status} and ${bytes} bytes`);
  }
}

/** Spread like the drawn ones, without the cost of drawing. */
function bareDelay(number: number): number {
  return (number * 7_919) % longestDelayMs;
}

/** A binary heap of times. */
class BareHeap {
  readonly #times: number[] = [];

  push(time: number): void {
    let slot = this.#times.length;
    while (slot > 0) {
      const parent = (slot - 1) >> 1;
      const above = this.#times[parent] ?? 0;
      if (above <= time) {
        break;
      }
      this.#times[slot] = above;
      slot = parent;
    }
    this.#times[slot] = time;
  }

  pop(): number {
    const first = this.#times[0] ?? 0;
    const last = this.#times.pop() ?? 0;
    const { length } = this.#times;
    let slot = 0;
    for (let child = 1; child < length; child = 2 * slot + 1) {
      const right = child + 1 < length && (this.#times[child + 1] ?? 0) < (this.#times[child] ?? 0);
      const lower = right ? child + 1 : child;
      if ((this.#times[lower] ?? 0) >= last) {
        break;
      }
      this.#times[slot] = this.#times[lower] ?? 0;
      slot = lower;
    }
    if (length > 0) {
      this.#times[slot] = last;
    }
    return first;
  }
}
