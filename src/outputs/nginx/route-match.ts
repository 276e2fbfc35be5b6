// To which rule a request leads: the twin of proxy/lua/lockstep/route.lua, used where there is no
// nginx. Both pass the cases of proxy/cases/route.json; a rule changes in both or in neither.
import { RE2JS } from "re2js";
import { compareText } from "../../decide/compare-text.ts";
import type { PathRule } from "../../decide/decision.ts";

/** The rules of one host, ready to look up in. */
export interface CompiledHost {
  readonly exact: ReadonlyMap<string, PathRule>;
  /** By path without a slash at its end; `/` is the empty string. */
  readonly prefix: ReadonlyMap<string, PathRule>;
  /** The longest text first. */
  readonly regexes: readonly CompiledRegex[];
  /** The namespaces of its services. */
  readonly namespaces: ReadonlySet<string>;
}

/** The rule that a request leads to, and the host as its Ingress writes it. */
export interface FoundRule {
  readonly host: string;
  readonly rule: PathRule;
}

interface CompiledRegex {
  readonly rule: PathRule;
  readonly expression: RE2JS;
}

/** The first of two equal rules stands. */
export function compileHost(rules: readonly PathRule[]): CompiledHost {
  const exact = new Map<string, PathRule>();
  const prefix = new Map<string, PathRule>();
  const regexes = new Map<string, PathRule>();
  const known = { Exact: exact, Prefix: prefix, Regex: regexes };
  for (const rule of rules) {
    const path = rule.type === "Prefix" ? withoutSlashAtEnd(rule.path) : rule.path;
    if (!known[rule.type].has(path)) known[rule.type].set(path, rule);
  }
  const longestFirst = [...regexes.values()].sort(
    (one, other) =>
      textLength(other.path) - textLength(one.path) || compareText(one.path, other.path),
  );
  const namespaces = new Set(rules.map(namespaceOf));
  return { exact, prefix, regexes: longestFirst.map(compileRegex), namespaces };
}

/**
 * The host as it is, then with its first label as a wildcard, then `*`: the first that has a rule
 * for the path decides. The rule must be of the namespace that has the first of these hosts, for pages
 * of one host trust each other. `path` is decoded and has no query, as nginx's `$uri`.
 */
export function findRule(
  findHost: (name: string) => CompiledHost | undefined,
  name: string,
  path: string,
): FoundRule | undefined {
  let owners: ReadonlySet<string> | undefined;
  for (const candidate of hostsFor(name)) {
    const host = findHost(candidate);
    const rule = host === undefined ? undefined : matchPath(host, path);
    const mayServe = owners === undefined || rule?.isForAll === true;
    if (rule !== undefined && (mayServe || owners?.has(namespaceOf(rule)) === true)) {
      return { host: candidate, rule };
    }
    owners ??= host?.namespaces;
  }
  return undefined;
}

/** The host as it is, then with its first label as a wildcard, then any. */
export function hostsFor(name: string): readonly string[] {
  const dot = name.indexOf(".");
  return [name, ...(dot < 0 ? [] : [`*${name.slice(dot)}`]), "*"];
}

/** Ingresses lead to services of their own namespace. */
function namespaceOf({ service }: PathRule): string {
  return service.slice(0, Math.max(0, service.indexOf("/")));
}

/**
 * An Exact rule; else, of the Prefix rules, compared element by element, and the Regex rules that
 * match, the one whose path is the longest text; of equally long ones the Prefix.
 */
export function matchPath(host: CompiledHost, path: string): PathRule | undefined {
  const exact = host.exact.get(path);
  if (exact !== undefined) return exact;
  const prefix = longestPrefix(host, path);
  const least = prefix === undefined ? 0 : prefixLength(prefix);
  const regex = host.regexes.find(
    ({ rule, expression }) => textLength(rule.path) > least && expression.matcher(path).lookingAt(),
  );
  return regex?.rule ?? prefix;
}

function longestPrefix(host: CompiledHost, path: string): PathRule | undefined {
  let candidate = path;
  for (;;) {
    const rule = host.prefix.get(candidate);
    if (rule !== undefined) return rule;
    const slash = candidate.lastIndexOf("/");
    if (slash < 0) return undefined;
    candidate = candidate.slice(0, slash);
  }
}

/** As nginx matches it: from the start of the path on, whatever the case. */
function compileRegex(rule: PathRule): CompiledRegex {
  return { rule, expression: RE2JS.compile(rule.path, RE2JS.CASE_INSENSITIVE) };
}

function prefixLength({ path }: PathRule): number {
  return Math.max(1, textLength(withoutSlashAtEnd(path)));
}

/** In bytes, as nginx sees it. */
function textLength(path: string): number {
  return Buffer.byteLength(path);
}

function withoutSlashAtEnd(path: string): string {
  return path.replace(/\/+$/, "");
}
