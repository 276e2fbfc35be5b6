// Answers: one body in the media type the client accepts, a Status for every refusal, and a writer
// that sends the headers of a watch only once the watch is sure to start.
import { stringify } from "yaml";
import type { BodyWriter, Headers, ServerExchange } from "../../../environment/network.ts";
import { ApiError } from "../api-error.ts";
import type { AnswerType } from "../decode/negotiate.ts";

export interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
  readonly contentType: string;
  readonly headers?: Headers;
}

export function jsonAnswer(
  status: number,
  value: unknown,
  type: AnswerType = "application/json",
): Answer {
  const text = type === "application/yaml" ? stringify(value) : JSON.stringify(value);
  return { status, body: Buffer.from(text, "utf8"), contentType: type };
}

/** For bodies that are JSON already. */
export function encodedAnswer(status: number, json: Uint8Array, type: AnswerType): Answer {
  if (type === "application/json") {
    return { status, body: json, contentType: type };
  }
  return jsonAnswer(status, JSON.parse(Buffer.from(json).toString("utf8")), type);
}

export function textAnswer(status: number, text: string): Answer {
  return { status, body: Buffer.from(text, "utf8"), contentType: "text/plain; charset=utf-8" };
}

export function errorAnswer(error: ApiError): Answer {
  const seconds = error.details?.retryAfterSeconds;
  return {
    ...jsonAnswer(error.code, error.toStatus()),
    ...(seconds === undefined ? {} : { headers: { "retry-after": String(seconds) } }),
  };
}

/** What a client sees of a mistake in the server itself. */
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
  const warning = warnings.map((text) => `299 - ${JSON.stringify(text)}`).join(", ");
  return { ...answer, headers: { ...answer.headers, warning } };
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
