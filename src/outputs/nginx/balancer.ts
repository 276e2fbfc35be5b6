// Where a request goes: the twin of proxy/lua/lockstep/route.lua and balance.lua, used where there
// is no nginx. Both pass the cases of proxy/cases/; a rule changes in both or in neither.
import type { PathRule } from "../../decide/decision.ts";

/** The rules of one host, ready to look up in. */
export interface CompiledHost {
  readonly exact: ReadonlyMap<string, string>;
  /** By path without a slash at its end; `/` is the empty string. */
  readonly prefix: ReadonlyMap<string, string>;
}

/** Endpoints as nginx has them: flat arrays, the active ones first. */
export interface ServiceEndpoints {
  readonly active: number;
  readonly addresses: readonly string[];
  readonly ports: readonly number[];
  readonly slots: readonly number[];
}

export interface Pick {
  readonly index: number;
  /** Where the next request begins. */
  readonly cursor: number;
}

/** The first of two equal rules stands. */
export function compileHost(rules: readonly PathRule[]): CompiledHost {
  const exact = new Map<string, string>();
  const prefix = new Map<string, string>();
  for (const rule of rules) {
    const known = rule.type === "Exact" ? exact : prefix;
    const path = rule.type === "Exact" ? rule.path : withoutSlashAtEnd(rule.path);
    if (!known.has(path)) known.set(path, rule.service);
  }
  return { exact, prefix };
}

/**
 * The host as it is, then with its first label as a wildcard, then `*`: the first that has a rule
 * for the path decides. `path` is decoded and has no query, as nginx's `$uri`.
 */
export function findService(
  findHost: (name: string) => CompiledHost | undefined,
  name: string,
  path: string,
): string | undefined {
  const dot = name.indexOf(".");
  const wildcard = dot < 0 ? [] : [`*${name.slice(dot)}`];
  for (const candidate of [name, ...wildcard, "*"]) {
    const host = findHost(candidate);
    const service = host === undefined ? undefined : matchPath(host, path);
    if (service !== undefined) return service;
  }
  return undefined;
}

/** An Exact rule, else the longest Prefix, compared element by element. */
export function matchPath(host: CompiledHost, path: string): string | undefined {
  const exact = host.exact.get(path);
  if (exact !== undefined) return exact;
  let candidate = path;
  for (;;) {
    const service = host.prefix.get(candidate);
    if (service !== undefined) return service;
    const slash = candidate.lastIndexOf("/");
    if (slash < 0) return undefined;
    candidate = candidate.slice(0, slash);
  }
}

/**
 * Round robin over the active endpoints that are not suspect; then over the draining ones, which
 * still answer; then over the suspects, because trying is better than refusing. Undefined when all
 * were tried.
 */
export function pickEndpoint(
  service: ServiceEndpoints,
  cursor: number,
  isSuspect: (slot: number) => boolean,
  tried: ReadonlySet<number> = new Set(),
): Pick | undefined {
  const groups = [
    { first: 0, count: service.active },
    { first: service.active, count: service.addresses.length - service.active },
  ];
  for (const wantsSuspect of [false, true]) {
    for (const { first, count } of groups) {
      for (let step = 0; step < count; step += 1) {
        const position = (cursor + step) % count;
        const index = first + position;
        if (tried.has(index) || isSuspect(service.slots[index] ?? 0) !== wantsSuspect) continue;
        return { index, cursor: position + 1 };
      }
    }
  }
  return undefined;
}

function withoutSlashAtEnd(path: string): string {
  return path.replace(/\/+$/, "");
}
