// Reading a resourceVersion that a client sent. To clients it is opaque; to the server it is the
// storage's revision in decimal. Refusals carry the words of Go's number parser, as the real ones.
import { ApiError } from "../api-error.ts";
import { badRequest } from "./refusals.ts";

const maxUint64 = 18_446_744_073_709_551_615n;

type Parsed = { readonly revision: number } | { readonly problem: string };

/** For lists. Unset and "0" are both 0. */
export function parseForList(resourceVersion: string | undefined): number {
  const parsed = parse(resourceVersion ?? "");
  if ("revision" in parsed) return parsed.revision;
  throw badRequest(`invalid resource version: ${parsed.problem}`);
}

/** For gets and watches, where the real server answers 500 instead of 400. */
export function parseForRead(resourceVersion: string | undefined): number {
  const parsed = parse(resourceVersion ?? "");
  if ("revision" in parsed) return parsed.revision;
  throw new ApiError(500, "", parsed.problem);
}

/** Whether it is a number other than 0. */
export function isRevision(resourceVersion: string): boolean {
  const parsed = parse(resourceVersion);
  return "revision" in parsed && parsed.revision !== 0;
}

function parse(text: string): Parsed {
  if (text === "" || text === "0") return { revision: 0 };
  if (!/^[0-9]+$/.test(text)) return problem(text, "invalid syntax");
  if (BigInt(text) > maxUint64) return problem(text, "value out of range");
  return { revision: Number(text) };
}

function problem(text: string, why: string): Parsed {
  const quoted = JSON.stringify(text);
  const detail = `strconv.ParseUint: parsing ${quoted}: ${why}`;
  return { problem: `resourceVersion: Invalid value: ${quoted}: ${detail}` };
}
