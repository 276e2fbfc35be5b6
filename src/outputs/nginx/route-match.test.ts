import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { routeCases } from "../../../tests/nginx/balancer-cases.ts";
import type { PathRule } from "../../decide/decision.ts";
import { compileHost, findRule, matchPath } from "./route-match.ts";

describe("the route", () => {
  it.each(routeCases())("$name", ({ hosts, requests }) => {
    const compiled = new Map(
      Object.entries(hosts).map(([name, rules]) => [name, compileHost(rules)]),
    );
    const found = requests.map(([host, path, , asked]) => [
      host,
      path,
      findRule((name) => compiled.get(name), host, path, asked)?.rule.service ?? null,
      ...(asked === undefined ? [] : [asked]),
    ]);
    expect(found).toEqual(requests);
  });

  it("is the longest rule that fits, as found by looking at every rule", () => {
    const element = fc.constantFrom("a", "b", "ab");
    const path = fc.array(element, { maxLength: 4 }).map((parts) => `/${parts.join("/")}`);
    const rule = fc.record<PathRule>({
      path,
      type: fc.constantFrom("Exact", "Prefix", "Regex"),
      service: fc.constantFrom("one", "two", "three"),
    });
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 8 }), path, (rules, asked) => {
        const found = matchPath(compileHost(rules), asked)?.service;
        expect(found).toBe(longestFitting(rules, asked));
      }),
    );
  });
});

/** The paths of these rules have no characters that mean something in an expression. */
function longestFitting(rules: readonly PathRule[], asked: string): string | undefined {
  const exact = rules.find(({ type, path }) => type === "Exact" && path === asked);
  if (exact !== undefined) return exact.service;
  const elements = (path: string): string[] => path.split("/").filter((one) => one !== "");
  const own = elements(asked);
  const fits = ({ type, path }: PathRule): boolean => {
    if (type === "Regex") return asked.startsWith(path);
    return type === "Prefix" && elements(path).every((one, index) => own[index] === one);
  };
  const isPrefix = ({ type }: PathRule): number => (type === "Prefix" ? 1 : 0);
  const [longest] = rules
    .filter(fits)
    .sort((one, other) => other.path.length - one.path.length || isPrefix(other) - isPrefix(one));
  return longest?.service;
}
