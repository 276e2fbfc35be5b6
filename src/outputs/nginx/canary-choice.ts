// Which requests of a route go to another service: the twin of proxy/lua/lockstep/canary.lua, used
// where there is no nginx. Both pass the cases of proxy/cases/canary.json.
import { RE2JS } from "re2js";
import type { Canary, CanaryHeader } from "../../decide/route-policy.ts";

export interface CanaryRequest {
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** How many requests this canary's share decided before. */
  readonly turn: number;
}

const golden = 0.618_033_988_749_894_9;
const usualTotal = 100;

/** By a header, then a cookie, then its share. `byShare` says that it used up its turn. */
export function canaryWants(
  canary: Canary,
  { headers, turn }: CanaryRequest,
): { readonly wants: boolean; readonly byShare: boolean } {
  const { header, cookie, weight = 0, weightTotal = usualTotal } = canary;
  const decided =
    (header && byHeader(header, headers[header.name.toLowerCase()])) ??
    (cookie === undefined ? undefined : byWord(cookieOf(headers["cookie"], cookie)));
  if (decided !== undefined) return { wants: decided, byShare: false };
  if (weight === 0) return { wants: false, byShare: false };
  return { wants: ((turn * golden) % 1) * weightTotal < weight, byShare: true };
}

function byHeader(header: CanaryHeader, value: string | undefined): boolean | undefined {
  if (value === undefined) return undefined;
  if (header.value !== undefined) return value === header.value ? true : undefined;
  if (header.pattern === undefined) return byWord(value);
  return RE2JS.compile(header.pattern).matcher(value).find() ? true : undefined;
}

function byWord(word: string | undefined): boolean | undefined {
  if (word === "always") return true;
  return word === "never" ? false : undefined;
}

function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const pair of (header ?? "").split(";")) {
    const [key = "", value] = pair.trim().split("=");
    if (key.toLowerCase() === name.toLowerCase()) return value;
  }
  return undefined;
}
