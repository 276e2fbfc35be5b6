// Request bodies: bytes within a bound, a media type that is understood, and JSON, YAML or protobuf
// inside; all become one parsed document. Everything wrong with them is an `ApiError` worded as the
// real server does.
import { parseDocument } from "yaml";
import type { Headers, IncomingRequest } from "../../../environment/network.ts";
import { ApiError } from "../api-error.ts";
import { decodeProtobuf } from "./protobuf.ts";
import { ProtobufError } from "./protobuf-wire.ts";
import type { ExpectedKind } from "./request-object.ts";

/** The real server's limit for one request. */
export const bodyMaxBytes = 3 * 1024 * 1024;

const documentTypes = [
  "application/json",
  "application/yaml",
  "application/vnd.kubernetes.protobuf",
];

export async function readBody(request: IncomingRequest): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of request.body) {
    bytes += chunk.byteLength;
    if (bytes > bodyMaxBytes) {
      throw new ApiError(
        413,
        "RequestEntityTooLarge",
        `Request entity too large: limit is ${bodyMaxBytes}`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** The media type without parameters, in lower case; "" when the header is absent. */
export function mediaType(headers: Headers): string {
  return (headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** The document in a body, in the format its media type names; JSON when it names none. */
export function parseDocumentBody(body: Buffer, type: string, expected: ExpectedKind): unknown {
  switch (type) {
    case "":
    case "application/json":
      return parseJsonBody(body, expected.kind);
    case "application/yaml":
      return parseYaml(body);
    case "application/vnd.kubernetes.protobuf":
      return parseProtobuf(body, expected);
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

function parseJsonBody(body: Buffer, expectedKind: string): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw badRequest(
      `the object provided is unrecognized (must be of type ${expectedKind}): ` +
        `couldn't get version/kind; json parse error: ${problem}`,
    );
  }
}

function parseProtobuf(body: Buffer, expected: ExpectedKind): unknown {
  try {
    return decodeProtobuf(body, expected);
  } catch (error) {
    if (error instanceof ProtobufError || error instanceof SyntaxError) {
      throw badRequest(
        `the object provided is unrecognized (must be of type ${expected.kind}): ` +
          `proto: ${error.message}`,
      );
    }
    throw error;
  }
}

/** How many alias expansions one YAML body may have, against billion-laughs documents. */
const yamlMaxAliases = 100;

function parseYaml(body: Buffer): unknown {
  const document = parseDocument(body.toString("utf8"));
  const [problem] = document.errors;
  if (problem !== undefined) {
    throw badRequest(`error decoding YAML: ${problem.message}`);
  }
  try {
    return document.toJS({ maxAliasCount: yamlMaxAliases });
  } catch (error) {
    throw badRequest(
      `error decoding YAML: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
