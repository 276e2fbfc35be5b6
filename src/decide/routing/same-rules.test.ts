import { expect, test } from "vitest";
import type { PathRule } from "../decision.ts";
import type { RoutePolicy } from "../route-policy.ts";
import { areSameRules } from "./same-rules.ts";

const networks = () => Array.from({ length: 1_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);

function rules(allowFrom: readonly string[], more: RoutePolicy = {}): readonly PathRule[] {
  return Array.from({ length: 180 }, (_, n) => ({
    path: `/${n}`,
    type: "Prefix",
    service: "shop/web:80",
    policy: { allowFrom, ...more },
  }));
}

test("lists of the same rules are the same, copies of what they hold included", () => {
  expect(areSameRules(rules(networks()), rules(networks()))).toBe(true);
  expect(areSameRules([], [])).toBe(true);
});

test.each<[string, readonly PathRule[]]>([
  ["a rule less", rules(networks()).slice(1)],
  ["another network", rules([...networks().slice(1), "10.9.9.9"])],
  ["one more field", rules(networks(), { tries: 2 })],
  ["another service", rules(networks()).map((rule) => ({ ...rule, service: "shop/other:80" }))],
  ["no policy", rules(networks()).map(({ path, type, service }) => ({ path, type, service }))],
])("lists are not with %s", (_, others) => {
  expect(areSameRules(rules(networks()), others)).toBe(false);
  expect(areSameRules(others, rules(networks()))).toBe(false);
});

test("what rules share is compared once", () => {
  let reads = 0;
  const counted = (list: readonly string[]): readonly string[] =>
    new Proxy(list, {
      get(target, name) {
        if (name === "0") reads += 1;
        const found: unknown = Reflect.get(target, name);
        return found;
      },
    });
  const [some, others] = [counted(networks()), counted(networks())];
  for (let host = 0; host < 25; host += 1) areSameRules(rules(some), rules(others));
  expect(reads).toBeLessThan(10);
});
