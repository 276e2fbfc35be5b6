// To which rule a request leads: the twin of proxy/lua/lockstep/route.lua, used where there is no
// nginx. Both pass the cases of proxy/cases/route.json; a rule changes in both or in neither.
import { RE2JS } from "re2js";
import { compareText } from "../../decide/compare-text.ts";
import type { PathRule } from "../../decide/decision.ts";
import type { FieldCondition, RouteConditions } from "../../decide/route-conditions.ts";

/** The rules of one host, ready to look up in. */
export interface CompiledHost {
  readonly exact: ReadonlyMap<string, readonly PathRule[]>;
  /** By path without a slash at its end; `/` is the empty string. */
  readonly prefix: ReadonlyMap<string, readonly PathRule[]>;
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
  readonly path: string;
  readonly rules: readonly PathRule[];
  readonly expression: RE2JS;
}

/** The parts of a request, besides host and path, that rules have conditions on. */
export interface AskedRequest {
  /** Undefined for any. */
  readonly port: number | undefined;
  /** Of the proxy; any when absent. */
  readonly address?: string;
  readonly method: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded; of a name that is there more than once the first. */
  readonly query: Readonly<Record<string, string>>;
}

/** Of one path they are tried in their order, and nothing after one that asks for no more. */
export function compileHost(rules: readonly PathRule[]): CompiledHost {
  const exact = new Map<string, PathRule[]>();
  const prefix = new Map<string, PathRule[]>();
  const regexes = new Map<string, PathRule[]>();
  const known = { Exact: exact, Prefix: prefix, Regex: regexes };
  for (const rule of rules) {
    const path = rule.type === "Prefix" ? withoutSlashAtEnd(rule.path) : rule.path;
    const ofPath = known[rule.type].get(path);
    if (ofPath === undefined) known[rule.type].set(path, [rule]);
    else if (ofPath.at(-1)?.when !== undefined) ofPath.push(rule);
  }
  const longestFirst = [...regexes].sort(
    ([one], [other]) => textLength(other) - textLength(one) || compareText(one, other),
  );
  const namespaces = new Set(rules.map(namespaceOf));
  return { exact, prefix, regexes: longestFirst.map(compileRegex), namespaces };
}

/**
 * The host as it is, then with its first label as a wildcard, then under names like `**.example.com` for
 * any number of labels, then `*`: the first that has a rule for the request decides. The rule must be of the namespace that has the first of these hosts, for pages
 * of one host trust each other. `path` is decoded and has no query, as nginx's `$uri`.
 */
export function findRule(
  findHost: (name: string) => CompiledHost | undefined,
  name: string,
  path: string,
  asked?: AskedRequest,
): FoundRule | undefined {
  let owners: ReadonlySet<string> | undefined;
  for (const candidate of hostsFor(name)) {
    const host = findHost(candidate);
    const rule = host === undefined ? undefined : matchPath(host, path, asked);
    const mayServe = owners === undefined || rule?.isForAll === true;
    if (rule !== undefined && (mayServe || owners?.has(namespaceOf(rule)) === true)) {
      return { host: candidate, rule };
    }
    owners ??= host?.namespaces;
  }
  return undefined;
}

/** The names under which a host is looked up, in their order. */
export function hostsFor(name: string): readonly string[] {
  const dot = name.indexOf(".");
  const deep: string[] = [];
  for (let at = dot; at >= 0; at = name.indexOf(".", at + 1)) deep.push(`**${name.slice(at)}`);
  return [name, ...(dot < 0 ? [] : [`*${name.slice(dot)}`]), ...deep, "*"];
}

/** Ingresses lead to services of their own namespace; others name the one that has the host. */
function namespaceOf({ service, holder }: PathRule): string {
  return holder ?? service.slice(0, Math.max(0, service.indexOf("/")));
}

/**
 * An Exact rule; else, of the Prefix rules, compared element by element, and the Regex rules that
 * match, the one whose path is the longest text; of equally long ones the Prefix.
 */
export function matchPath(
  host: CompiledHost,
  path: string,
  asked?: AskedRequest,
): PathRule | undefined {
  const exact = firstHolding(host.exact.get(path), path, asked);
  if (exact !== undefined) return exact;
  const prefix = longestPrefix(host, path, asked);
  const least = prefix === undefined ? 0 : prefixLength(prefix);
  for (const { path: text, rules, expression } of host.regexes) {
    if (textLength(text) <= least) return prefix;
    const rule = expression.matcher(path).lookingAt()
      ? firstHolding(rules, path, asked)
      : undefined;
    if (rule !== undefined) return rule;
  }
  return prefix;
}

function firstHolding(
  rules: readonly PathRule[] = [],
  path: string,
  asked: AskedRequest | undefined,
): PathRule | undefined {
  return rules.find(
    ({ when }) => when === undefined || (asked !== undefined && holds(when, path, asked)),
  );
}

/** The twin of proxy/lua/lockstep/conditions.lua. */
function holds(
  { ports, addresses, method, elements, headers, query }: RouteConditions,
  path: string,
  asked: AskedRequest,
): boolean {
  const hasHeader = (one: FieldCondition) => fits(one, asked.headers[one.name.toLowerCase()]);
  const hasParameter = (one: FieldCondition) => fits(one, asked.query[one.name]);
  return (
    (asked.port === undefined || ports?.includes(asked.port) !== false) &&
    (asked.address === undefined || addresses?.includes(asked.address) !== false) &&
    (method === undefined || method === asked.method) &&
    (elements === undefined || haveElements(path, elements)) &&
    headers?.every(hasHeader) !== false &&
    query?.every(hasParameter) !== false
  );
}

function haveElements(path: string, conditions: readonly FieldCondition[]): boolean {
  const [, ...elements] = /^\/([^/]+)\/([^/]+)$/.exec(path) ?? [];
  return conditions.every((one) => fits(one, elements[Number(one.name) - 1]));
}

function fits({ value, pattern }: FieldCondition, found: string | undefined): boolean {
  if (found === undefined) return false;
  return pattern === undefined ? found === value : RE2JS.compile(pattern).matcher(found).find();
}

function longestPrefix(
  host: CompiledHost,
  path: string,
  asked: AskedRequest | undefined,
): PathRule | undefined {
  let candidate = path;
  for (;;) {
    const rule = firstHolding(host.prefix.get(candidate), path, asked);
    if (rule !== undefined) return rule;
    const slash = candidate.lastIndexOf("/");
    if (slash < 0) return undefined;
    candidate = candidate.slice(0, slash);
  }
}

/** As nginx matches it: from the start of the path on, whatever the case. */
function compileRegex([path, rules]: [string, readonly PathRule[]]): CompiledRegex {
  return { path, rules, expression: RE2JS.compile(path, RE2JS.CASE_INSENSITIVE) };
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
