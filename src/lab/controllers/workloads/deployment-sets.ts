// The ReplicaSets of a Deployment: which one is of the current template, which are old, and how a
// new one begins.
import {
  optionalNumber,
  type RawRecord,
  recordAt,
  stringMapAt,
} from "../../../kube/kinds/fields.ts";
import type { StringMap } from "../../../kube/kinds/intern.ts";
import { sameJson } from "../../../kube/kinds/same-json.ts";
import {
  numberIn,
  ownedBy,
  typeOf,
  type WholeObject,
  wholeDeployments,
  wholeReplicaSets,
} from "../whole-object.ts";
import { type RolloutLimits, rolloutLimits, type SetSize } from "./rollout.ts";

export const revisionAnnotation = "deployment.kubernetes.io/revision";
const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
const maxReplicasAnnotation = "deployment.kubernetes.io/max-replicas";
const hashLabel = "pod-template-hash";

/** deployment_util.go annotationsToSkip: what is the Deployment's own business, or the set's. */
const ownAnnotations: ReadonlySet<string> = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.deployment.rollback.to",
  "deployment.kubernetes.io/revision-history",
  revisionAnnotation,
  desiredAnnotation,
  maxReplicasAnnotation,
]);

export function limitsOf(deployment: WholeObject): RolloutLimits {
  const strategy = recordAt(specOf(deployment), "strategy");
  const replicas = numberIn(deployment, "spec", "replicas");
  return strategy["type"] === "Recreate"
    ? { replicas, maxSurge: 0, maxUnavailable: 0 }
    : rolloutLimits({ replicas, strategy: recordAt(strategy, "rollingUpdate") });
}

/** The set made from the Deployment's template; of several, the oldest. */
export function newSetOf(
  deployment: WholeObject,
  oldestFirst: readonly WholeObject[],
): WholeObject | undefined {
  const template = recordAt(specOf(deployment), "template");
  return oldestFirst.find((set) =>
    sameJson(withoutHash(recordAt(specOf(set), "template")), template),
  );
}

export function oldestFirst(sets: Iterable<WholeObject>): readonly WholeObject[] {
  return [...sets].sort(({ metadata: one }, { metadata: other }) => {
    const difference = (one.creationTimestamp ?? 0) - (other.creationTimestamp ?? 0);
    return difference === 0 ? (one.name < other.name ? -1 : 1) : difference;
  });
}

export function sizeOf(set: WholeObject): SetSize {
  const wanted = numberIn(set, "spec", "replicas");
  const maxReplicas = Number(set.annotations[maxReplicasAnnotation] ?? wanted);
  const available = numberIn(set, "status", "availableReplicas");
  return { name: set.metadata.name, wanted, available, maxReplicas };
}

export function revisionOf({ annotations }: WholeObject): number {
  return Number(annotations[revisionAnnotation] ?? 0);
}

/** Whether the Deployment was scaled since the set's size was last decided. */
export function wasScaled(deployment: WholeObject, set: WholeObject): boolean {
  const desired = set.annotations[desiredAnnotation];
  const replicas = numberIn(deployment, "spec", "replicas");
  return (
    numberIn(set, "spec", "replicas") > 0 && desired !== undefined && Number(desired) !== replicas
  );
}

/** Values of its Deployment that a set keeps, besides the revision. */
export function sizeAnnotations({ replicas, maxSurge }: RolloutLimits): StringMap {
  return {
    [desiredAnnotation]: String(replicas),
    [maxReplicasAnnotation]: String(replicas + maxSurge),
  };
}

/** Those that a Deployment's present set has too: why it was changed, for one. */
export function sharedAnnotations({ annotations }: WholeObject): StringMap {
  return Object.fromEntries(
    Object.entries(annotations).filter(([name]) => !ownAnnotations.has(name)),
  );
}

/** The body of a POST. Its name comes from the template, so that it cannot be made twice. */
export function newSetBody(
  deployment: WholeObject,
  size: { readonly replicas: number; readonly revision: number; readonly limits: RolloutLimits },
): RawRecord {
  const spec = specOf(deployment);
  const template = recordAt(spec, "template");
  const hash = templateHash(
    template,
    optionalNumber(recordAt(deployment.raw, "status"), "collisionCount") ?? 0,
  );
  const { namespace, name } = deployment.metadata;
  const labels = { ...stringMapAt(recordAt(template, "metadata"), "labels"), [hashLabel]: hash };
  const selector = recordAt(spec, "selector");
  return {
    ...typeOf(wholeReplicaSets),
    metadata: {
      namespace,
      name: `${name}-${hash}`,
      labels,
      annotations: {
        ...sharedAnnotations(deployment),
        ...sizeAnnotations(size.limits),
        [revisionAnnotation]: String(size.revision),
      },
      ownerReferences: [ownedBy(wholeDeployments, deployment.metadata)],
    },
    spec: {
      replicas: size.replicas,
      ...("minReadySeconds" in spec ? { minReadySeconds: spec["minReadySeconds"] } : {}),
      selector: {
        ...selector,
        matchLabels: { ...stringMapAt(selector, "matchLabels"), [hashLabel]: hash },
      },
      template: { ...template, metadata: { ...recordAt(template, "metadata"), labels } },
    },
  };
}

function specOf(object: WholeObject): RawRecord {
  return recordAt(object.raw, "spec");
}

function withoutHash(template: RawRecord): RawRecord {
  const metadata = recordAt(template, "metadata");
  const { [hashLabel]: _, ...labels } = stringMapAt(metadata, "labels");
  return { ...template, metadata: { ...metadata, labels } };
}

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;

/** No vowels and no letters that look alike: names should not spell words. */
const alphabet = "bcdfghjklmnpqrstvwxz2456789";

function templateHash(template: unknown, collisions: number): string {
  let hash = offsetBasis;
  for (const byte of Buffer.from(`${canonical(template)}${collisions === 0 ? "" : collisions}`)) {
    hash = Math.imul(hash ^ byte, prime) >>> 0;
  }
  return Array.from(String(hash), safeLetter).join("");
}

function safeLetter(digit: string): string {
  return alphabet[digit.charCodeAt(0) % alphabet.length] ?? "";
}

/** JSON that does not depend on the order in which fields were written. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === "object" && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)))
      : part,
  );
}
