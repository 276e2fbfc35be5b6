// Request bodies: a bounded number of bytes that hold JSON, YAML or protobuf, by media type. Problems
// are `ApiError`s with the messages of the real server.
import type { Headers, IncomingRequest } from "../../environment/network.ts";
import { jsonNestingProblem } from "../../kube/yaml/nesting.ts";
import { parseYaml, YamlProblem } from "../../kube/yaml/yaml-document.ts";
import { ApiError } from "../api-error.ts";
import { isJsonObject } from "../kinds/fields.ts";
import { goJsonType } from "./go-format.ts";
import { jsonSyntaxProblem } from "./json-scanner.ts";
import { decodeProtobuf, ProtobufError } from "./protobuf.ts";
import type { ExpectedKind } from "./request-object.ts";

/** The real server's limit for one request. */
export const bodyMaxBytes = 3 * 1024 * 1024;

const documentTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

/** A body that is too large is read up to this bound, so that its sender receives the answer. */
const drainMaxBytes = 2 * bodyMaxBytes;

export async function readBody(request: IncomingRequest): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  // A body that announces far too many bytes is not read at all, which closes the connection.
  if (Number(request.headers["content-length"] ?? 0) > drainMaxBytes) throw tooLarge();
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes <= bodyMaxBytes) {
      chunks.push(chunk);
    } else if (bytes > drainMaxBytes) {
      break;
    }
  }
  if (bytes > bodyMaxBytes) {
    throw tooLarge();
  }
  return Buffer.concat(chunks);
}

function tooLarge(): ApiError {
  const message = `Request entity too large: limit is ${bodyMaxBytes}`;
  return new ApiError(413, "RequestEntityTooLarge", message);
}

/** The media type without parameters, in lower case; "" without the header. */
export function mediaType(headers: Headers): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

export interface ParsedBody {
  readonly document: unknown;
  /** The text of a JSON body, which may repeat keys that the document has once. */
  readonly json?: string;
  /** Repeated keys of a YAML body: `line 3: key "name" already set in map`. */
  readonly repeatedLines: readonly string[];
}

/** Without a media type the body is JSON. */
export function parseDocumentBody(body: Buffer, type: string, expected: ExpectedKind): ParsedBody {
  switch (type) {
    case "":
    case "application/json":
      return parseJsonBody(body, expected.kind);
    case "application/yaml":
      return parseYamlBody(body, expected.kind);
    case "application/vnd.kubernetes.protobuf":
      return { document: parseProtobuf(body, expected), repeatedLines: [] };
    default:
      throw unsupportedMediaType(documentTypes);
  }
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  return new ApiError(
    415,
    "UnsupportedMediaType",
    "the body of the request was in an unknown format - accepted media types include: " +
      accepted.join(", "),
  );
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequest", message);
}

/** A body without a readable kind. */
export function unrecognized(expectedKind: string, problem: string, body: Buffer): ApiError {
  return badRequest(
    `the object provided is unrecognized (must be of type ${expectedKind}): ` +
      `${problem} (${summarize(body)})`,
  );
}

/** The part of the body that the message shows. */
const summaryMaxBytes = 30;

function summarize(body: Buffer): string {
  if (body.byteLength === 0) {
    return "<empty>";
  }
  const shown = body.subarray(0, summaryMaxBytes);
  const text = body[0] === "{".charCodeAt(0) ? shown.toString("utf8") : shown.toString("hex");
  return body.byteLength > summaryMaxBytes ? `${text} ...` : text;
}

/** The type that Go decodes first. */
const typeMeta =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; ' +
  'Kind string "json:\\"kind,omitempty\\"" }';

/** The document must be an object; kind and apiVersion are optional strings. */
export function checkTypeMeta(document: unknown, body: Buffer, expectedKind: string): unknown {
  const refuse = (value: unknown, into: string) =>
    unrecognized(
      expectedKind,
      `couldn't get version/kind; json parse error: ` +
        `json: cannot unmarshal ${goJsonType(value)} into ${into}`,
      body,
    );
  if (document === null || document === undefined) {
    return {};
  }
  if (!isJsonObject(document)) {
    throw refuse(document, `Go value of type ${typeMeta}`);
  }
  for (const field of ["apiVersion", "kind"]) {
    const value = document[field] ?? "";
    if (typeof value !== "string") {
      throw refuse(value, `Go struct field .${field} of type string`);
    }
  }
  return document;
}

function parseJsonBody(body: Buffer, expectedKind: string): ParsedBody {
  const text = body.toString("utf8");
  const tooDeep = jsonNestingProblem(text);
  if (tooDeep !== undefined) throw noTypeMeta(tooDeep, body, expectedKind);
  try {
    const document = checkTypeMeta(JSON.parse(text), body, expectedKind);
    return { document, json: text, repeatedLines: [] };
  } catch (error) {
    if (!(error instanceof SyntaxError)) {
      throw error;
    }
    throw noTypeMeta(jsonSyntaxProblem(text), body, expectedKind);
  }
}

function noTypeMeta(problem: string, body: Buffer, expectedKind: string): ApiError {
  const message = `couldn't get version/kind; json parse error: ${problem}`;
  return unrecognized(expectedKind, message, body);
}

function parseYamlBody(body: Buffer, expectedKind: string): ParsedBody {
  try {
    const { document, repeatedLines } = parseYaml(body);
    return { document: checkTypeMeta(document, body, expectedKind), repeatedLines };
  } catch (error) {
    throw error instanceof YamlProblem ? unrecognized(expectedKind, error.message, body) : error;
  }
}

function parseProtobuf(body: Buffer, expected: ExpectedKind): unknown {
  try {
    return decodeProtobuf(body, expected);
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof SyntaxError) {
      throw unrecognized(expected.kind, error.message, body);
    }
    throw error;
  }
}
