// The form of an answer, from the Accept header: JSON or YAML, and the objects themselves or a
// conversion (`as=Table`). Order, qualities, wildcards and refusals are those of the real server: a
// router checks the media types first, then the negotiation checks their parameters. Answers are
// never protobuf: its clauses are skipped.
import { ApiError } from "../api-error.ts";

export type AnswerType = "application/json" | "application/yaml";

export interface Conversion {
  readonly kind: (typeof conversionKinds)[number];
  /** Of the group meta.k8s.io. */
  readonly version: (typeof conversionVersions)[number];
}

export interface Accepted {
  readonly mediaType: AnswerType;
  /** Indented. */
  readonly pretty: boolean;
  /** Undefined for the object itself. */
  readonly conversion: Conversion | undefined;
}

const conversionKinds = ["Table", "PartialObjectMetadata", "PartialObjectMetadataList"] as const;
const conversionVersions = ["v1", "v1beta1"] as const;
const answerTypes: readonly AnswerType[] = ["application/json", "application/yaml"];
const protobuf = "application/vnd.kubernetes.protobuf";
const objectTypes: readonly string[] = [...answerTypes, protobuf];
const streamTypes: readonly string[] = [
  "application/json;stream=watch",
  `${protobuf};stream=watch`,
];
const plainJson: Accepted = {
  mediaType: "application/json",
  pretty: false,
  conversion: undefined,
};

/** `asked` decides the media types of the path, which a refusal lists. */
export function negotiate(
  accept: string | undefined,
  asked: "object" | "list" | "watch" | "log",
): Accepted {
  if (isPlain(accept)) return plainJson;
  const representations = representationsOf(asked);
  const types = accept.split(",").map((clause) => (clause.split(";", 1)[0] ?? "").trim());
  if (!types.some((type) => type === "*/*" || representations.includes(type))) {
    const message = `406: Not Acceptable\n\nAvailable representations: ${representations.join(", ")}`;
    throw new ApiError(406, "NotAcceptable", message, {});
  }
  if (asked === "log") return plainJson;
  const accepted = firstAcceptable(accept, { allowConversion: true });
  if (accepted === undefined) throw notAcceptable(objectTypes);
  if (asked === "watch" && accepted.mediaType !== "application/json") {
    throw notAcceptable(streamTypes);
  }
  return accepted;
}

/** An error is not converted. It is indented JSON if the client accepts only other forms. */
export function negotiateRefusal(accept: string | undefined): Accepted {
  if (isPlain(accept)) return plainJson;
  return firstAcceptable(accept, { allowConversion: false }) ?? { ...plainJson, pretty: true };
}

/** A fast path: nearly all requests to a busy server. */
function isPlain(accept: string | undefined): accept is undefined | "" | "application/json" {
  return accept === undefined || accept.trim() === "" || accept === "application/json";
}

function representationsOf(asked: "object" | "list" | "watch" | "log"): readonly string[] {
  switch (asked) {
    case "object":
      return objectTypes;
    case "list":
    case "watch":
      return [...objectTypes, ...streamTypes];
    case "log":
      return ["text/plain", ...objectTypes];
  }
}

function notAcceptable(types: readonly string[]): ApiError {
  const message = `only the following media types are accepted: ${types.join(", ")}`;
  return new ApiError(406, "NotAcceptable", message);
}

interface Clause {
  readonly type: string;
  readonly subtype: string;
  readonly quality: number;
  readonly parameters: ReadonlyMap<string, string>;
}

function firstAcceptable(
  accept: string,
  options: { readonly allowConversion: boolean },
): Accepted | undefined {
  for (const clause of byPreference(accept.split(",").flatMap(parseClause))) {
    const mediaType = answerTypes.find((type) => matches(clause, type));
    const conversion = conversionOf(clause.parameters);
    const isAllowed = conversion === undefined || options.allowConversion;
    if (mediaType !== undefined && isAllowed && conversion !== "unknown" && isReadable(clause)) {
      return { mediaType, pretty: clause.parameters.get("pretty") === "1", conversion };
    }
  }
  return undefined;
}

/** A clause without a subtype, or with two, is ignored. */
function parseClause(text: string): readonly Clause[] {
  const [range = "", ...rest] = text.split(";");
  const [type = "", subtype = type.trim() === "*" ? "*" : "", more] = range.trim().split("/");
  if (subtype === "" || more !== undefined) return [];
  const parameters = new Map<string, string>();
  for (const parameter of rest) {
    const [key = "", value = "", another] = parameter.split("=");
    if (value !== "" && another === undefined) parameters.set(key.trim(), value.trim());
  }
  const quality = parameters.has("q") ? Number(parameters.get("q")) || 0 : 1;
  parameters.delete("q");
  return [{ type: type.trim(), subtype: subtype.trim(), quality, parameters }];
}

/**
 * Insertion sort, as in Go for few elements: the comparison is not a consistent order, so another
 * algorithm could prefer another clause. A quality of 0 is the lowest, not a refusal.
 */
function byPreference(clauses: readonly Clause[]): readonly Clause[] {
  const sorted: Clause[] = [];
  for (const clause of clauses) {
    let place = sorted.length;
    for (;;) {
      const before = sorted[place - 1];
      if (before === undefined || !isPreferred(clause, before)) break;
      place -= 1;
    }
    sorted.splice(place, 0, clause);
  }
  return sorted;
}

function isPreferred(a: Clause, b: Clause): boolean {
  if (a.quality > b.quality) return true;
  return (a.type !== "*" && b.type === "*") || (a.subtype !== "*" && b.subtype === "*");
}

function matches({ type, subtype }: Clause, mediaType: AnswerType): boolean {
  if (type === "*") return subtype === "*";
  return subtype === "*" ? mediaType.startsWith(`${type}/`) : mediaType === `${type}/${subtype}`;
}

/** Parameters with a single allowed value have that value. */
function isReadable({ parameters }: Clause): boolean {
  return (
    (parameters.get("stream") ?? "watch") === "watch" && (parameters.get("sv") ?? "v1") === "v1"
  );
}

function conversionOf(parameters: ReadonlyMap<string, string>): Conversion | "unknown" | undefined {
  const [as, group, version] = ["as", "g", "v"].map((name) => parameters.get(name));
  if (as === undefined && group === undefined && version === undefined) return undefined;
  const kind = conversionKinds.find((one) => one === as);
  const known = conversionVersions.find((one) => one === version);
  if (group !== "meta.k8s.io" || kind === undefined || known === undefined) return "unknown";
  return { kind, version: known };
}
