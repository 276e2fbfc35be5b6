// Decisions about one service overlap: one is made in steps while others are made at once, and its
// last route may go and come back. However they interleave, the decision and the proxy's state are
// those of the last change as soon as all have ended, and no slot is left over.
import fc from "fast-check";
import { expect, test } from "vitest";
import { ingress, path } from "../../tests/routing/short-ingress.ts";
import { freshWatch, metadata, seenAtMs, service } from "../../tests/truth/service-facts.ts";
import type { WallMs } from "../environment/clock.ts";
import type { Steps } from "../environment/steps.ts";
import { endpointSliceKind } from "../kube/kinds/endpoint-slice.ts";
import type { SnapshotSource } from "../model/service-snapshot.ts";
import { ProxyState } from "../outputs/nginx/proxy-state.ts";
import { isThorough } from "../simulation/seeds.ts";
import { Decisions } from "./decisions.ts";

const key = "shop/web:80";
const clock = { wallMs: () => 0 as WallMs, monotonicMs: () => seenAtMs };

/** Each has more endpoints than fit into a step, all of them others. */
const slices = [0, 1, 2].map((number) =>
  endpointSliceKind.project({
    metadata: metadata("web-x"),
    addressType: "IPv4",
    ports: [{ name: "http", port: 8080 }],
    endpoints: Array.from({ length: 40 }, (_, index) => ({
      addresses: [`10.0.${number}.${index}`],
    })),
  }),
);

function addressesOf(number: number): readonly string[] {
  return (slices[number]?.endpoints ?? []).flatMap(({ addresses }) => addresses).sort();
}

class OverlapWorld {
  readonly state = new ProxyState();
  readonly decisions: Decisions;
  /** Decisions under way, in the order in which they began. */
  readonly #underWay: Steps<void>[] = [];
  #isRouted = true;
  #number = 0;

  constructor() {
    const { state } = this;
    const source: SnapshotSource = {
      cluster: "east",
      service: () => service({ selector: undefined }),
      pod: () => undefined,
      podsOf: () => [],
      departed: () => undefined,
      claimantsAt: () => undefined,
      isListed: true,
      isUnreachable: false,
      publishedOf: () => ({
        form: "endpointslices",
        slices: slices.slice(this.#number, this.#number + 1),
        endpoints: undefined,
      }),
      seenAtMs: () => seenAtMs,
      watch: () => freshWatch,
    };
    const web = ingress("web", [{ host: "a.example", paths: [path("/", "web")] }]);
    this.decisions = new Decisions({
      asked: { ingresses: () => (this.#isRouted ? [web] : []), classes: () => [] },
      className: "lockstep",
      secrets: { want: () => undefined, get: () => ({ kind: "unread" }) },
      clock,
      sources: [source],
      policy: () => ({ followSlices: false }),
      output: state,
      onTruth: () => undefined,
    });
    this.decisions.decideRoutes();
  }

  /** The endpoints change, and are decided at once or in steps. */
  change(number: number, isAtOnce: boolean): void {
    this.#number = number;
    const steps = this.decisions.decidingBackend(key);
    // The snapshot is taken in the first step.
    if (isAtOnce) this.decisions.decideBackend(key);
    else if (steps.next().done !== true) this.#underWay.push(steps);
  }

  route(isRouted: boolean): void {
    this.#isRouted = isRouted;
    this.decisions.decideRoutes();
  }

  advance(which: number, steps: number): void {
    const at = which % Math.max(1, this.#underWay.length);
    for (let count = 0; count < steps; count += 1) {
      if (this.#underWay[at]?.next().done !== true) continue;
      this.#underWay.splice(at, 1);
      return;
    }
  }

  finish(): void {
    while (this.#underWay.length > 0) this.advance(this.#underWay.length - 1, 1_000);
  }

  /** The decision, the pending push, and the addresses that hold a slot. */
  view() {
    const decided = this.decisions.truths.get(key)?.truth.endpoints.map(({ address }) => address);
    const services = [...this.state.present()].filter(({ kind }) => kind === "service");
    const pushed = services.map(({ value }) => JSON.parse(value ?? "").addresses)[0];
    const all = slices.flatMap((_, number) => addressesOf(number));
    return { decided, pushed, slots: all.filter((one) => this.state.slots.has(`${one} 8080`)) };
  }
}

const act = fc.oneof(
  fc.record({
    kind: fc.constant("change" as const),
    number: fc.nat(slices.length - 1),
    isAtOnce: fc.boolean(),
  }),
  fc.record({ kind: fc.constant("route" as const), isRouted: fc.boolean() }),
  fc.record({
    kind: fc.constant("advance" as const),
    which: fc.nat(3),
    steps: fc.integer({ min: 1, max: 20 }),
  }),
);

/** Decided again with the same result while the first one is applied. */
const unchanged = [
  { kind: "change" as const, number: 1, isAtOnce: false },
  { kind: "advance" as const, which: 0, steps: 13 },
  { kind: "change" as const, number: 1, isAtOnce: true },
];

test("however decisions overlap, the last change counts in the end", () => {
  fc.assert(
    fc.property(fc.array(act, { maxLength: 20 }), (acts) => {
      const world = new OverlapWorld();
      let last = 0;
      let isRouted = true;
      for (const one of acts) {
        if (one.kind === "advance") world.advance(one.which, one.steps);
        else if (one.kind === "route") {
          ({ isRouted } = one);
          world.route(isRouted);
        } else {
          last = one.number;
          world.change(last, one.isAtOnce);
        }
      }
      world.finish();
      const sorted = isRouted ? addressesOf(last) : undefined;
      const { decided, pushed, slots } = world.view();
      expect({ decided, pushed }).toEqual({ decided: sorted, pushed: sorted });
      expect([...slots].sort()).toEqual(sorted ?? []);
    }),
    { numRuns: isThorough(process.env) ? 200 : 40, examples: [[unchanged]] },
  );
});
