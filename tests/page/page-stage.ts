// Only for tests: a server of the page in virtual time whose events the test makes, and pages on the
// same machine.
import type { Environment } from "../../src/environment/environment.ts";
import { PageServer, type PageServerOptions } from "../../src/server/page-server.ts";
import type { PageObserver, PageSource } from "../../src/server/page-source.ts";
import { simulate } from "../../src/simulation/simulation.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import type { JourneyEvent } from "../../src/timeline/journey-event.ts";
import { noObservations } from "../../src/timeline/timeline.ts";
import { type ChangeFields, change, clusterOf } from "../cli/watched-changes.ts";
import { PageClient } from "./page-client.ts";

export interface PageStage {
  readonly environment: Environment;
  readonly server: PageServer;
  readonly client: PageClient;
  /** A page of another machine, with headers of its own. */
  readonly page: (headers?: Readonly<Record<string, string>>) => PageClient;
  /** Every event of a change, as an observer reports it; it begins now. */
  readonly happen: (fields: ChangeFields) => Journey;
  readonly events: readonly JourneyEvent[];
}

type StageOptions = Partial<
  Pick<PageServerOptions, "token" | "hostNames" | "host" | "lab" | "doctor" | "readRecording">
> & { readonly replicas?: PageSource["replicas"] };

export async function onPageStage<Result>(
  options: StageOptions,
  run: (stage: PageStage) => Promise<Result>,
): Promise<Result> {
  return await simulate({ seed: 1 }, async (simulation) => {
    const environment = simulation.host("lockstep");
    const { clock } = environment;
    const observerRun = {
      name: "run",
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
    };
    const observer: PageObserver = {
      run: observerRun,
      clusters: () => [clusterOf("alpha")],
      journeys: {
        counts: noObservations,
        requestCounts: { joined: 0, left: 0, ordinary: 0, unknown: 0 },
        oldestPending: () => [],
        pending: () => [],
        clockSkew: () => undefined,
        endpointsOf: () => [],
        services: [],
      },
    };
    const { replicas = () => [], host = "127.0.0.1", ...rest } = options;
    const server = await PageServer.start({
      ...environment,
      source: {
        ...environment,
        mode: "clusters",
        observer: () => observer,
        accessClusters: () => [],
        replicas,
        notes: () => [],
      },
      version: "0.0.0",
      slowMs: 2_000,
      host,
      port: 0,
      pageFolder: "/page",
      ...rest,
    });
    const events: JourneyEvent[] = [];
    const url = `http://${host}:${server.port}`;
    let id = 0;
    const page = (headers: Readonly<Record<string, string>> = {}): PageClient =>
      new PageClient(environment.network, url, headers);
    const stage: PageStage = {
      environment,
      server,
      client: page(),
      page,
      events,
      happen: (fields) => {
        id += 1;
        const journey = change({ id, originMs: clock.monotonicMs(), ...fields });
        for (const event of eventsOf(journey)) {
          events.push(event);
          server.onEvent(event);
        }
        return journey;
      },
    };
    try {
      return await run(stage);
    } finally {
      await server.stop();
    }
  });
}

/** A hop shows the change after the hops before it. */
export function eventsOf(journey: Journey): readonly JourneyEvent[] {
  const shown = journey.hops.flatMap((hop, index): JourneyEvent[] => {
    if (hop.state.type === "stuck") return [{ type: "stuck", journey, hop }];
    if (hop.state.type !== "shown") return [];
    const hops = journey.hops.map((one, other) =>
      other > index && one.state.type === "shown"
        ? { ...one, state: { type: "pending" } as const }
        : one,
    );
    return [{ type: "shown", journey: { ...journey, hops, outcome: "pending" }, hop }];
  });
  return journey.outcome === "pending" ? shown : [...shown, { type: "over", journey }];
}
