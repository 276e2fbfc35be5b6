// The rules of one host as they are pushed to nginx. A policy is an entry of its own, under a key that
// stands for its content: a thousand rules that ask for the same refer to one text. A rule has only what
// differs from path to path, its canaries and whether its path is that of its cookie. The twin of
// proxy/lua/lockstep/host_entry.lua and policy.lua.
import { createHash } from "node:crypto";
import type { PathRule } from "../../decide/decision.ts";
import type { Canary, RoutePolicy } from "../../decide/route-policy.ts";
import { atOnce, type Steps } from "../../environment/steps.ts";

export interface PushedRule
  extends Pick<PathRule, "path" | "type" | "service" | "isForAll" | "when" | "holder"> {
  /** The key of its policy. */
  readonly policy?: string;
  readonly canaries?: readonly Canary[];
  /** The cookie by which sessions are kept has the rule's path. */
  readonly isCookiePath?: true;
}

/** A host with rules of its own; the name of the host whose rules it has; false when it is left out. */
export type HostEntry = readonly PushedRule[] | string | false;

export interface PushedHost {
  readonly rules: readonly PushedRule[];
  /** By key, every policy that a rule names. */
  readonly policies: ReadonlyMap<string, RoutePolicy>;
}

/** Keys begin with the namespace: policies of two are never one entry, whatever they ask for. */
export function pushedHost(rules: readonly PathRule[], namespace: string): PushedHost {
  return atOnce(pushedInSteps(rules, namespace));
}

export function* pushedInSteps(rules: readonly PathRule[], namespace: string): Steps<PushedHost> {
  const policies = new Map<string, RoutePolicy>();
  const pushed: PushedRule[] = [];
  for (const rule of rules) {
    pushed.push(pushedRule(rule, namespace, policies));
    yield;
  }
  return { rules: pushed, policies };
}

/** Its policy is added to the others. */
function pushedRule(
  { path, type, service, policy, isForAll, when, holder }: PathRule,
  namespace: string,
  policies: Map<string, RoutePolicy>,
): PushedRule {
  const rule = {
    path,
    type,
    service,
    ...(isForAll && { isForAll }),
    ...(when && { when }),
    ...(holder !== undefined && { holder }),
  };
  if (policy === undefined) return rule;
  const { canaries, isCookiePath, shared } = parted(policy, path);
  const digest = digestOf(shared);
  const key = `${namespace}/${digest}`;
  if (digest !== nothingShared) policies.set(key, shared);
  return {
    ...rule,
    ...(digest !== nothingShared && { policy: key }),
    ...(canaries !== undefined && { canaries }),
    ...(isCookiePath && { isCookiePath }),
  };
}

/** The rules as they are pushed. */
export function* rulesText(rules: readonly PushedRule[]): Steps<string> {
  const texts: string[] = [];
  for (const rule of rules) {
    texts.push(JSON.stringify(rule));
    yield;
  }
  return `[${texts.join(",")}]`;
}

/** The policy of a pushed rule, whole again; a policy that is not there closes the route. */
export function policyOf(
  rule: PushedRule,
  shared: (key: string) => RoutePolicy | undefined,
): RoutePolicy | undefined {
  const { policy, canaries, isCookiePath, path } = rule;
  if (policy === undefined && canaries === undefined) return undefined;
  const found = policy === undefined ? {} : (shared(policy) ?? { closed: true });
  const { balance } = found;
  const affinity = isCookiePath && balance?.affinity && { ...balance.affinity, path };
  return {
    ...found,
    ...(canaries !== undefined && { canaries }),
    ...(affinity && balance && { balance: { ...balance, affinity } }),
  };
}

interface Parted {
  readonly canaries: readonly Canary[] | undefined;
  readonly isCookiePath: true | undefined;
  readonly shared: RoutePolicy;
}

function parted(policy: RoutePolicy, path: string): Parted {
  const { canaries, ...shared } = policy;
  const { balance } = shared;
  if (balance?.affinity?.path !== path) {
    // The same object for all rules, where it can be: its digest is found once then.
    return { canaries, isCookiePath: undefined, shared: canaries === undefined ? policy : shared };
  }
  const { path: _, ...affinity } = balance.affinity;
  return { canaries, isCookiePath: true, shared: { ...shared, balance: { ...balance, affinity } } };
}

interface Field {
  readonly text: string;
  readonly digest: string;
}

/** Of lists and objects: rules of one Ingress share them, and a list may have a thousand networks. */
const fields = new WeakMap<object, Field>();

function fieldOf(value: object): Field {
  const known = fields.get(value);
  if (known !== undefined) return known;
  const text = JSON.stringify(value);
  const field = { text, digest: hash(text) };
  fields.set(value, field);
  return field;
}

const digests = new WeakMap<RoutePolicy, string>();

function digestOf(policy: RoutePolicy): string {
  const digest = digests.get(policy) ?? newDigest(policy);
  digests.set(policy, digest);
  return digest;
}

function newDigest(policy: RoutePolicy): string {
  const parts = Object.entries(policy).map(([name, value]: [string, unknown]) => [
    name,
    typeof value === "object" && value !== null ? fieldOf(value).digest : value,
  ]);
  return parts.length === 0 ? nothingShared : hash(JSON.stringify(parts));
}

/** A policy as it is pushed. */
export function policyText(policy: RoutePolicy): string {
  const parts = Object.entries(policy).map(([name, value]: [string, unknown]) => {
    const isParted = typeof value === "object" && value !== null;
    return `${JSON.stringify(name)}:${isParted ? fieldOf(value).text : JSON.stringify(value)}`;
  });
  return `{${parts.join(",")}}`;
}

/** Of a policy in which nothing is asked for. */
const nothingShared = "";

/** 128 bits, so that no two contents ever have the same key. */
const digestLength = 22;

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, digestLength);
}
