// For any strings in an Ingress: nothing throws, and the routes of others stay. The tests in e2e
// try the result with the real proxy.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type RouteTable, Routing } from "../../src/decide/routing/routing.ts";
import type { Ingress } from "../../src/kube/kinds/ingress.ts";
import { type CompiledHost, compileHost, findRule } from "../../src/outputs/nginx/route-match.ts";
import { isThorough } from "../../src/simulation/seeds.ts";
import { hostileIngress } from "./hostile-ingress.ts";
import { ingress, path } from "./short-ingress.ts";

const runs = { numRuns: isThorough(process.env) ? 3_000 : 40 };

function decide(...ingresses: readonly Ingress[]): RouteTable {
  return new Routing({ className: "lockstep" }).decide({ ingresses, classes: [] });
}

function serverOf({ hosts }: RouteTable): (host: string, path: string) => unknown {
  const compiled = new Map<string, CompiledHost>(
    [...hosts].map(([host, rules]) => [host, compileHost(rules)]),
  );
  return (host, text) => findRule((name) => compiled.get(name), host, text)?.rule;
}

const victim = ingress(
  "victim",
  [
    {
      host: "a.example",
      paths: [path("/a", "victim"), path("/a/exact", "exact", "Exact"), path("/z", "victim")],
    },
    { host: "*.example", paths: [path("/", "wild")] },
  ],
  { bornMs: 1 },
);

const requests = [
  ["a.example", "/a"],
  ["a.example", "/a/"],
  ["a.example", "/a/b"],
  ["a.example", "/a/exact"],
  ["a.example", "/a;b"],
  ["a.example", "/z/deep/path"],
  ["x.example", "/"],
  ["x.example", "/a/b"],
] as const;

const before = serverOf(decide(victim));

test("a younger Ingress of another namespace takes nothing, whatever it says", () => {
  fc.assert(
    fc.property(hostileIngress("other", 2), (hostile) => {
      const after = serverOf(decide(hostile, victim));
      for (const [host, text] of requests) expect(after(host, text)).toEqual(before(host, text));
    }),
    runs,
  );
});

test("what an Ingress asks does not depend on who else asks, and every rule leads somewhere", () => {
  fc.assert(
    fc.property(hostileIngress("one", 1), hostileIngress("two", 2), (one, two) => {
      const alone = decide(one);
      const together = decide(two, one);
      expect(
        alone.problems.map(({ message }) => message).filter((text) => !isOneLine(text)),
      ).toEqual([]);
      for (const [host, rules] of alone.hosts) {
        const kept = together.hosts.get(host) ?? [];
        // An alias yields to a host, which is the one thing that an older object can lose.
        const isAlias = !one.rules.some((rule) => rule.host.toLowerCase() === host);
        if (isAlias && host !== "*") continue;
        if (host === "*") continue;
        for (const rule of rules) expect(kept).toContainEqual(rule);
      }
      for (const rules of together.hosts.values()) {
        for (const { service, policy } of rules) {
          expect(together.backends.has(service)).toBe(true);
          for (const canary of policy?.canaries ?? []) {
            expect(together.backends.has(canary.service)).toBe(true);
          }
        }
      }
    }),
    runs,
  );
});

/** Without what could break a line or a terminal. */
function isOneLine(text: string): boolean {
  return /^[^\p{Cc}\p{Cs}]{1,2000}$/u.test(text);
}
