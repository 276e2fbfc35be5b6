// The settings of one service: from its annotations, else from the configuration. A service of
// several clusters has a Service in each. If they disagree about a shared setting, the one in the
// access cluster counts, else the first by name. Invalid settings are reported and left out.
import type { Service } from "../../kube/kinds/service.ts";
import type { ServiceInCluster, ServiceSnapshot } from "../../model/service-snapshot.ts";
import { compareText } from "../compare-text.ts";
import { shown } from "../routing/shown-text.ts";
import {
  defaultSpread,
  defaultUnreachable,
  defaultUnreachableAfterMs,
  followSlicesAnnotation,
  type Spread,
  spreadAnnotation,
  spreads,
  type TruthPolicy,
  type UnreachablePolicy,
  unreachableAnnotation,
  unreachablePolicies,
  weightAnnotation,
} from "./truth-policy.ts";

export interface ServiceSettings {
  readonly spread: Spread;
  /** By cluster, the shares that are asked for; undefined when none is. */
  readonly weights: ReadonlyMap<string, number> | undefined;
  /** By cluster, what its own service asks for, else the configuration for the cluster. */
  readonly unreachable: ReadonlyMap<string, UnreachablePolicy>;
  /** For clusters that ask for nothing. */
  readonly unreachableElse: UnreachablePolicy;
  readonly unreachableAfterMs: number;
  readonly problems: readonly string[];
}

const weightMax = 1_000;

export function followsSlices(service: Service, policy: TruthPolicy): boolean {
  return policy.followSlices || service.annotations[followSlicesAnnotation] === "true";
}

export function serviceSettings(snapshot: ServiceSnapshot, policy: TruthPolicy): ServiceSettings {
  const problems: string[] = [];
  const asked = {
    spread: readAll(snapshot, spreadAnnotation, oneOf(spreads), problems),
    weights: readAll(snapshot, weightAnnotation, weight, problems),
    unreachable: readAll(snapshot, unreachableAnnotation, oneOf(unreachablePolicies), problems),
  };
  // A share implies that the cluster gets requests.
  const isShared = [...asked.weights.values()].some((share) => share > 0);
  const [spread = isShared ? "even" : (policy.spread ?? defaultSpread), ...others] =
    asked.spread.values();
  if (others.some((other) => other !== spread)) {
    const said = [...asked.spread].map(([cluster, one]) => `${one} in ${cluster}`).join(", ");
    problems.push(
      `the service ${keyOf(snapshot)} has ${spreadAnnotation} ${said}; the first value is used`,
    );
  }
  const [askedElsewhere] = asked.unreachable.values();
  const configured = askedElsewhere === undefined ? policy.unreachableIn : undefined;
  return {
    spread,
    weights: asked.weights.size === 0 ? undefined : asked.weights,
    unreachable: new Map([...(configured ?? []), ...asked.unreachable]),
    unreachableElse: askedElsewhere ?? policy.unreachable ?? defaultUnreachable,
    unreachableAfterMs: policy.unreachableAfterMs ?? defaultUnreachableAfterMs,
    problems,
  };
}

interface Reader<T> {
  readonly allowed: string;
  readonly read: (text: string) => T | undefined;
}

const weight: Reader<number> = {
  allowed: `a whole number from 0 to ${weightMax}`,
  read: (text) => {
    const number = /^\d{1,4}$/.test(text) ? Number(text) : undefined;
    return number !== undefined && number <= weightMax ? number : undefined;
  },
};

function oneOf<T extends string>(values: readonly T[]): Reader<T> {
  return {
    allowed: `one of ${values.join(", ")}`,
    read: (text) => values.find((value) => value === text),
  };
}

/** By cluster, the one that counts most first. */
function readAll<T>(
  snapshot: ServiceSnapshot,
  annotation: string,
  { read, allowed }: Reader<T>,
  problems: string[],
): ReadonlyMap<string, T> {
  const found = new Map<string, T>();
  const asking = snapshot.clusters.filter(({ service }) => annotation in service.annotations);
  if (asking.length > 1) asking.sort((a, b) => byRank(snapshot, a, b));
  for (const { cluster, service } of asking) {
    const text = service.annotations[annotation] ?? "";
    const value = read(text);
    if (value !== undefined) {
      found.set(cluster, value);
      continue;
    }
    const where = `the service ${keyOf(snapshot)} in ${cluster}`;
    problems.push(`${where} has ${annotation}: ${shown(text)}, which is not ${allowed}`);
  }
  return found;
}

function byRank(
  { accessCluster }: ServiceSnapshot,
  a: ServiceInCluster,
  b: ServiceInCluster,
): number {
  const isLocal = ({ cluster }: ServiceInCluster) => (cluster === accessCluster ? 0 : 1);
  return isLocal(a) - isLocal(b) || compareText(a.cluster, b.cluster);
}

function keyOf({ namespace, name }: ServiceSnapshot): string {
  return `${namespace}/${name}`;
}
