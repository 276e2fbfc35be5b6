// Differences of two bodies of evidence, such as a cluster with a problem and a healthy one:
// versions, flags, roles, and labels that Kubernetes gives a meaning. Only what both sides show is
// compared; a flag that only one side sets counts, if both sides show flags.
import type { TextFacts } from "../evidence/text-reader.ts";

export interface Difference {
  /** `flag --kube-api-qps`. */
  readonly what: string;
  readonly here: string;
  readonly there: string;
}

/** Labels of users differ between clusters without a meaning. */
const knownLabel = /(?:^|\.)(?:k8s|kubernetes)\.io\//;

const unset = "not set";

export function differencesOf(here: TextFacts, there: TextFacts): readonly Difference[] {
  return [
    ...versions(here, there),
    ...flags(here, there),
    ...roles(here, there),
    ...labels(here, there),
  ];
}

function versions(here: TextFacts, there: TextFacts): readonly Difference[] {
  const [own, other] = [here.settings.version?.value, there.settings.version?.value];
  if (own === undefined || other === undefined || own === other) return [];
  return [{ what: "version", here: own, there: other }];
}

function flags(here: TextFacts, there: TextFacts): readonly Difference[] {
  const [own, other] = [here.settings.flags, there.settings.flags];
  if (own.size === 0 || other.size === 0) return [];
  return [...new Set([...own.keys(), ...other.keys()])].sort().flatMap((name) => {
    const [value = unset, otherValue = unset] = [own.get(name)?.value, other.get(name)?.value];
    if (value === otherValue) return [];
    return [{ what: `flag --${name}`, here: value, there: otherValue }];
  });
}

/** Roles of the same name with other permissions. */
function roles(here: TextFacts, there: TextFacts): readonly Difference[] {
  return [...here.objects.roles].flatMap(([name, own]) => {
    const other = there.objects.roles.get(name);
    if (other === undefined) return [];
    const missing = [...other].filter((permission) => !own.has(permission));
    const added = [...own].filter((permission) => !other.has(permission));
    return [
      ...missing.map((what) => ({ what: `${name}: ${what}`, here: "missing", there: "allowed" })),
      ...added.map((what) => ({ what: `${name}: ${what}`, here: "allowed", there: "missing" })),
    ];
  });
}

/** Labels that Endpoints of one side have and those of the other side never have. */
function labels(here: TextFacts, there: TextFacts): readonly Difference[] {
  const [own, other] = [labelCounts(here), labelCounts(there)];
  if (here.objects.endpoints.size === 0 || there.objects.endpoints.size === 0) return [];
  return [...new Set([...own.keys(), ...other.keys()])].sort().flatMap((key) => {
    const [count, otherCount] = [own.get(key) ?? 0, other.get(key) ?? 0];
    if (count > 0 && otherCount > 0) return [];
    const what = `Endpoints with the label ${key}`;
    return [{ what, here: String(count), there: String(otherCount) }];
  });
}

function labelCounts({ objects }: TextFacts): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { labels: own } of objects.endpoints.values()) {
    for (const key of Object.keys(own)) {
      if (knownLabel.test(key)) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return counts;
}
