// Where the processor time of a simulated run goes, by part of the program: V8's own profiler,
// switched on for the measured time only.
import { type Profiler, Session } from "node:inspector";

/** Parts by what their files' addresses contain; the first that fits counts. */
const parts: readonly (readonly [part: string, address: string])[] = [
  ["simulation", "/src/simulation/"],
  ["apiserver", "/src/lab/"],
  ["kube", "/src/kube/"],
  ["metrics", "/prom-client/"],
  ["benchmark", "/benchmarks/"],
  ["node", "node:"],
];

/** How often it looks: often enough for shares in percent, rarely enough not to slow the run. */
const sampleMicroseconds = 500;

export class PartsProfile {
  readonly #session = new Session();
  #profile: Profiler.Profile | undefined;

  begin(): void {
    this.#session.connect();
    this.#session.post("Profiler.enable");
    this.#session.post("Profiler.setSamplingInterval", { interval: sampleMicroseconds });
    this.#session.post("Profiler.start");
  }

  end(): void {
    this.#session.post("Profiler.stop", (error, result) => {
      if (error !== null) {
        throw error;
      }
      this.#profile = result.profile;
    });
    this.#session.disconnect();
  }

  /** Share of the samples in percent, by part; the rest is `runtime` (GC and built-ins). */
  shares(): ReadonlyMap<string, number> {
    const { nodes = [], samples = [] } = this.#profile ?? {};
    const partOfNode = new Map(nodes.map(({ id, callFrame }) => [id, partOf(callFrame.url)]));
    const counts = new Map<string, number>();
    for (const id of samples) {
      const part = partOfNode.get(id) ?? "runtime";
      counts.set(part, (counts.get(part) ?? 0) + 1);
    }
    const percent = ([part, count]: [string, number]): [string, number] => [
      part,
      (100 * count) / samples.length,
    ];
    return new Map([...counts].map(percent));
  }
}

function partOf(url: string): string {
  return parts.find(([, address]) => url.includes(address))?.[0] ?? "runtime";
}
