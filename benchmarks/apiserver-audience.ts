// The watchers of one server and those who write to it. All watchers hear the same events in the
// order of the writes, so counting lines is enough to know which write a line belongs to, as long
// as writes whose latency counts are sent one after the other.
import type { RawConnection } from "./apiserver-connection.ts";
import { sendAll } from "./apiserver-creates.ts";
import { endpoints } from "./apiserver-objects.ts";
import type { BenchServer } from "./bench-server.ts";

export const watchersCount = 100;
const writersCount = 4;

/** Empty before, so a watch has no state to send first. */
const namespace = "kube-system";
const path = `/api/v1/namespaces/${namespace}/endpoints`;

/** Far longer than a turn takes on a slow machine. */
const deliveryDeadlineMs = 60_000;

export interface FanOutRate {
  readonly eventsPerSecond: number;
  /** The server's, for one event to one watcher. */
  readonly cpuMicroseconds: number;
}

export class Audience {
  readonly #server: BenchServer;
  readonly #writers: readonly RawConnection[];
  /** Of the writes since `#pacedFrom`, when each was sent and how long each delivery took. */
  #sentAt: number[] = [];
  #latencies: number[] = [];
  #pacedFrom = 0;
  #written = 0;
  #delivered = 0;
  #onDelivered: (() => void) | undefined;

  static async open(server: BenchServer): Promise<Audience> {
    const audience = new Audience(server, await server.connectMany(writersCount));
    const watchers = await server.connectMany(watchersCount);
    await Promise.all(watchers.map((watcher) => audience.#admit(watcher)));
    return audience;
  }

  private constructor(server: BenchServer, writers: readonly RawConnection[]) {
    this.#server = server;
    this.#writers = writers;
  }

  /** Writers that do not rest; until the last watcher has received the last event. */
  async saturate(writes: number): Promise<FanOutRate> {
    const requests = this.#prepare(writes);
    const cpuBefore = await this.#server.cpuMicroseconds();
    const startedAt = performance.now();
    const delivered = this.#untilDelivered();
    await sendAll(this.#writers, requests);
    await delivered;
    const seconds = (performance.now() - startedAt) / 1000;
    const cpu = (await this.#server.cpuMicroseconds()) - cpuBefore;
    const events = writes * watchersCount;
    return { eventsPerSecond: events / seconds, cpuMicroseconds: cpu / events };
  }

  /** One write after the other at a fixed pace; how long each delivery took, in milliseconds. */
  async pace(writes: number, writesPerSecond: number): Promise<readonly number[]> {
    this.#pacedFrom = this.#written;
    this.#sentAt = [];
    this.#latencies = [];
    const requests = this.#prepare(writes);
    const delivered = this.#untilDelivered();
    const startedAt = performance.now();
    for (const [index, request] of requests.entries()) {
      const dueAt = startedAt + (index * 1000) / writesPerSecond;
      await sleep(Math.max(0, dueAt - performance.now()));
      this.#sentAt.push(performance.now());
      await sendAll(this.#writers.slice(0, 1), [request]);
    }
    await delivered;
    return this.#latencies;
  }

  #admit(watcher: RawConnection): Promise<void> {
    let received = 0;
    return watcher.stream(this.#server.get(`${path}?watch=true`), (lines) => {
      this.#received(received, lines);
      received += lines;
    });
  }

  #prepare(writes: number): readonly Buffer[] {
    return Array.from({ length: writes }, () => {
      this.#written += 1;
      const name = `service-${this.#written}`;
      return this.#server.post(path, endpoints(namespace, name, this.#written));
    });
  }

  /** Fails when watchers do not hear everything in time: the server may have dropped one. */
  #untilDelivered(): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        const expected = this.#written * watchersCount;
        reject(new Error(`${this.#delivered} of ${expected} events were delivered in time`));
      }, deliveryDeadlineMs);
      this.#onDelivered = () => {
        clearTimeout(late);
        resolve();
      };
    });
  }

  #received(before: number, lines: number): void {
    const now = performance.now();
    for (let event = before; event < before + lines; event += 1) {
      const sentAt = this.#sentAt[event - this.#pacedFrom];
      if (sentAt !== undefined) {
        this.#latencies.push(now - sentAt);
      }
    }
    this.#delivered += lines;
    if (this.#delivered === this.#written * watchersCount) {
      this.#onDelivered?.();
    }
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
