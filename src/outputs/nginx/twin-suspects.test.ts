import { expect, test } from "vitest";
import { simulate } from "../../simulation/simulation.ts";
import { TwinSuspects } from "./twin-suspects.ts";

test("endpoints of one namespace are listed however many of another are marked", () =>
  simulate({ seed: 1 }, async (simulation) => {
    const suspects = new TwinSuspects(simulation.host("edge"));
    for (let slot = 1; slot <= 5_000; slot += 1) suspects.mark(slot, "loud");
    suspects.mark(6_000, "quiet");
    const listed = suspects.list();
    expect(listed.length).toBeLessThan(5_000);
    expect(listed.at(-1)?.slot).toBe(6_000);
  }));
