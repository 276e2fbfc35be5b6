// Where clients find the OpenAPI documents: an index with the hash of each document of version 3,
// documents that may be kept forever under their hash, and one document of version 2 in JSON and
// protobuf. Documents are made at the first request and kept while the kinds stay the same.
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import type { Clock } from "../../environment/clock.ts";
import type { Headers } from "../../environment/network.ts";
import type { Answer } from "../http/answer.ts";
import type { JsonObject } from "../kinds/fields.ts";
import type { ResourceKind } from "../kinds/resource-kind.ts";
import { openApiV2 } from "./openapi-v2.ts";
import { encodeOpenApiV2 } from "./openapi-v2-protobuf.ts";
import { openApiV3 } from "./openapi-v3.ts";
import { groupVersionPath } from "./operations.ts";

const indexPath = "/openapi/v3";
const version2Path = "/openapi/v2";
const jsonType = "application/json";
const protobufType = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
/** The media type that clients before 1.27 send; the answer has the other name. */
const protobufOldType = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
/** How long clients may cache a document that is requested by its hash. */
const keptMs = 365 * 24 * 60 * 60 * 1000;

export interface OpenApiRequest {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Headers;
  /** Another array whenever the kinds are others. */
  readonly kinds: readonly ResourceKind[];
}

export class OpenApi {
  readonly #clock: Clock;
  /** `1.36` */
  readonly #version: string;
  /** Made from `#kinds`, by path and media type. */
  readonly #documents = new Map<string, Document>();
  #kinds: readonly ResourceKind[] = [];

  constructor(options: { readonly clock: Clock; readonly gitVersion: string }) {
    this.#clock = options.clock;
    this.#version = /^v(\d+\.\d+)/.exec(options.gitVersion)?.[1] ?? "";
  }

  /** Undefined for any other path. */
  answer(request: OpenApiRequest): Answer | undefined {
    if (request.kinds !== this.#kinds) {
      this.#kinds = request.kinds;
      this.#documents.clear();
    }
    if (request.path === version2Path) {
      return this.#version2(request);
    }
    if (request.path === indexPath) {
      const document = this.#document(indexPath, () => encodeJson(this.#index()));
      return documentAnswer(document, request.headers, jsonType, {});
    }
    const group = request.path.slice(indexPath.length + 1);
    return request.path.startsWith(`${indexPath}/`) ? this.#version3(group, request) : undefined;
  }

  #version2({ headers }: OpenApiRequest): Answer {
    const vary = { vary: "Accept-Encoding, Accept" };
    const type = accepted(headers["accept"], [jsonType, protobufOldType, protobufType]);
    if (type === undefined) {
      return notAcceptable(vary);
    }
    const json = () => openApiV2(this.#kinds, this.#version);
    const isJson = type === jsonType;
    const document = this.#document(isJson ? version2Path : `${version2Path} protobuf`, () =>
      isJson ? encodeJson(json()) : encodeOpenApiV2(json()),
    );
    return documentAnswer(document, headers, isJson ? jsonType : protobufType, vary);
  }

  #version3(group: string, { headers, query }: OpenApiRequest): Answer | undefined {
    const document = this.#groupDocument(group);
    if (document === undefined) {
      return undefined;
    }
    const vary = { vary: "Accept" };
    if (accepted(headers["accept"], [jsonType]) === undefined) {
      return notAcceptable(vary);
    }
    const hash = query.get("hash") ?? "";
    if (hash !== "" && hash !== document.hash) {
      const location = relativeUrl(group, document.hash);
      const moved = { ...vary, etag: `"${document.hash}"`, location };
      return { status: 301, body: Buffer.alloc(0), contentType: jsonType, headers: moved };
    }
    return documentAnswer(document, headers, jsonType, {
      ...vary,
      ...(hash === "" ? {} : this.#keepForever()),
    });
  }

  #keepForever(): Headers {
    const expires = new Date(this.#clock.wallMs() + keptMs).toUTCString().replace("GMT", "UTC");
    return { "cache-control": "public, immutable", expires };
  }

  #index(): JsonObject {
    const groups = [...new Set(this.#kinds.map(groupVersionPath))].sort();
    const entries = groups.map((group) => {
      const hash = this.#groupDocument(group)?.hash ?? "";
      return [group, { serverRelativeURL: relativeUrl(group, hash) }];
    });
    return { paths: Object.fromEntries(entries) };
  }

  #groupDocument(group: string): Document | undefined {
    const kinds = this.#kinds.filter((kind) => groupVersionPath(kind) === group);
    return kinds.length === 0
      ? undefined
      : this.#document(group, () => encodeJson(openApiV3(kinds, this.#version)));
  }

  #document(key: string, make: () => Buffer): Document {
    const known = this.#documents.get(key);
    if (known !== undefined) {
      return known;
    }
    const body = make();
    const hash = createHash("sha512").update(body).digest("hex").toUpperCase();
    const document = { body, hash };
    this.#documents.set(key, document);
    return document;
  }
}

interface Document {
  readonly body: Buffer;
  /** By which clients know whether they have it. */
  readonly hash: string;
  /** Made at the first request. */
  zipped?: Buffer;
}

function documentAnswer(
  document: Document,
  requestHeaders: Headers,
  contentType: string,
  extra: Headers,
): Answer {
  const etag = `"${document.hash}"`;
  const headers = { etag, ...extra };
  const known = (requestHeaders["if-none-match"] ?? "").split(",").map((tag) => tag.trim());
  if (known.includes(etag) || known.includes("*")) {
    return { status: 304, body: Buffer.alloc(0), contentType, headers };
  }
  if (!/\bgzip\b/.test(requestHeaders["accept-encoding"] ?? "")) {
    return { status: 200, body: document.body, contentType, headers };
  }
  document.zipped ??= gzipSync(document.body);
  const zipped = { ...headers, "content-encoding": "gzip" };
  return { status: 200, body: document.zipped, contentType, headers: zipped };
}

/** The first of the types offered that the best clause takes; undefined when none does. */
function accepted(accept: string | undefined, offered: readonly string[]): string | undefined {
  const clauses = (accept === undefined || accept.trim() === "" ? "*/*" : accept)
    .split(",")
    .map((clause) => {
      const [type = "", ...parameters] = clause.split(";").map((part) => part.trim());
      const quality = parameters.find((parameter) => parameter.startsWith("q="));
      return { type, quality: quality === undefined ? 1 : Number(quality.slice(2)) };
    })
    .sort((a, b) => b.quality - a.quality);
  for (const { type } of clauses) {
    const found = offered.find((one) => type === "*/*" || type === "application/*" || type === one);
    if (found !== undefined) {
      return found;
    }
  }
  return undefined;
}

function notAcceptable(headers: Headers): Answer {
  return { status: 406, body: Buffer.alloc(0), contentType: "text/plain", headers };
}

function relativeUrl(group: string, hash: string): string {
  return `${indexPath}/${group}?hash=${hash}`;
}

function encodeJson(value: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(value), "utf8");
}
