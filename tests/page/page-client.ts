// Only for tests: a browser as the server of the page sees it, which checks every answer by its schema.
import { type TSchema, Type } from "typebox";
import { Compile } from "typebox/compile";
import { expect } from "vitest";
import type { Headers, Network } from "../../src/environment/network.ts";
import { JourneyBatch, PointsBatch, Problem, Reset, State } from "../../src/server/api.ts";
import { routes } from "../../src/server/page-routes.ts";
import { pathNames } from "../../src/server/request-reader.ts";

export interface PageAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export interface PageEvent {
  readonly id: string;
  readonly event: string;
  readonly data: unknown;
}

const eventSchemas: Readonly<Record<string, TSchema>> = {
  reset: Reset,
  state: State,
  journeys: JourneyBatch,
  points: PointsBatch,
  doctor: Type.Object({}),
  incident: Type.Object({}),
};

const checkers = new Map<TSchema, ReturnType<typeof Compile>>();

export class PageClient {
  readonly #network: Network;
  readonly #url: string;
  readonly #headers: Headers;

  /** `url` has no path. */
  constructor(network: Network, url: string, headers: Headers = {}) {
    this.#network = network;
    this.#url = url;
    this.#headers = headers;
  }

  /** A request as it is, whatever comes of it. */
  async send(
    method: string,
    path: string,
    { headers = {}, body }: { headers?: Headers; body?: Uint8Array | string } = {},
  ): Promise<PageAnswer> {
    const answer = await this.#network.request({
      method,
      url: `${this.#url}${path}`,
      headers: { ...this.#headers, ...headers },
      ...(body !== undefined && { body: Buffer.from(body) }),
    });
    let text = "";
    for await (const chunk of answer.body) text += Buffer.from(chunk).toString("utf8");
    return { status: answer.status, headers: answer.headers, text };
  }

  /** The answer, which fits the schema of its route. */
  async get<Value>(path: string): Promise<Value> {
    return (await this.#checked("GET", path)) as Value;
  }

  async post<Value>(path: string, body: object | Uint8Array): Promise<Value> {
    const isBytes = body instanceof Uint8Array;
    const type = isBytes ? "application/octet-stream" : "application/json";
    return (await this.#checked("POST", path, {
      headers: { "content-type": type },
      body: isBytes ? body : JSON.stringify(body),
    })) as Value;
  }

  /** The sentence of an answer that is refused. */
  async problem(...request: Parameters<PageClient["send"]>): Promise<string> {
    const { status, text } = await this.send(...request);
    const value: unknown = JSON.parse(text);
    expectFit(Problem, value);
    return `${status} ${(value as Problem).error}`;
  }

  async open(lastEventId?: string): Promise<PageEvents> {
    const headers = {
      ...this.#headers,
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
    };
    const url = `${this.#url}/api/v1/events`;
    const stopping = new AbortController();
    const { signal } = stopping;
    const answer = await this.#network.request({ method: "GET", url, headers, signal });
    expect(answer.status).toBe(200);
    return new PageEvents(answer.body, stopping);
  }

  async #checked(
    method: "GET" | "POST",
    path: string,
    options: Parameters<PageClient["send"]>[2] = {},
  ): Promise<unknown> {
    const { status, headers, text } = await this.send(method, path, options);
    expect(`${status} ${headers["content-type"]}`, `${text}`).toBe("200 application/json");
    const [plain = ""] = path.split("?");
    const route = routes.find((one) => one.method === method && pathNames(one.path, plain));
    const value: unknown = JSON.parse(text);
    if (route !== undefined) expectFit(route.answer, value);
    return value;
  }
}

/** The events of one page, read one at a time: not reading is being slow. */
export class PageEvents {
  readonly #chunks: AsyncIterator<Uint8Array>;
  readonly #stopping: AbortController;
  readonly all: PageEvent[] = [];
  bytes = 0;
  #rest = "";
  #next = 0;

  constructor(body: AsyncIterable<Uint8Array>, stopping: AbortController) {
    this.#chunks = body[Symbol.asyncIterator]();
    this.#stopping = stopping;
  }

  get lastId(): string {
    return this.all[this.#next - 1]?.id ?? "";
  }

  /** Undefined at the end of the stream; rejects when the connection breaks. */
  async next(): Promise<PageEvent | undefined> {
    while (this.#next >= this.all.length) {
      const { done, value } = await this.#chunks.next();
      if (done === true) return undefined;
      this.bytes += value.byteLength;
      this.#take(Buffer.from(value).toString("utf8"));
    }
    this.#next += 1;
    return this.all[this.#next - 1];
  }

  /** Reads on until an event fits. */
  async until(fits: (event: PageEvent) => boolean): Promise<PageEvent> {
    for (;;) {
      const event = await this.next();
      if (event === undefined) throw new Error("the stream ended");
      if (fits(event)) return event;
    }
  }

  close(): void {
    this.#stopping.abort(new Error("the page was closed"));
  }

  #take(text: string): void {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      if (block.startsWith(":")) continue;
      const [, id = "", event = "", data = ""] =
        /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(block) ?? [];
      const value: unknown = JSON.parse(data);
      const schema = eventSchemas[event];
      expect(schema, `${event}`).toBeDefined();
      if (schema !== undefined) expectFit(schema, value);
      this.all.push({ id, event, data: value });
    }
  }
}

export function expectFit(schema: TSchema, value: unknown): void {
  const checker = checkers.get(schema) ?? Compile(schema);
  checkers.set(schema, checker);
  if (checker.Check(value)) return;
  expect([...checker.Errors(value)].slice(0, 3), `${JSON.stringify(value)}`).toEqual([]);
}
