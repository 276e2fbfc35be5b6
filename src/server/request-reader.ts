// Reads a request by the schemas of its route: path, query and body. Everything in it is a stranger's;
// what does not fit is refused with a sentence that names the place.

import type { TSchema } from "typebox";
import { Compile } from "typebox/compile";
import type { IncomingRequest } from "../environment/network.ts";
import type { Asked, Route } from "./page-routes.ts";
import { PageProblem } from "./page-source.ts";

/** Made at the first request of a route: it takes some milliseconds. */
const checkers = new WeakMap<TSchema, ReturnType<typeof Compile>>();

const queryMost = 4_096;

/** The names in the path; undefined when the path is another one. */
export function pathNames(
  route: string,
  path: string,
): Readonly<Record<string, string>> | undefined {
  const [wanted, given] = [route.split("/"), path.split("/")];
  if (wanted.length !== given.length) return undefined;
  const names: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const text = given[index] ?? "";
    const [, name] = /^\{(\w+)\}$/.exec(part) ?? [];
    if (name === undefined) {
      if (part !== text) return undefined;
      continue;
    }
    const value = decoded(text);
    if (value === undefined || !isObjectName(value)) return undefined;
    names[name] = value;
  }
  return names;
}

/** Names of objects in Kubernetes; nothing else can be found by one. */
function isObjectName(text: string): boolean {
  return /^[a-z\d]([a-z\d.-]{0,251}[a-z\d])?$/.test(text);
}

export function readQuery({ query }: Route, search: URLSearchParams): Asked["query"] {
  const values: Record<string, string | number> = {};
  if (search.toString().length > queryMost) throw new PageProblem(414, "The query is too long.");
  for (const [name, text] of search) {
    const schema: unknown = query?.properties[name];
    if (query === undefined || !Object.hasOwn(query.properties, name)) {
      const known = Object.keys(query?.properties ?? {}).join(", ");
      throw new PageProblem(400, `The query has an unknown name. Known: ${known || "none"}.`);
    }
    if (Object.hasOwn(values, name)) throw new PageProblem(400, `${name} is given twice.`);
    values[name] = isNumeric(schema) && text.trim() !== "" ? Number(text) : text;
  }
  if (query !== undefined) refuseUnfit(query, values, "The query");
  return values;
}

function isNumeric(schema: unknown): boolean {
  const type = typeof schema === "object" && schema !== null && "type" in schema && schema.type;
  return type === "number" || type === "integer";
}

/** Decoded and checked JSON, or the bytes. Undefined for a route without a body. */
export async function readBody(
  { body: wanted }: Route,
  request: IncomingRequest,
): Promise<unknown> {
  if (wanted === undefined) return undefined;
  const bytes = await boundedBytes(request, wanted.maxBytes);
  if (wanted.schema === undefined) return bytes;
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new PageProblem(400, "The body is not JSON.", { cause });
  }
  refuseUnfit(wanted.schema, value, "The body");
  return value;
}

async function boundedBytes(request: IncomingRequest, maxBytes: number): Promise<Uint8Array> {
  const tooLong = new PageProblem(413, `The body is longer than ${maxBytes} bytes.`);
  if (Number(request.headers["content-length"] ?? 0) > maxBytes) throw tooLong;
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of request.body) {
    length += chunk.byteLength;
    if (length > maxBytes) throw tooLong;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function refuseUnfit(schema: TSchema, value: unknown, what: string): void {
  const checker = checkers.get(schema) ?? Compile(schema);
  checkers.set(schema, checker);
  if (checker.Check(value)) return;
  const [first] = checker.Errors(value);
  const where = (first?.instancePath ?? "").replace(/^\//, "").slice(0, 100);
  const place = where === "" ? what : `${what}: ${where}`;
  throw new PageProblem(400, `${place} ${first?.message ?? "does not fit"}.`);
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    // Not an encoded name.
    return undefined;
  }
}
