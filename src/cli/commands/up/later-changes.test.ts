import { expect, it } from "vitest";
import { RecordedTerminal } from "../../../../tests/terminal/recorded-terminal.ts";
import type { MonotonicMs } from "../../../environment/clock.ts";
import { shopService } from "../../../lab/shop.ts";
import { simulate } from "../../../simulation/simulation.ts";
import type { HopTime, Journey } from "../../../timeline/journey.ts";
import { LaterChanges } from "./changes.ts";
import { countersText, Narrator } from "./view.ts";

const routed = [1, 2, 3].map(
  (replica): HopTime => ({
    hop: "routed",
    witness: `lockstep-${replica}`,
    state: { type: "shown", lagMs: 10 + replica },
  }),
);

function leave(id: number): Journey {
  return {
    id,
    endpoint: {
      cluster: "alpha",
      service: shopService,
      address: `127.31.0.${id}`,
      port: 8080,
      podUid: "uid",
    },
    podName: `shop-${id}`,
    direction: "leave",
    cause: "terminating",
    origin: { at: 0 as MonotonicMs, notBefore: undefined },
    hops: routed,
    outcome: "complete",
  };
}

it("prints the rows of a rollout together below their head", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const terminal = new RecordedTerminal();
    const narrator = new Narrator({ terminal, quiet: false });
    const { clock, timers } = simulation.host("up");
    const changes = new LaterChanges({ clock, timers, narrator, traffic: undefined });
    const rollout = [leave(4), leave(5)];
    for (const journey of rollout) {
      for (const hop of routed.slice(-1)) changes.note({ type: "shown", journey, hop });
    }
    for (const journey of rollout) changes.note({ type: "over", journey });
    await timers.sleep(6_000);
    expect(`\n${terminal.out}`).toMatchInlineSnapshot(`
      "
        −127.31.0.4      Lockstep replicas removed it after 11 12 13 ms (real)
        −127.31.0.5      Lockstep replicas removed it after 11 12 13 ms (real)
        Real time until the change was visible in
                                      copy in    stock (model)       Lockstep
        pod              Endpoints    access     replicas 1 2 3      replicas 1 2 3
        −127.31.0.4      –            –          –                   11 12 13 ms
        −127.31.0.5      –            –          –                   11 12 13 ms
        real time   5 s  all replicas are up to date
      "
    `);
  }));

it("keeps the counters within 80 columns", () => {
  const side = { requests: 12_345, lost: 1_234 };
  const text = countersText({
    seconds: 120,
    stock: side,
    lockstep: { ...side, lost: 0 },
    waiting: "listed: 4",
  });
  expect(`  ${text}`.length).toBeLessThanOrEqual(80);
});
