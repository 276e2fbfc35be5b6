// One rule of a role: whether it allows a request, which other rules it covers, and its text in
// messages.
import { type JsonObject, textsAt } from "../kinds/fields.ts";
import type { Attributes } from "./attributes.ts";

export interface PolicyRule {
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

export function readRule(rule: JsonObject): PolicyRule {
  return {
    verbs: textsAt(rule, "verbs"),
    apiGroups: textsAt(rule, "apiGroups"),
    resources: textsAt(rule, "resources"),
    resourceNames: textsAt(rule, "resourceNames"),
    nonResourceURLs: textsAt(rule, "nonResourceURLs"),
  };
}

export function ruleAllows(rule: PolicyRule, asked: Attributes): boolean {
  if (!hasOrAll(rule.verbs, asked.verb)) return false;
  if (asked.type === "path") return rule.nonResourceURLs.some((url) => urlCovers(url, asked.path));
  const { group, resource, subresource, name } = asked;
  return (
    hasOrAll(rule.apiGroups, group) &&
    resourceMatches(rule.resources, resource, subresource) &&
    (rule.resourceNames.length === 0 || rule.resourceNames.includes(name))
  );
}

/** The part of the wanted rules that the held ones do not cover, verb by verb. */
export function uncovered(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] {
  return wanted
    .flatMap(singleRights)
    .filter((right) => !held.some((rule) => ruleCovers(rule, right)));
}

/** As the refusal lists them: the verbs of one resource together, in the order of their text. */
export function describeRights(rights: readonly PolicyRule[]): readonly string[] {
  const merged = new Map<string, PolicyRule>();
  for (const right of rights) {
    const { nonResourceURLs, verbs } = right;
    const isUrl = nonResourceURLs.length > 0;
    const key = JSON.stringify({ ...right, verbs: isUrl ? verbs : [] });
    const known = merged.get(key);
    merged.set(key, known === undefined ? right : { ...right, verbs: [...known.verbs, ...verbs] });
  }
  return [...new Set([...merged.values()].map(printed))].sort();
}

function hasOrAll(values: readonly string[], value: string): boolean {
  return values.includes("*") || values.includes(value);
}

function resourceMatches(
  resources: readonly string[],
  resource: string,
  subresource: string,
): boolean {
  if (subresource === "") return hasOrAll(resources, resource);
  return (
    hasOrAll(resources, `${resource}/${subresource}`) || resources.includes(`*/${subresource}`)
  );
}

function urlCovers(owned: string, path: string): boolean {
  if (owned === path) return true;
  return owned.endsWith("*") && path.startsWith(owned.replace(/\*+$/, ""));
}

const nothing: PolicyRule = {
  verbs: [],
  apiGroups: [],
  resources: [],
  resourceNames: [],
  nonResourceURLs: [],
};

/** The same rights, each with one verb on one resource (of one name) or on one path. */
function singleRights(rule: PolicyRule): readonly PolicyRule[] {
  const names = rule.resourceNames.length === 0 ? [[]] : rule.resourceNames.map((name) => [name]);
  const rights: PolicyRule[] = [];
  for (const group of rule.apiGroups) {
    for (const resource of rule.resources) {
      for (const verb of rule.verbs) {
        for (const resourceNames of names) {
          const one = { verbs: [verb], apiGroups: [group], resources: [resource], resourceNames };
          rights.push({ ...nothing, ...one });
        }
      }
    }
  }
  for (const url of rule.nonResourceURLs) {
    for (const verb of rule.verbs)
      rights.push({ ...nothing, verbs: [verb], nonResourceURLs: [url] });
  }
  return rights;
}

/** `right` is one of `singleRights`. */
function ruleCovers(rule: PolicyRule, right: PolicyRule): boolean {
  const namesCovered =
    rule.resourceNames.length === 0 ||
    (right.resourceNames.length > 0 &&
      right.resourceNames.every((name) => rule.resourceNames.includes(name)));
  return (
    right.verbs.every((verb) => hasOrAll(rule.verbs, verb)) &&
    right.apiGroups.every((group) => hasOrAll(rule.apiGroups, group)) &&
    right.resources.every((resource) => resourceCovered(rule.resources, resource)) &&
    right.nonResourceURLs.every((url) => rule.nonResourceURLs.some((own) => urlCovers(own, url))) &&
    namesCovered
  );
}

function resourceCovered(resources: readonly string[], resource: string): boolean {
  if (hasOrAll(resources, resource)) return true;
  const slash = resource.indexOf("/");
  return slash >= 0 && resources.includes(`*${resource.slice(slash)}`);
}

function printed(rule: PolicyRule): string {
  const parts = [
    list("APIGroups", rule.apiGroups),
    list("Resources", rule.resources),
    list("NonResourceURLs", rule.nonResourceURLs),
    list("ResourceNames", rule.resourceNames),
    list("Verbs", rule.verbs),
  ];
  return `{${parts.filter((part) => part !== "").join(", ")}}`;
}

function list(name: string, values: readonly string[]): string {
  return values.length === 0 ? "" : `${name}:${quotedList(values)}`;
}

/** As Go's %q prints a slice. */
export function quotedList(values: readonly string[]): string {
  return `[${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}
