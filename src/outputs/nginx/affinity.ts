// Sessions by cookie: the twin of proxy/lua/lockstep/affinity.lua, which says what cookies mean. Both
// pass the cases of proxy/cases/; a rule changes in both or in neither.
import { createHash } from "node:crypto";
import { type BalancedService, type Choice, indexesOf, inTiers } from "./balance.ts";
import { pickByKey } from "./ring.ts";

export interface SessionPick {
  /** Undefined when the cookie leads to no endpoint that can serve now. */
  readonly index: number | undefined;
  /** Whether the cookie leads to an endpoint of the service at all. */
  readonly isKnown: boolean;
}

/** As in affinity.lua. */
const digits = 16;
const session = /^[sc][0-9a-fA-F]{16}$/;

/** The value of a cookie for the endpoint with this name. */
export function cookieOf(name: string): string {
  return `e${createHash("md5").update(name).digest("hex").slice(0, digits)}`;
}

export function pickBySession(
  service: BalancedService,
  value: string,
  choice: Choice,
): SessionPick {
  if (session.test(value)) return { index: pickByKey(service, value, choice), isKnown: true };
  const named = service.entry.names.findLastIndex((name) => cookieOf(name) === value);
  if (named < 0) return { index: undefined, isKnown: false };
  return { index: serves(service, named, choice) ? named : undefined, isKnown: true };
}

/** It fits, and no tier before its own has one that does. */
function serves(service: BalancedService, index: number, choice: Choice): boolean {
  const { entry } = service;
  if (choice.isSuspect(entry.slots[index] ?? 0)) return false;
  const serving = inTiers(service, choice, (tier, fits) => {
    const indexes = indexesOf(tier);
    return indexes.includes(index) && fits(index) ? index : indexes.find(fits);
  });
  return serving === index;
}
