// Only for tests: journeys of one service whose events are kept as lines.
import type { MonotonicMs } from "../../src/environment/clock.ts";
import { journeyLine } from "../../src/timeline/format.ts";
import type { Journey } from "../../src/timeline/journey.ts";
import type { JourneyEvent } from "../../src/timeline/journey-event.ts";
import type { Observation } from "../../src/timeline/observation.ts";
import { Timeline } from "../../src/timeline/timeline.ts";
import type { Direction, ServiceRef, Witness } from "../../src/timeline/witness.ts";

export const web: ServiceRef = { cluster: "east", service: "shop/web" };
export const pod: Witness = { hop: "pod", name: "east" };
export const published: Witness = { hop: "published", name: "east" };
export const synced: Witness = { hop: "synced", name: "access" };
export const replica = (name: string): Witness => ({ hop: "routed", name });

export const ms = (value: number) => value as MonotonicMs;

type Said = Partial<Omit<Observation, "endpoint">> & {
  readonly uid?: string | undefined;
  readonly address?: string;
  readonly port?: number;
};

export class Observed {
  readonly events: string[] = [];
  readonly journeys: Timeline;
  lastOver: Journey | undefined;
  now = 0;

  constructor(followers: readonly Witness[], bounds: { readonly pendingMax?: number } = {}) {
    this.journeys = new Timeline({ onEvent: (event) => this.#note(event), ...bounds });
    for (const witness of followers) this.journeys.follow(witness, web);
  }

  say(at: number, witness: Witness, direction: Direction, said: Said = {}): void {
    this.now = at;
    const usual = { uid: "a", address: "10.0.0.1", port: 8080 };
    const { uid, address, port, ...rest } = { ...usual, ...said };
    const endpoint = { ...web, address, port, podUid: uid };
    this.journeys.report({ witness, direction, at: ms(at), endpoint, ...rest });
  }

  baseline(...witnesses: readonly Witness[]): void {
    for (const witness of witnesses) this.say(0, witness, "join", { baseline: true });
  }

  advance(to: number): void {
    this.now = to;
    this.journeys.advance(ms(to));
  }

  #note(event: JourneyEvent): void {
    const line = journeyLine(event.journey, { now: ms(this.now), width: 200 });
    const what = event.type === "over" ? event.journey.outcome : `${event.type} ${event.hop.hop}`;
    this.events.push(`${this.now}: ${what}: ${line}`);
    if (event.type === "over") this.lastOver = event.journey;
  }

  get over(): readonly string[] {
    return this.events.filter((event) => !/: (shown|stuck) /.test(event));
  }
}
