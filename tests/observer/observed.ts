// Only for tests: a timeline of one service whose events are kept as lines.
import type { MonotonicMs } from "../../src/environment/clock.ts";
import { journeyLine } from "../../src/timeline/format.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import type { JourneyEvent } from "../../src/timeline/journey-event.ts";
import type { Observation } from "../../src/timeline/observation.ts";
import { Timeline, type TimelineOptions } from "../../src/timeline/timeline.ts";
import type { Direction, Hop, ServiceRef, Witness } from "../../src/timeline/witness.ts";

export const web: ServiceRef = { cluster: "east", service: "shop/web" };
export const pod: Witness = { hop: "pod", name: "east" };
export const published: Witness = { hop: "published", name: "east" };
export const synced: Witness = { hop: "synced", name: "access" };
export const replica = (name: string): Witness => ({ hop: "routed", name });

export const ms = (value: number) => value as MonotonicMs;

type Said = Partial<Omit<Observation, "endpoint">> & {
  readonly uid?: string | undefined;
  readonly cluster?: string | undefined;
  readonly address?: string;
  readonly port?: number;
};

export class Observed {
  readonly events: string[] = [];
  readonly journeys: Timeline;
  /** By hop: all that was so until then has been reported. A hop that is not named has none. */
  watermarks: Partial<Record<Hop, number>> = {};
  lastOver: Journey | undefined;
  now = 0;

  constructor(followers: readonly Witness[], options: Omit<TimelineOptions, "onEvent"> = {}) {
    this.journeys = new Timeline({
      onEvent: (event) => this.#note(event),
      watermark: ({ hop }) => this.watermarks[hop] as MonotonicMs | undefined,
      ...options,
    });
    for (const witness of followers) this.journeys.follow(witness, web);
  }

  say(at: number, witness: Witness, direction: Direction, said: Said = {}): void {
    this.now = at;
    const usual = { uid: "a", cluster: "east", address: "10.0.0.1", port: 8080 };
    const { uid, cluster, address, port, ...rest } = { ...usual, ...said };
    const endpoint = { service: web.service, cluster, address, port, podUid: uid };
    this.journeys.report({ witness, direction, at: ms(at), endpoint, ...rest });
  }

  baseline(...witnesses: readonly Witness[]): void {
    for (const witness of witnesses) this.say(0, witness, "join", { baseline: true });
  }

  advance(to: number): void {
    this.now = to;
    this.journeys.advance(ms(to));
  }

  /** Changes in flight: direction, pod, when they began, and how each hop stands. */
  get inFlight(): readonly string[] {
    return this.journeys.pending().map(({ direction, endpoint, origin, hops }) => {
      const since = `${origin.beforeStart === true ? "before " : ""}${origin.at}`;
      const states = hops.map(({ witness, hop, state }) => {
        return `${hop === "routed" ? witness : hop} ${state.type}`;
      });
      return `${direction} ${endpoint.podUid ?? endpoint.address} ${since}: ${states.join(", ")}`;
    });
  }

  #note(event: JourneyEvent): void {
    const line = journeyLine(event.journey, { now: ms(this.now), width: 200 });
    const what = event.type === "over" ? event.journey.outcome : stepOf(event);
    this.events.push(`${this.now}: ${what}: ${line}`);
    if (event.type === "over") this.lastOver = event.journey;
  }

  get over(): readonly string[] {
    return this.events.filter((event) => !/: (found:|shown |stuck )/.test(event));
  }
}

function stepOf(event: Exclude<JourneyEvent, { readonly type: "over" }>): string {
  return event.type === "found" ? event.type : `${event.type} ${event.hop.hop}`;
}
