import { expect, it } from "vitest";
import { elapsedMs, type WallMs } from "../../../environment/clock.ts";
import { simulate } from "../../../simulation/simulation.ts";
import type { StockBackend } from "../stock-configuration.ts";
import type { TakenBackends } from "./nginx-control.ts";
import { NginxRouted } from "./nginx-routed.ts";

function backends(address: string): readonly StockBackend[] {
  return [{ name: "shop-web-80", endpoints: [{ address, port: 80 }] }];
}

it("tells only the last of what the workers take up at once, and since when they have it", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const { clock, timers, log } = simulation.host("stock");
    const began = clock.monotonicMs();
    const stopping = new AbortController();
    let taken: TakenBackends | Error = { generation: 0, at: undefined };
    const told: string[] = [];
    const routed = new NginxRouted({
      clock,
      timers,
      log,
      signal: stopping.signal,
      control: {
        taken: async () => {
          await timers.sleep(7);
          if (taken instanceof Error) throw taken;
          return taken;
        },
      },
      onRouted: ([backend], at) => {
        const addresses = backend?.endpoints.map(({ address }) => address);
        told.push(`${addresses} since ${Math.round(elapsedMs(began, at))}`);
      },
    });
    routed.handedOver(backends("10.0.0.1"), 1);
    await timers.sleep(400);
    routed.handedOver(backends("10.0.0.2"), 2);
    await timers.sleep(600);
    taken = { generation: 2, at: clock.wallMs() };
    await timers.sleep(1_000);
    expect(told).toEqual(["10.0.0.2 since 1000"]);

    taken = new Error("a reload");
    routed.handedOver(backends("10.0.0.3"), 3);
    await timers.sleep(20_000);
    taken = { generation: 3, at: (clock.wallMs() - 15_000) as WallMs };
    await timers.sleep(1_000);
    expect(told.slice(1)).toEqual(["10.0.0.3 since 7000"]);

    routed.handedOver(backends("10.0.0.4"), 4);
    stopping.abort(new Error("it is stopped"));
    await routed.ended();
    taken = { generation: 4, at: undefined };
    await timers.sleep(1_000);
    expect(told).toHaveLength(2);
  }));
