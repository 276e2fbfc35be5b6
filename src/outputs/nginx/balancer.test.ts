import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PathRule } from "../../decide/decision.ts";
import {
  compileHost,
  findService,
  matchPath,
  pickEndpoint,
  type ServiceEndpoints,
} from "./balancer.ts";
import { balanceCases, routeCases } from "./balancer-cases.contract.ts";

describe("the route", () => {
  it.each(routeCases())("$name", ({ hosts, requests }) => {
    const compiled = new Map(
      Object.entries(hosts).map(([name, rules]) => [name, compileHost(rules)]),
    );
    const found = requests.map(([host, path]) => [
      host,
      path,
      findService((name) => compiled.get(name), host, path) ?? null,
    ]);
    expect(found).toEqual(requests);
  });

  it("is the longest rule that fits, as found by looking at every rule", () => {
    const element = fc.constantFrom("a", "b", "ab");
    const path = fc.array(element, { maxLength: 4 }).map((parts) => `/${parts.join("/")}`);
    const rule = fc.record<PathRule>({
      path,
      type: fc.constantFrom("Exact", "Prefix"),
      service: fc.constantFrom("one", "two", "three"),
    });
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 8 }), path, (rules, asked) => {
        expect(matchPath(compileHost(rules), asked)).toBe(longestFitting(rules, asked));
      }),
    );
  });
});

describe("the pick", () => {
  it.each(balanceCases())("$name", ({ service, suspects, cursor, tried = [], picks }) => {
    const endpoints = endpointsOf(service.active, service.slots);
    const isSuspect = (slot: number): boolean => suspects.includes(slot);
    const triedIndexes = new Set(tried.map((slot) => service.slots.indexOf(slot)));
    let at = cursor;
    const picked = picks.map(() => {
      const pick = pickEndpoint(endpoints, at, isSuspect, triedIndexes);
      at = pick?.cursor ?? at;
      return pick === undefined ? null : (service.slots[pick.index] ?? null);
    });
    expect(picked).toEqual(picks);
  });

  it("gives every healthy active endpoint the same share", () => {
    const counts = fc.record({
      active: fc.integer({ min: 1, max: 8 }),
      draining: fc.integer({ min: 0, max: 4 }),
      suspects: fc.uniqueArray(fc.integer({ min: 1, max: 8 }), { maxLength: 6 }),
      cursor: fc.nat(100),
    });
    fc.assert(
      fc.property(counts, ({ active, draining, suspects, cursor }) => {
        const slots = Array.from({ length: active + draining }, (_, index) => index + 1);
        const healthy = slots.slice(0, active).filter((slot) => !suspects.includes(slot));
        fc.pre(healthy.length > 0);
        const seen = new Map<number, number>();
        let at = cursor;
        for (let round = 0; round < healthy.length * 3; round += 1) {
          const pick = pickEndpoint(endpointsOf(active, slots), at, (one) =>
            suspects.includes(one),
          );
          const slot = slots[pick?.index ?? -1] ?? 0;
          seen.set(slot, (seen.get(slot) ?? 0) + 1);
          at = pick?.cursor ?? 0;
        }
        expect([...seen].sort(([a], [b]) => a - b)).toEqual(healthy.map((slot) => [slot, 3]));
      }),
    );
  });
});

function endpointsOf(active: number, slots: readonly number[]): ServiceEndpoints {
  return {
    active,
    slots,
    addresses: slots.map((slot) => `10.0.0.${slot}`),
    ports: slots.map(() => 80),
  };
}

function longestFitting(rules: readonly PathRule[], asked: string): string | undefined {
  const elements = (path: string): string[] => path.split("/").filter((one) => one !== "");
  const own = elements(asked);
  const exact = rules.find(({ type, path }) => type === "Exact" && path === asked);
  if (exact !== undefined) return exact.service;
  const fitting = rules
    .filter(({ type }) => type === "Prefix")
    .filter(({ path }) => elements(path).every((one, index) => own[index] === one))
    .sort((one, other) => elements(other.path).length - elements(one.path).length);
  return fitting[0]?.service;
}
