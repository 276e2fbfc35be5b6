// Whether two lists of rules ask for the same. Rules of one Ingress share what is large in their policies,
// a list of a thousand networks for example, so two such lists are compared once and not once for each
// rule and each name of the host: an author who changes a large Ingress all the time costs others nothing.
import { isDeepStrictEqual } from "node:util";
import type { PathRule } from "../decision.ts";
import type { RoutePolicy } from "../route-policy.ts";

export function areSameRules(some: readonly PathRule[], others: readonly PathRule[]): boolean {
  if (some === others) return true;
  return some.length === others.length && some.every((rule, at) => isSameRule(rule, others[at]));
}

function isSameRule(one: PathRule, other: PathRule | undefined): boolean {
  if (other === undefined) return false;
  return areSameFields(one, other, (name, a, b) =>
    name === "policy" ? isSamePolicy(one.policy, other.policy) : isSame(a, b),
  );
}

function isSamePolicy(one: RoutePolicy = {}, other: RoutePolicy = {}): boolean {
  return one === other || areSameFields(one, other, (_, a, b) => isSame(a, b));
}

function areSameFields(
  some: object,
  others: object,
  isSameField: (name: string, one: unknown, other: unknown) => boolean,
): boolean {
  const own: Readonly<Record<string, unknown>> = { ...some };
  const other: Readonly<Record<string, unknown>> = { ...others };
  const names = Object.keys(own);
  if (names.length !== Object.keys(other).length) return false;
  return names.every((name) => name in other && isSameField(name, own[name], other[name]));
}

const compared = new WeakMap<object, WeakMap<object, boolean>>();

function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object") return false;
  if (one === null || other === null) return false;
  const known = compared.get(one)?.get(other);
  if (known !== undefined) return known;
  const isEqual = isDeepStrictEqual(one, other);
  compared.set(one, (compared.get(one) ?? new WeakMap()).set(other, isEqual));
  return isEqual;
}
