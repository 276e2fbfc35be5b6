// Whether two lists of rules ask for the same. Rules of one Ingress share what is large in their policies,
// a list of a thousand networks for example, so two such lists are compared once and not once for each
// rule and each name of the host: an author who changes a large Ingress all the time costs others nothing.
import { isDeepStrictEqual } from "node:util";
import type { PathRule } from "../decision.ts";

export function areSameRules(some: readonly PathRule[], others: readonly PathRule[]): boolean {
  if (some === others) return true;
  return (
    some.length === others.length &&
    some.every((rule, index) => {
      const { policy, ...fields } = rule;
      const { policy: otherPolicy, ...otherFields } = others[index] ?? {};
      return areSameFields(fields, otherFields) && areSameFields(policy ?? {}, otherPolicy ?? {});
    })
  );
}

function areSameFields(some: object, others: object): boolean {
  if (some === others) return true;
  const [own, other] = [new Map(Object.entries(some)), new Map(Object.entries(others))];
  return (
    own.size === other.size && [...own].every(([name, value]) => isSame(value, other.get(name)))
  );
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
