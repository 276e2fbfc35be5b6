import { expect, test } from "vitest";
import type { PathRule } from "../../decide/decision.ts";
import type { RoutePolicy } from "../../decide/route-policy.ts";
import { policyOf, policyText, pushedHost } from "./host-entry.ts";

const networks = Array.from({ length: 1_000 }, (_, n) => `10.0.${n >> 8}.${n & 255}`);
const shared: RoutePolicy = { allowFrom: networks, tries: 2 };

function rule(path: string, policy?: RoutePolicy): PathRule {
  return { path, type: "Prefix", service: "shop/web:80", ...(policy && { policy }) };
}

test("rules that ask for the same refer to one policy, whatever their canaries and cookies", () => {
  const balance = (path: string) =>
    ({ method: "round-robin", affinity: { cookie: "c", mode: "balanced", path } }) as const;
  const rules = Array.from({ length: 180 }, (_, n) =>
    rule(`/${n}`, {
      ...shared,
      balance: balance(`/${n}`),
      canaries: [{ service: `shop/next-${n}:80`, weight: n }],
    }),
  );
  const pushed = pushedHost(rules, "shop");
  expect(pushed.policies.size).toBe(1);
  expect(JSON.stringify(pushed.rules).length).toBeLessThan(rules.length * 250);
  const policies = new Map(
    [...pushed.policies].map(([key, one]) => [key, JSON.parse(policyText(one)) as RoutePolicy]),
  );
  const back = pushed.rules.map((one) => policyOf(one, (key) => policies.get(key)));
  expect(back).toEqual(rules.map(({ policy }) => policy));
});

test("a policy of another content or of another namespace has another key", () => {
  const keyOf = (policy: RoutePolicy, namespace = "shop") =>
    pushedHost([rule("/", policy)], namespace).rules[0]?.policy;
  const copy: RoutePolicy = structuredClone(shared);
  expect(keyOf(copy)).toBe(keyOf(shared));
  expect(keyOf({ ...shared, tries: 3 })).not.toBe(keyOf(shared));
  expect(keyOf({ ...shared, allowFrom: ["10.0.0.0"] })).not.toBe(keyOf(shared));
  expect(keyOf(shared, "other")).not.toBe(keyOf(shared));
});

test("a rule whose policy is not there is closed, one without a policy is not", () => {
  const [named, plain] = pushedHost([rule("/", shared), rule("/a")], "shop").rules;
  expect(named && policyOf(named, () => undefined)).toEqual({ closed: true });
  expect(plain && policyOf(plain, () => undefined)).toBeUndefined();
});
