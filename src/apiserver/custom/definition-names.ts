// Decides the names of a definition. A name is used once in a group. Accepted names stay accepted; a name
// of another definition is refused in the condition NamesAccepted.
import { isDeepStrictEqual } from "node:util";
import { objectAt } from "../kinds/fields.ts";
import type { KubeObject } from "../kube-object.ts";
import {
  acceptedNames,
  type ConditionUpdate,
  conditionOf,
  type DefinitionNames,
  groupOf,
  requestedNames,
  withCondition,
} from "./definition.ts";

/** The definition with its names decided; the same object when there is nothing to decide. */
export function decideNames(
  definition: KubeObject,
  all: readonly KubeObject[],
  now: string,
): KubeObject {
  const requested = requestedNames(definition);
  const accepted = acceptedNames(definition);
  if (isDeepStrictEqual(requested, accepted)) return definition;
  const { names, decision } = decide(requested, accepted, namesInUse(definition, all));
  const known = conditionOf(definition, "NamesAccepted");
  const isDecided =
    known?.status === decision.status &&
    known.reason === decision.reason &&
    known.message === decision.message;
  if (isDecided && isDeepStrictEqual(names, accepted)) return definition;
  const status = { ...objectAt(definition, "status"), acceptedNames: shownNames(names) };
  const decided = withCondition({ ...definition, status }, decision, now);
  return withCondition(decided, establishedAfter(definition, decision), now);
}

interface UsedNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

/** The accepted names of all definitions of the group. */
function namesInUse(definition: KubeObject, all: readonly KubeObject[]): UsedNames {
  const group = groupOf(definition);
  const names = all.filter((other) => groupOf(other) === group).map(acceptedNames);
  return {
    resources: new Set(names.flatMap((one) => [one.plural, one.singular, ...one.shortNames])),
    kinds: new Set(names.flatMap((one) => [one.kind, one.listKind])),
  };
}

function decide(
  requested: DefinitionNames,
  accepted: DefinitionNames,
  used: UsedNames,
): { names: DefinitionNames; decision: ConditionUpdate } {
  let refusal: ConditionUpdate | undefined;
  const conflict = (reason: string, message: string) => {
    refusal = { type: "NamesAccepted", status: "False", reason, message };
  };
  const take = (field: "plural" | "singular" | "kind" | "listKind", reason: string) => {
    const taken = field === "kind" || field === "listKind" ? used.kinds : used.resources;
    const name = requested[field];
    if (name === accepted[field] || !taken.has(name)) return name;
    conflict(reason, inUse(name));
    return accepted[field];
  };
  const plural = take("plural", "PluralConflict");
  const singular = take("singular", "SingularConflict");
  const refused = requested.shortNames.filter(
    (name) => !accepted.shortNames.includes(name) && used.resources.has(name),
  );
  if (refused.length > 0) {
    const messages = refused.map(inUse);
    const message = messages.length === 1 ? messages[0] : `[${messages.join(", ")}]`;
    conflict("ShortNamesConflict", message ?? "");
  }
  const shortNames = refused.length > 0 ? accepted.shortNames : requested.shortNames;
  const kind = take("kind", "KindConflict");
  const listKind = take("listKind", "ListKindConflict");
  const { categories } = requested;
  return {
    names: { plural, singular, shortNames, kind, listKind, categories },
    decision: refusal ?? {
      type: "NamesAccepted",
      status: "True",
      reason: "NoConflicts",
      message: "no conflicts found",
    },
  };
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

/** Established never becomes False again. */
function establishedAfter(definition: KubeObject, decision: ConditionUpdate): ConditionUpdate {
  const old = conditionOf(definition, "Established");
  if (old?.status !== "True" && decision.status === "True") {
    return {
      type: "Established",
      status: "False",
      reason: "Installing",
      message: "the initial names have been accepted",
    };
  }
  return (
    old ?? {
      type: "Established",
      status: "False",
      reason: "NotAccepted",
      message: "not all names are accepted",
    }
  );
}

function shownNames(names: DefinitionNames): object {
  const { plural, singular, shortNames, kind, listKind, categories } = names;
  return {
    ...(categories.length === 0 ? {} : { categories }),
    kind,
    ...(listKind === "" ? {} : { listKind }),
    plural,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(singular === "" ? {} : { singular }),
  };
}
