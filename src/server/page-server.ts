// The server of the page: one listener for the API, the event stream and the files of the page. All
// answers come from one model; nothing here waits for a browser.
import type { Environment } from "../environment/environment.ts";
import type { Listener, ServerExchange } from "../environment/network.ts";
import type { CancelTimer } from "../environment/timers.ts";
import type { HistoryReader } from "../history/history-reader.ts";
import type { JourneyEvent } from "../timeline/journey-event.ts";
import { apiRoot } from "./api.ts";
import { EventStream } from "./event-stream.ts";
import { openApi } from "./openapi.ts";
import { PageAccess } from "./page-access.ts";
import { notBuilt, PageFiles } from "./page-files.ts";
import { PageModel } from "./page-model.ts";
import { type Asked, type PageParts, type Route, routes } from "./page-routes.ts";
import { type PageDoctor, type PageLab, PageProblem, type PageSource } from "./page-source.ts";
import { pathNames, readBody, readQuery } from "./request-reader.ts";
import { pointEveryMs } from "./series-rings.ts";

export interface PageServerOptions
  extends Pick<Environment, "network" | "timers" | "files" | "random" | "log"> {
  readonly source: PageSource;
  /** Of Lockstep. */
  readonly version: string;
  /** Lags at or above this are late. */
  readonly slowMs: number;
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  /** Names that requests may be for, beside IP addresses, localhost and `host`. */
  readonly hostNames?: readonly string[];
  /** Needed on any address but loopback. */
  readonly token?: string | undefined;
  /** The folder of the built page. */
  readonly pageFolder: string;
  readonly doctor?: PageDoctor | undefined;
  readonly lab?: PageLab | undefined;
  readonly history?: HistoryReader | undefined;
  readonly readRecording?: PageParts["readRecording"] | undefined;
}

const batchEveryMs = 250;
const stateEveryMs = 1_000;

/** A page that gets nothing for longer shows that it is disconnected. */
const stateAtLeastEveryMs = 10_000;

/** A shared answer is reused for this long, and there are at most so many. */
const sharedMs = 1_000;
const sharedMax = 200;

const safety = {
  "content-security-policy":
    "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
};

export class PageServer {
  readonly #options: PageServerOptions;
  readonly #access: PageAccess;
  readonly #files: PageFiles;
  readonly #openApi: Buffer;
  readonly #shared = new Map<string, Promise<Uint8Array>>();
  readonly #stopping = new AbortController();
  readonly model: PageModel;
  readonly events: EventStream;
  #listener: Listener | undefined;
  #cancelPoints: CancelTimer | undefined;
  #cancelLoop: CancelTimer | undefined;
  #turn = 0;
  #sent: { readonly facts: string; readonly turn: number } | undefined;

  private constructor(options: PageServerOptions) {
    this.#options = options;
    const { host, hostNames = [], token, files, pageFolder, timers, random } = options;
    this.#access = new PageAccess({ host, hostNames, token });
    this.#files = new PageFiles(files, pageFolder);
    this.#openApi = Buffer.from(openApi(options.version), "utf8");
    this.model = new PageModel({
      ...options,
      canReadRecordings: options.readRecording !== undefined,
    });
    this.events = new EventStream({
      timers,
      name: random.uuid(),
      reset: () => JSON.stringify(this.model.reset()),
      onWanted: (isWanted) => this.#want(isWanted),
    });
  }

  /** Rejects with a `NetworkError` if the address cannot be used. */
  static async start(options: PageServerOptions): Promise<PageServer> {
    const server = new PageServer(options);
    server.#listener = await options.network.listen(options, (exchange) =>
      server.#handle(exchange),
    );
    server.#addPoints();
    return server;
  }

  /** To be called with every event of the observer. */
  readonly onEvent = (event: JourneyEvent): void => this.model.onEvent(event);

  get port(): number {
    return this.#listener?.port ?? 0;
  }

  /** Where people open it; without the token. */
  get url(): string {
    const { host } = this.#options;
    const shown = host === "0.0.0.0" || host === "::" ? "localhost" : host;
    return `http://${shown.includes(":") ? `[${shown}]` : shown}:${this.port}/`;
  }

  /** The pages should read that answer again, and the state. */
  notify(what: "doctor" | "incident"): void {
    this.model.changed();
    this.events.send(what, "{}");
  }

  /** Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the page server is stopped"));
    this.#cancelPoints?.();
    this.#cancelLoop?.();
    this.events.close();
    await this.#listener?.close();
  }

  async #handle(exchange: ServerExchange): Promise<void> {
    try {
      await this.#answer(exchange);
    } catch (error) {
      if (!(error instanceof PageProblem)) throw error;
      this.#refuse(exchange, error.status, error.message);
    }
  }

  async #answer(exchange: ServerExchange): Promise<void> {
    const { request } = exchange;
    // The target is a path; after two slashes it would be read as a host.
    const url = `${base}${request.target}`;
    if (!request.target.startsWith("/") || !URL.canParse(url)) {
      throw new PageProblem(400, "The path is invalid.");
    }
    const { pathname, searchParams } = new URL(url);
    if (pathname === "/healthz") {
      this.#send(exchange, 200, "text/plain; charset=utf-8", Buffer.from("ok\n"));
      return;
    }
    if (this.#signIn(exchange, pathname, searchParams)) return;
    const ofPath = routes.flatMap((route) => {
      const path = pathNames(route.path, pathname);
      return path === undefined ? [] : [{ route, path }];
    });
    const found = ofPath.find(({ route }) => route.method === request.method);
    const refusal = this.#access.refusal(request, found?.route.body?.contentType);
    if (refusal !== undefined) throw new PageProblem(refusal.status, refusal.sentence);
    if (found !== undefined) return await this.#answerRoute(exchange, found, searchParams);
    const methods = ofPath.map(({ route }) => route.method);
    if (request.method !== "GET" || methods.length > 0) {
      const allowed = methods.length === 0 ? "GET" : methods.join(", ");
      throw new PageProblem(405, `Allowed here: ${allowed}.`);
    }
    await this.#answerOther(exchange, pathname);
  }

  /** `/?token=TOKEN`: the browser keeps it as a cookie, and it leaves the address bar. */
  #signIn(exchange: ServerExchange, path: string, query: URLSearchParams): boolean {
    const token = path === "/" ? query.get("token") : null;
    if (token === null || exchange.request.method !== "GET") return false;
    const cookie = this.#access.cookieFor(exchange.request.headers, token);
    if (cookie === undefined) return false;
    const headers = { ...safety, location: "/", "set-cookie": cookie, "cache-control": "no-store" };
    exchange.respond(303, headers).end();
    return true;
  }

  async #answerRoute(
    exchange: ServerExchange,
    { route, path }: { readonly route: Route; readonly path: Asked["path"] },
    search: URLSearchParams,
  ): Promise<void> {
    const { request } = exchange;
    const query = readQuery(route, search);
    const body = await readBody(route, request);
    const { signal } = this.#stopping;
    const make = (closed: AbortSignal) =>
      this.#make(route, { path, query, body, signal: AbortSignal.any([signal, closed]) });
    const key = `${request.method} ${request.target}`;
    const bytes =
      route.isShared === true
        ? await this.#share(key, () => make(signal))
        : await make(request.closed);
    if (request.closed.aborted) return;
    this.#send(exchange, 200, "application/json", bytes);
  }

  async #make(route: Route, asked: Asked): Promise<Uint8Array> {
    const { source, doctor, lab, history, readRecording } = this.#options;
    const parts = { model: this.model, source, doctor, lab, history, readRecording };
    const answer: unknown = await route.handle(parts, asked);
    if (answer instanceof Uint8Array) return answer;
    return Buffer.from(JSON.stringify(answer), "utf8");
  }

  /** Hundreds of pages that ask the same within a second cause one computation. */
  #share(key: string, make: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#shared.get(key);
    if (known !== undefined) return known;
    const made = make();
    if (this.#shared.size >= sharedMax) return made;
    this.#shared.set(key, made);
    this.#options.timers.after(sharedMs, () => this.#shared.delete(key));
    return made;
  }

  async #answerOther(exchange: ServerExchange, path: string): Promise<void> {
    if (path === `${apiRoot}/events`) {
      if (this.events.open(exchange, safety)) return;
      throw new PageProblem(503, "Too many pages are open on this server.");
    }
    if (path === `${apiRoot}/openapi.json`) {
      this.#send(exchange, 200, "application/json", this.#openApi);
      return;
    }
    if (path.startsWith("/api/")) {
      throw new PageProblem(404, `Unknown path. ${apiRoot}/openapi.json describes the API.`);
    }
    const file = await this.#files.find(path);
    if (file === undefined) throw new PageProblem(404, path === "/" ? notBuilt : "No such file.");
    const { bytes, contentType, cacheControl } = file;
    const headers = { ...safety, "content-type": contentType, "cache-control": cacheControl };
    exchange.respond(200, headers).end(bytes);
  }

  #refuse(exchange: ServerExchange, status: number, error: string): void {
    this.#send(
      exchange,
      status,
      "application/json",
      Buffer.from(JSON.stringify({ error }), "utf8"),
    );
  }

  #send(exchange: ServerExchange, status: number, contentType: string, bytes: Uint8Array): void {
    const headers = { ...safety, "content-type": contentType, "cache-control": "no-store" };
    exchange.respond(status, headers).end(bytes);
  }

  #addPoints(): void {
    this.#cancelPoints = this.#options.source.timers.after(pointEveryMs, () => {
      const points = this.model.takePoints();
      if (this.events.isWanted) this.events.send("points", JSON.stringify(points));
      this.#addPoints();
    });
  }

  #want(isWanted: boolean): void {
    this.#cancelLoop?.();
    this.#sent = undefined;
    this.model.journeys.collectChanged(isWanted);
    if (isWanted) this.#loop();
  }

  /** Batches four times a second, a state once. */
  #loop(): void {
    this.#cancelLoop = this.#options.timers.after(batchEveryMs, () => {
      this.#turn += 1;
      const batch = this.model.takeBatch();
      if (batch !== undefined) this.events.send("journeys", JSON.stringify(batch));
      if (this.#turn % (stateEveryMs / batchEveryMs) === 0) this.#sendState();
      this.#loop();
    });
  }

  #sendState(): void {
    const { facts, json } = this.model.encodedState;
    const sinceMs = (this.#turn - (this.#sent?.turn ?? -Infinity)) * batchEveryMs;
    if (this.#sent?.facts === facts && sinceMs < stateAtLeastEveryMs) return;
    this.#sent = { facts, turn: this.#turn };
    this.events.send("state", json);
  }
}

/** Any: it is never asked for. */
const base = "http://page";
