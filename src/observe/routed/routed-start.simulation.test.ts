import { expect, it } from "vitest";
import type { Environment } from "../../environment/environment.ts";
import { isThorough } from "../../simulation/seeds.ts";
import { simulate } from "../../simulation/simulation.ts";
import type { Journey } from "../../timeline/journey.ts";
import type { ObservationSink } from "../../timeline/observation.ts";
import { Timeline } from "../../timeline/timeline.ts";
import type { Direction } from "../../timeline/witness.ts";
import { RoutedWitness } from "../routed-witness.ts";
import { readProxyAddress } from "./proxy-address.ts";
import { proxySource } from "./proxy-sources.ts";

// A release, counted in milliseconds from the start: one pod leaves as another joins, and a while
// later ingress-nginx's controller hands its workers the one for the other.
const podMs = 5_000;
const handedOverMs = 8_000;

/** A reading is reported when each worker has looked. */
const workersLookMs = 1_000;

/** After the budget of a hop: a change that is not shown by now is stuck. */
const endMs = 42_000;

/** In between the instants above and not at one of them: an answer takes a millisecond or two. */
const stepMs = isThorough(process.env) ? 30 : 450;
const startsMs = Array.from({ length: 10_000 / stepMs }, (_, index) => 2_005 + stepMs * index);

const pods = { left: "10.0.0.1", joined: "10.0.0.2" };
const web = { cluster: "east", service: "shop/web" };

it.each([
  { when: "before the workers route by it", publishedMs: 6_500 },
  { when: "after that", publishedMs: 11_000 },
])(
  "is neither stuck nor fast wherever in a release a proxy is first asked: published $when",
  async ({ publishedMs }) => {
    const expected = (startMs: number): readonly string[] => {
      const shownMs = startMs + workersLookMs;
      // By then a proxy without any data is no longer waited for.
      if (shownMs > publishedMs) {
        const isBehind = startMs <= handedOverMs;
        const later = isBehind ? [", begun before the proxy was asked"] : [];
        return ["join complete", "leave complete"].flatMap((one) => [
          one,
          ...later.map((text) => `${one}${text}`),
        ]);
      }
      const state = startMs > handedOverMs ? "unchanged" : "shown in time";
      return [`join complete, routed ${state}`, `leave complete, routed ${state}`];
    };
    const shown = await releases(publishedMs);
    expect(shown).toEqual(startsMs.map((startMs) => ({ startMs, shown: expected(startMs) })));
  },
);

/** The journeys in words, for an observer that first asks the proxy at each of the instants. */
async function releases(publishedMs: number) {
  const shown = new Map<number, readonly string[]>();
  await simulate({ seed: 1 }, async (simulation) => {
    const { timers } = simulation.host("observer");
    let routed = pods.left;
    await listen(simulation.host("proxy"), () => routed);
    timers.after(handedOverMs, () => {
      routed = pods.joined;
    });
    const observe = async (startMs: number): Promise<void> => {
      const over = await observed(simulation.host("observer"), startMs, publishedMs);
      shown.set(startMs, over.map(inWords).sort());
    };
    await Promise.all(startsMs.map(observe));
  });
  return startsMs.map((startMs) => ({ startMs, shown: shown.get(startMs) }));
}

async function observed(
  observer: Environment,
  startMs: number,
  publishedMs: number,
): Promise<readonly Journey[]> {
  const { clock, timers } = observer;
  const over: Journey[] = [];
  const stuck: Journey[] = [];
  const journeys = new Timeline({
    onEvent: (event) => {
      if (event.type === "over") over.push(event.journey);
      if (event.type === "stuck") stuck.push(event.journey);
    },
  });
  const cluster = clusterWords(journeys, clock);
  cluster.begin();
  const source = proxySource({
    ...observer,
    address: readProxyAddress("ingress-nginx=http://proxy:10246"),
    witness: new RoutedWitness({ replica: "proxy", sink: journeys }),
    clusters: [web.cluster],
  });
  timers.after(startMs, () => source.start());
  timers.after(podMs, () => cluster.exchange("pod"));
  timers.after(publishedMs, () => cluster.exchange("published"));
  for (let ms = 0; ms < endMs; ms += 1_000) {
    await timers.sleep(1_000);
    journeys.advance(clock.monotonicMs());
  }
  await source.stop();
  expect(stuck).toEqual([]);
  return over;
}

/** The reports of a cluster's own watches about the release. */
function clusterWords(sink: ObservationSink, clock: Environment["clock"]) {
  const say = (hop: "pod" | "published", of: keyof typeof pods, baseline: boolean): void => {
    const direction: Direction = of === "joined" || baseline ? "join" : "leave";
    const endpoint = { ...web, address: pods[of], port: 8080, podUid: `uid of ${pods[of]}` };
    const witness = { hop, name: web.cluster };
    sink.report({ witness, endpoint, direction, at: clock.monotonicMs(), baseline });
  };
  return {
    begin: () => {
      for (const hop of ["pod", "published"] as const) {
        sink.follow({ hop, name: web.cluster }, web);
        say(hop, "left", true);
      }
    },
    exchange: (hop: "pod" | "published") => {
      say(hop, "left", false);
      say(hop, "joined", false);
    },
  };
}

async function listen(proxy: Environment, routed: () => string): Promise<void> {
  await proxy.network.listen({ host: "proxy", port: 10246 }, (exchange) => {
    const endpoints = [{ address: routed(), port: "8080" }];
    exchange.respond(200).end(Buffer.from(JSON.stringify([{ name: "shop-web-80", endpoints }])));
  });
}

function inWords({ direction, outcome, origin, hops }: Journey): string {
  if (origin.beforeStart) return `${direction} ${outcome}, begun before the proxy was asked`;
  const states = hops.flatMap(({ hop, state }) => {
    if (hop !== "routed") return [];
    if (state.type !== "shown") return [`, routed ${state.type}`];
    // The interval has every instant in it at which a worker may have begun to route by it.
    const { minMs = state.lagMs, maxMs = state.lagMs } = state.range ?? {};
    const isInTime = minMs <= handedOverMs - podMs && maxMs >= handedOverMs - podMs + workersLookMs;
    return [`, routed shown ${isInTime ? "in time" : `${minMs}..${maxMs}`}`];
  });
  return `${direction} ${outcome}${states.join("")}`;
}
