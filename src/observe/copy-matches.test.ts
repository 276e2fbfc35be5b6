import { expect, test } from "vitest";
import type { MonotonicMs, WallMs } from "../environment/clock.ts";
import { Timeline } from "../timeline/timeline.ts";
import type { Direction, Hop } from "../timeline/witness.ts";
import { CopyMatches } from "./copy-matches.ts";

const web = "shop/web";

/** One pod watch and one access cluster; a second passes unless stated otherwise. */
class World {
  nowMs = 0;
  readonly over: string[] = [];
  readonly stuck: string[] = [];
  readonly logged: string[] = [];
  readonly journeys = new Timeline({
    onEvent: ({ type, journey }) => {
      const { direction, endpoint, outcome, hops } = journey;
      const states = hops.map(({ hop, state }) =>
        state.type === "shown" ? `${hop} ${state.lagMs}` : `${hop} ${state.type}`,
      );
      const line = `${direction} ${endpoint.address} ${outcome}: ${states.join(", ")}`;
      if (type === "over") this.over.push(line);
      if (type === "stuck") this.stuck.push(line);
    },
  });
  readonly matches = new CopyMatches({
    clock: { monotonicMs: () => this.nowMs as MonotonicMs, wallMs: () => 0 as WallMs },
    log: { info: (message) => void this.logged.push(message) },
    sink: this.journeys,
    clusters: new Set(["east"]),
    locate: (endpoint) => this.journeys.locate(endpoint),
    isService: (service) => this.journeys.isService(service),
    hasEndpoints: (service) => this.journeys.hasEndpoints(service),
  });

  follow(hop: Hop, cluster: string | undefined = "east"): void {
    const name = hop === "synced" ? "edge" : "east";
    this.matches.follow({ hop, name }, { cluster, service: web });
  }

  say(hop: Hop, direction: Direction, address: string, about: { readonly podUid?: string } = {}) {
    const { podUid } = about;
    const endpoint = { cluster: "east", service: web, address, port: 80, podUid };
    const at = this.nowMs as MonotonicMs;
    const name = hop === "synced" ? "edge" : "east";
    this.matches.report({ witness: { hop, name }, endpoint, direction, at });
    this.pass(1);
  }

  pass(seconds: number): void {
    for (let second = 0; second < seconds; second += 1) {
      this.nowMs += 1_000;
      this.matches.look();
      this.journeys.advance(this.nowMs as MonotonicMs);
    }
  }
}

test("a copy with another address is of the pod that it names, joining and leaving", () => {
  const world = new World();
  world.follow("pod");
  world.follow("synced");
  world.say("pod", "join", "10.0.0.1", { podUid: "a" });
  world.say("synced", "join", "242.0.0.1", { podUid: "a" });
  world.say("pod", "leave", "10.0.0.1", { podUid: "a" });
  world.pass(4);
  world.say("synced", "leave", "242.0.0.1", { podUid: "a" });
  expect(world.over).toEqual([
    "join 10.0.0.1 complete: pod 0, synced 1000",
    "leave 10.0.0.1 complete: pod 0, synced 5000",
  ]);
});

test("where copies name neither pods nor their addresses, synced is unknown and nothing is stuck", () => {
  const world = new World();
  world.follow("pod");
  world.follow("synced");
  world.say("pod", "join", "10.0.0.1", { podUid: "a" });
  world.say("synced", "join", "10.96.0.9");
  world.pass(15);
  world.say("pod", "leave", "10.0.0.1", { podUid: "a" });
  world.pass(60);
  expect(world.over).toEqual(["join 10.0.0.1 complete: pod 0", "leave 10.0.0.1 complete: pod 0"]);
  expect(world.stuck).toEqual([]);
  expect(world.logged).toHaveLength(1);
});

test("a copy that is seen before its pod is reported with its own time", () => {
  const world = new World();
  world.follow("pod");
  world.follow("synced");
  world.say("synced", "join", "10.0.0.1");
  world.pass(3);
  world.say("pod", "join", "10.0.0.1", { podUid: "a" });
  expect(world.over).toEqual(["join 10.0.0.1 complete: pod 4000, synced 0"]);
});

test("one that is late even so is followed again as soon as it is matched", () => {
  const world = new World();
  world.follow("pod");
  world.follow("synced");
  world.say("pod", "join", "10.0.0.2", { podUid: "b" });
  world.say("synced", "join", "10.0.0.1");
  world.pass(20);
  expect(world.logged).toHaveLength(1);
  world.say("pod", "join", "10.0.0.1", { podUid: "a" });
  world.say("pod", "leave", "10.0.0.1", { podUid: "a" });
  world.say("synced", "leave", "10.0.0.1");
  expect(world.over.at(-1)).toBe("leave 10.0.0.1 complete: pod 0, synced 1000");
});

test("as long as a service has no endpoints its copies may be of some that are gone", () => {
  const world = new World();
  world.follow("pod");
  world.follow("synced");
  world.say("synced", "join", "10.0.0.1");
  world.pass(60);
  world.say("pod", "join", "10.0.0.2", { podUid: "b" });
  world.pass(4);
  world.say("synced", "join", "10.0.0.2");
  expect(world.over).toEqual(["join 10.0.0.2 complete: pod 0, synced 5000"]);
  expect(world.logged).toEqual([]);
});

test("a stale copy among others that are the pods' own is still found", () => {
  const world = new World();
  world.follow("pod");
  world.follow("synced");
  world.say("pod", "join", "10.0.0.1", { podUid: "a" });
  world.say("synced", "join", "10.0.0.1");
  world.say("synced", "join", "10.0.0.9");
  world.pass(60);
  expect(world.stuck).toEqual(["leave 10.0.0.9 pending: synced stuck"]);
});

test("copies that come and go unmatched leave no trace, and those that cannot be judged are reported", () => {
  const world = new World();
  world.follow("synced");
  world.say("synced", "join", "10.0.0.1");
  world.say("synced", "leave", "10.0.0.1");
  world.say("synced", "join", "10.0.0.2");
  world.pass(90);
  expect(world.over).toEqual(["join 10.0.0.2 complete: synced 0"]);
  world.matches.unfollow({ hop: "synced", name: "edge" }, { cluster: "east", service: web });
  world.say("synced", "leave", "10.0.0.2");
  expect(world.over).toHaveLength(2);
});

test("a copy that was listed before its pod was is known before the pod leaves", () => {
  const world = new World();
  world.follow("pod");
  world.follow("synced");
  const baseline = (hop: Hop): void => {
    const endpoint = { cluster: "east", service: web, address: "10.0.0.1", port: 80, podUid: "a" };
    const name = hop === "synced" ? "edge" : "east";
    const at = world.nowMs as MonotonicMs;
    const witness = { hop, name };
    world.matches.report({ witness, endpoint, direction: "join", at, baseline: true });
  };
  baseline("synced");
  baseline("pod");
  world.say("pod", "leave", "10.0.0.1", { podUid: "a" });
  world.say("synced", "leave", "10.0.0.1", { podUid: "a" });
  expect(world.over).toEqual(["leave 10.0.0.1 complete: pod 0, synced 1000"]);
});
