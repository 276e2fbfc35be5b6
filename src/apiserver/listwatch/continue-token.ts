// The token of the next page: the revision of all pages, and the start of the next one, relative to
// the prefix of the list so that no token can reach outside it.
import { jsonSyntaxProblem } from "../decode/json-scanner.ts";
import { badRequest } from "./refusals.ts";

export interface ContinuePosition {
  /** "latest" continues with the current state; such a list is marked as inconsistent. */
  readonly revision: number | "latest";
  /** The last key of the page before. */
  readonly afterKey: string;
}

const tokenVersion = "meta.k8s.io/v1";

/** In a token: continue with the current state. 0 would look like a token without a revision. */
const latestRevision = -1;

/** A page starts right behind the last key of the one before. */
const justAfter = "\0";

export function encodeContinue(position: ContinuePosition, prefix: string): string {
  const { revision, afterKey } = position;
  const token = {
    v: tokenVersion,
    rv: revision === "latest" ? latestRevision : revision,
    start: `/${afterKey.slice(prefix.length)}${justAfter}`,
  };
  return Buffer.from(JSON.stringify(token), "utf8").toString("base64url");
}

/** Throws 400 for anything `encodeContinue` does not make. */
export function decodeContinue(token: string, prefix: string): ContinuePosition {
  const { v, rv, start } = parseToken(token);
  if (v !== tokenVersion) {
    throw invalid(
      `continue key is not valid: server does not recognize this encoded version ${String(v)}`,
    );
  }
  if (typeof rv !== "number" || !Number.isSafeInteger(rv) || rv === 0) {
    throw invalid(
      "continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
    );
  }
  if (typeof start !== "string" || start === "") {
    throw invalid("continue key is not valid: encoded start key empty (version meta.k8s.io/v1)");
  }
  const lastKey = start.endsWith(justAfter) ? start.replace(/^\//, "").slice(0, -1) : "";
  if (lastKey.split("/").some((segment) => ["", ".", ".."].includes(segment))) {
    throw invalid(`continue key is not valid: ${start}`);
  }
  return { revision: rv < 0 ? "latest" : rv, afterKey: `${prefix}${lastKey}` };
}

function parseToken(token: string): Record<string, unknown> {
  if (!/^[A-Za-z0-9_-]*$/.test(token)) {
    const at = token.search(/[^A-Za-z0-9_-]/);
    throw invalid(`continue key is not valid: illegal base64 data at input byte ${at}`);
  }
  const text = Buffer.from(token, "base64url").toString("utf8");
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === "object" && parsed !== null) return { ...parsed };
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw invalid(`continue key is not valid: ${jsonSyntaxProblem(text)}`);
  }
  throw invalid("continue key is not valid: not a JSON object");
}

function invalid(problem: string): Error {
  return badRequest(`invalid continue token: ${problem}`);
}
