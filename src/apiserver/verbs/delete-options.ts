// The options of a DELETE, from its body or, where the body has none, from the query.
import { badRequest } from "../decode/body.ts";
import { FieldErrors } from "../kinds/field-errors.ts";
import { type JsonObject, numberAt, textAt, textsAt, valueAt } from "../kinds/fields.ts";

const policies = ["Foreground", "Background", "Orphan"] as const;

export type PropagationPolicy = (typeof policies)[number];

export interface DeleteOptions {
  readonly gracePeriodSeconds: number | undefined;
  readonly propagationPolicy: PropagationPolicy | undefined;
  readonly preconditions: {
    readonly uid: string | undefined;
    readonly resourceVersion: string | undefined;
  };
  readonly dryRun: boolean;
}

/** `body` conforms to `meta.v1.DeleteOptions`, or is undefined when the request had none. */
export function readDeleteOptions(
  body: JsonObject | undefined,
  query: URLSearchParams,
): DeleteOptions {
  const given = body ?? fromQuery(query);
  const orphan = valueAt(given, "orphanDependents");
  const policy = textAt(given, "propagationPolicy") || legacyPolicy(orphan);
  const dryRun = textsAt(given, "dryRun");
  const errors = new FieldErrors();
  if (policy !== "" && !isPolicy(policy)) {
    errors.notSupported("propagationPolicy", policy, [...policies, "nil"]);
  }
  if (dryRun.some((value) => value !== "All")) {
    errors.notSupported("dryRun", dryRun, ["All"]);
  }
  if (
    valueAt(given, "orphanDependents") !== undefined &&
    textAt(given, "propagationPolicy") !== ""
  ) {
    const detail = "orphanDependents and deletionPropagation cannot be both set";
    errors.invalid("propagationPolicy", policy, detail);
  }
  errors.throwIfAny({ group: "meta.k8s.io", kind: "DeleteOptions" }, "");
  return {
    gracePeriodSeconds: numberAt(given, "gracePeriodSeconds"),
    propagationPolicy: isPolicy(policy) ? policy : undefined,
    preconditions: {
      uid: textAt(given, "preconditions", "uid") || undefined,
      resourceVersion: textAt(given, "preconditions", "resourceVersion") || undefined,
    },
    dryRun: dryRun.length > 0,
  };
}

function legacyPolicy(orphan: unknown): string {
  if (orphan === undefined) {
    return "";
  }
  return orphan === true ? "Orphan" : "Background";
}

function isPolicy(text: string): text is PropagationPolicy {
  return policies.some((policy) => policy === text);
}

function fromQuery(query: URLSearchParams): JsonObject {
  const grace = query.get("gracePeriodSeconds");
  if (grace !== null && !/^-?\d+$/.test(grace)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(grace)}: invalid syntax`);
  }
  const orphan = query.get("orphanDependents");
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(orphan === null ? {} : { orphanDependents: orphan === "true" }),
    propagationPolicy: query.get("propagationPolicy") ?? "",
    dryRun: query.getAll("dryRun"),
  };
}
