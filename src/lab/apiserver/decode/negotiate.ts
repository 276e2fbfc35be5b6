// Which media type to answer in, by the client's Accept header. Clauses that ask for another form
// (Tables, protobuf) are passed over, so a client that also accepts plain JSON gets plain JSON.
import { ApiError } from "../api-error.ts";

export type AnswerType = "application/json" | "application/yaml";

const answerTypes: readonly AnswerType[] = ["application/json", "application/yaml"];

export function negotiate(accept: string | undefined): AnswerType {
  if (accept === undefined || accept.trim() === "") {
    return "application/json";
  }
  for (const clause of byPreference(accept)) {
    if (clause.isPlain) {
      const found = answerTypes.find((type) => matches(clause.type, type));
      if (found !== undefined) {
        return found;
      }
    }
  }
  throw new ApiError(
    406,
    "NotAcceptable",
    `only the following media types are accepted: ${answerTypes.join(", ")}`,
  );
}

interface Clause {
  readonly type: string;
  readonly quality: number;
  /** Does not ask for the object to be converted to another kind (`as=Table`). */
  readonly isPlain: boolean;
}

function byPreference(accept: string): readonly Clause[] {
  return accept
    .split(",")
    .map(parseClause)
    .filter((clause) => clause.quality > 0)
    .sort((a, b) => b.quality - a.quality);
}

function parseClause(text: string): Clause {
  const [type = "", ...parameters] = text.split(";").map((part) => part.trim().toLowerCase());
  const quality = parameters.find((parameter) => parameter.startsWith("q="));
  return {
    type,
    quality: quality === undefined ? 1 : Number(quality.slice(2)) || 0,
    isPlain: !parameters.some((parameter) => parameter.startsWith("as=")),
  };
}

function matches(accepted: string, type: AnswerType): boolean {
  return accepted === "*/*" || accepted === "application/*" || accepted === type;
}
