// Fixtures for tests of the readers: a machine with a proxy's listener, one with an observer, and
// the witness's reports as text. Times count from the start.
import type { Environment } from "../../src/environment/environment.ts";
import { readProxyAddress } from "../../src/observe/routed/proxy-address.ts";
import type { ProxySource } from "../../src/observe/routed/proxy-source.ts";
import { type ProxySourceSettings, proxySource } from "../../src/observe/routed/proxy-sources.ts";
import { RoutedWitness } from "../../src/observe/routed-witness.ts";
import { type Simulation, simulate } from "../../src/simulation/simulation.ts";
import type { Observation, ObservationSink } from "../../src/timeline/observation.ts";

export interface RoutedWorld {
  readonly simulation: Simulation;
  readonly proxy: Environment;
  readonly observer: Environment;
  /** The reports since the last call. */
  readonly said: () => readonly string[];
  readonly witness: RoutedWitness;
  readonly begin: (
    address: string,
    settings?: Partial<
      Pick<ProxySourceSettings, "isService" | "servicesAt" | "clusters" | "witness">
    >,
  ) => ProxySource;
  readonly sleep: (ms: number) => Promise<void>;
}

export function withProxy(act: (world: RoutedWorld) => Promise<void>): Promise<void> {
  return simulate({ seed: 1 }, async (simulation) => {
    const observer = simulation.host("observer");
    const begunAt = observer.clock.monotonicMs();
    const lines: string[] = [];
    const sink: ObservationSink = {
      report: (report) => lines.push(inWords(report, begunAt)),
      follow: (_, { service }) => lines.push(`follows ${service}`),
      unfollow: (_, { service, ports }) => {
        lines.push(`unknown ${service}${ports === undefined ? "" : ` at ${ports.join(", ")}`}`);
      },
    };
    const witness = new RoutedWitness({ replica: "proxy", sink });
    const sources: ProxySource[] = [];
    await act({
      simulation,
      proxy: simulation.host("proxy"),
      observer,
      witness,
      said: () => lines.splice(0),
      begin: (address, settings = {}) => {
        const source = proxySource({
          ...observer,
          address: readProxyAddress(address),
          witness,
          clusters: [],
          ...settings,
        });
        sources.push(source);
        source.start();
        return source;
      },
      sleep: (ms) => observer.timers.sleep(ms),
    });
    for (const source of sources) await source.stop();
  });
}

function inWords({ endpoint, direction, at, notBefore, baseline }: Observation, begunAt: number) {
  const { service, address, port, cluster, podUid } = endpoint;
  const who = [cluster, podUid].filter((one) => one !== undefined).map((one) => `${one} `);
  const since = notBefore === undefined ? "" : `${Math.round(notBefore - begunAt)}..`;
  const when = baseline === true ? "all along" : `at ${since}${Math.round(at - begunAt)}`;
  return `${direction} ${service} ${who.join("")}${address}:${port} ${when}`;
}
