// Answers: one body in a media type that the client accepts, a Status for every refusal, and a
// writer that sends the headers of a watch only when the watch is certain to start.
import { stringify, type Tags } from "yaml";
import type { BodyWriter, Headers, ServerExchange } from "../../environment/network.ts";
import { ApiError, OverloadError } from "../api-error.ts";
import { negotiateRefusal } from "../decode/negotiate.ts";
import { StorageTimeoutError, StorageUnavailableError } from "../storage/storage.ts";
import { type AnswerForm, plainForm } from "../tables/answer-form.ts";

/** As real servers indent. */
const prettyIndent = 2;

/** As real servers write YAML: with the words and times of YAML 1.1 in quotes. */
const yamlStyle = {
  version: "1.1",
  sortMapEntries: true,
  indentSeq: false,
  customTags: (tags: Tags) => tags.map(withoutLoneDot),
} as const;

/** The fields of an owner are full of keys that are a dot, which is no number to Go. */
function withoutLoneDot(tag: Tags[number]): Tags[number] {
  if (typeof tag === "string" || tag.collection !== undefined || tag.test?.test(".") !== true) {
    return tag;
  }
  return { ...tag, test: /^[-+]?(?:\d[\d_]*\.[\d_]*|\.[\d_]+)$/ };
}

export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly headers?: Headers;
}

export function jsonAnswer(status: number, value: object, form: AnswerForm = plainForm): Answer {
  const { mediaType, pretty, shape } = form;
  const shown = shape === undefined ? value : shape({ ...value });
  const text =
    mediaType === "application/yaml"
      ? stringify(shown, yamlStyle)
      : JSON.stringify(shown, null, pretty ? prettyIndent : 0);
  return { status, body: Buffer.from(text, "utf8"), contentType: mediaType };
}

/** For bodies that are JSON already. */
export function encodedAnswer(status: number, json: Uint8Array, form: AnswerForm): Answer {
  const { mediaType, pretty, shape } = form;
  if (mediaType === "application/json" && !pretty && shape === undefined) {
    return { status, body: json, contentType: mediaType };
  }
  return jsonAnswer(status, JSON.parse(Buffer.from(json).toString("utf8")), form);
}

export function textAnswer(status: number, text: string): Answer {
  return { status, body: Buffer.from(text, "utf8"), contentType: "text/plain; charset=utf-8" };
}

/** In the form that the client's Accept header asks for, as far as a Status has it. */
export function errorAnswer(error: ApiError, accept: string | undefined): Answer {
  const seconds = error.details?.retryAfterSeconds;
  const retry: Headers = seconds === undefined ? {} : { "retry-after": String(seconds) };
  if (error instanceof OverloadError) {
    const headers = { ...retry, "x-content-type-options": "nosniff" };
    return { ...textAnswer(error.code, error.text), headers };
  }
  const answer = jsonAnswer(error.code, error.toStatus(), negotiateRefusal(accept));
  return seconds === undefined ? answer : { ...answer, headers: retry };
}

/** The answer to a request that failed because of a bug in the server. */
export function internalError(error: unknown): ApiError {
  const message = error instanceof Error ? error.message : String(error);
  return new ApiError(500, "InternalError", `Internal error occurred: ${message}`, {
    causes: [{ reason: "", message }],
  });
}

export function withWarnings(answer: Answer, warnings: readonly string[]): Answer {
  if (warnings.length === 0) {
    return answer;
  }
  const earlier = answer.headers?.["warning"];
  const own = warningHeader(warnings);
  const warning = earlier === undefined ? own : `${own}, ${earlier}`;
  return { ...answer, headers: { ...answer.headers, warning } };
}

/** 299: a warning that stays true when the request is made again. */
export function warningHeader(warnings: readonly string[]): string {
  return warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(", ");
}

export function send(exchange: ServerExchange, answer: Answer): void {
  const writer = exchange.respond(answer.status, {
    "cache-control": "no-cache, private",
    "content-length": String(answer.body.byteLength),
    "content-type": answer.contentType,
    ...answer.headers,
  });
  writer.end(answer.body);
}

/** Responds with 200 at the first write, so a refusal before it can still choose its status. */
export class DeferredWriter implements BodyWriter {
  readonly #exchange: ServerExchange;
  readonly #headers: Headers;
  #writer: BodyWriter | undefined;

  constructor(exchange: ServerExchange, headers: Headers) {
    this.#exchange = exchange;
    this.#headers = headers;
  }

  get started(): boolean {
    return this.#writer !== undefined;
  }

  get pendingBytes(): number {
    return this.#writer?.pendingBytes ?? 0;
  }

  write(bytes: Uint8Array): void {
    this.#start().write(bytes);
  }

  async drained(): Promise<void> {
    await this.#writer?.drained();
  }

  end(bytes?: Uint8Array): void {
    this.#start().end(bytes);
  }

  abort(): void {
    this.#start().abort();
  }

  #start(): BodyWriter {
    this.#writer ??= this.#exchange.respond(200, this.#headers);
    return this.#writer;
  }
}

/**
 * The refusal when the storage does not answer, with the messages and codes of kube-apiserver 1.36
 * with its etcd killed or stopped. The write may have happened. Undefined for errors of other
 * origin.
 */
export function storageRefusal(error: unknown): ApiError | undefined {
  if (error instanceof StorageTimeoutError) {
    const within =
      error.during === "write"
        ? "within requested timeout - context deadline exceeded"
        : "within the allotted timeout";
    return new ApiError(504, "Timeout", `Timeout: request did not complete ${within}`, {});
  }
  return error instanceof StorageUnavailableError ? new UnknownReasonError(error) : undefined;
}

/** An error that the real server has no reason for: its text, and 500. */
class UnknownReasonError extends ApiError {
  constructor(cause: Error) {
    super(500, "", cause.message);
    this.cause = cause;
  }

  override toStatus(): object {
    const { reason: _none, ...status } = { reason: "", ...super.toStatus() };
    return status;
  }
}
