import { describe, expect, it } from "vitest";
import { canaryCases } from "../../../tests/nginx/balancer-cases.ts";
import { canaryWants } from "./canary-choice.ts";

describe("a canary", () => {
  it.each(canaryCases())("$name", ({ canary, requests }) => {
    let turn = 0;
    const decided = requests.map(([headers]) => {
      const { wants, byShare } = canaryWants(canary, { headers, turn });
      if (byShare) turn += 1;
      return [headers, wants];
    });
    expect(decided).toEqual(requests);
  });

  it("gets its share of any hundred requests, to within two", () => {
    const canary = { service: "c", weight: 17, weightTotal: 100 };
    for (let first = 0; first < 10_000; first += 97) {
      const turns = Array.from({ length: 100 }, (_, index) => first + index);
      const taken = turns.filter((turn) => canaryWants(canary, { headers: {}, turn }).wants);
      expect(Math.abs(taken.length - 17)).toBeLessThanOrEqual(2);
    }
  });
});
