// The order of versions as clients prefer them: stable before beta before alpha, newer before
// older, and others by name behind these. And what is said of versions that are deprecated.
import type { KubeObject } from "../kube-object.ts";
import { acceptedNames, type DefinitionVersion, groupOf, versionsOf } from "./definition.ts";

const stages = ["alpha", "beta", ""];

/** Negative when `a` is preferred. */
export function compareVersions(a: string, b: string): number {
  const x = parse(a);
  const y = parse(b);
  if (x === undefined || y === undefined) {
    if (x !== undefined) return -1;
    if (y !== undefined) return 1;
    return a < b ? -1 : Number(a > b);
  }
  return y.stage - x.stage || y.major - x.major || y.minor - x.minor;
}

/** Sent with the answer to every request on the version. */
export function deprecationWarnings(
  definition: KubeObject,
  version: DefinitionVersion,
): readonly string[] {
  if (!version.isDeprecated) return [];
  if (version.deprecationWarning !== undefined) return [version.deprecationWarning];
  const group = groupOf(definition);
  const { kind } = acceptedNames(definition);
  const [better] = versionsOf(definition)
    .filter((one) => one.isServed && !one.isDeprecated)
    .map((one) => one.name)
    .filter((name) => compareVersions(name, version.name) < 0)
    .sort(compareVersions);
  const instead = better === undefined ? "" : `; use ${group}/${better} ${kind}`;
  return [`${group}/${version.name} ${kind} is deprecated${instead}`];
}

interface KubeVersion {
  readonly stage: number;
  readonly major: number;
  readonly minor: number;
}

/** `v1`, `v2beta3`; undefined for other names. */
function parse(name: string): KubeVersion | undefined {
  const found = /^v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?$/.exec(name);
  if (found === null) return undefined;
  const [, major, stage = "", minor = "0"] = found;
  return { stage: stages.indexOf(stage), major: Number(major), minor: Number(minor) };
}
