import { expect, test } from "vitest";
import { simulate } from "../../../simulation/simulation.ts";
import { Expectations, expectationTimeoutMs } from "./expectations.ts";

test("a cache is used when all requested changes have been seen", async () => {
  await simulate({ seed: 1 }, async (simulation) => {
    const expectations = new Expectations(simulation.host("h"));
    const met: boolean[] = [];
    const look = () => met.push(expectations.areMet("set"));
    look();
    expectations.expectCreations("set", 2);
    expectations.createdOne("set");
    look();
    expectations.createdOne("set");
    look();
    expectations.expectDeletions("set", ["u1", "u2"]);
    expectations.deletedOne("set", "u1");
    expectations.deletedOne("set", "u1");
    look();
    expectations.deletedOne("set", "u2");
    look();
    expect(met).toEqual([true, false, true, false, true]);
  });
});

test("what is never seen is given up after five minutes", async () => {
  await simulate({ seed: 1 }, async (simulation) => {
    const expectations = new Expectations(simulation.host("h"));
    expectations.expectCreations("set", 1);
    await simulation.sleep(expectationTimeoutMs);
    expect(expectations.areMet("set")).toBe(false);
    await simulation.sleep(1);
    expect(expectations.areMet("set")).toBe(true);
  });
});
